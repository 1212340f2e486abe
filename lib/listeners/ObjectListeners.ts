import { INTERRUPTED, within } from '../acquire/WaitLimit';
import type { ObjectListener } from '../api';
import type { Settings } from '../config/Settings';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import type { KeyEventSource, Subscriber } from '../connection/pubsub/Subscriber';
import {
  CommandError,
  ConfigError,
  ShutdownError,
  SubscriptionTimeoutError,
  UnsupportedOperationError,
} from '../errors';
import { describe } from '../util/describe';
import { callUserCode } from '../util/userCode';
import { runOutside } from '../util/outside';
import { logSafely } from '../util/warn';
import { once } from '../util/warnings';

/** The server's setting that turns events about keys on. */
const SETTING = 'notify-keyspace-events';

/** The events: how the server calls them, the flag that turns each on, and the method that is called. */
const EVENTS = {
  expired: { flag: 'x', method: 'onExpired' },
  del: { flag: 'g', method: 'onDeleted' },
} as const;

type EventName = keyof typeof EVENTS;

/** An object as its listeners know it. */
export interface ListenedObject {
  /** As the user gave it: what the listener gets. */
  readonly name: string;
  /** The key whose end is an event. */
  readonly rawName: string;
}

interface Entry {
  readonly name: string;
  readonly events: readonly EventName[];
  readonly listener: ObjectListener;
}

/** A channel of the server's events that is listened to. */
interface Watched {
  listeners: number;
  readonly subscribed: Promise<void>;
}

/**
 * The object listeners of a client. The server publishes the name of each key that expires or is deleted, whatever it
 * is, to `__keyevent@<database>__:expired` and `:del`; those of objects with a listener are passed on.
 *
 * It listens on connections of its own, which are open only while there are listeners: events about other keys may be
 * many, and must not delay the wake-ups of waiters.
 *
 * States: open -> closed.
 */
export class ObjectListeners {
  readonly #source: KeyEventSource;
  readonly #executor: CommandExecutor;
  readonly #settings: Settings;
  /** Raw name -> id -> listener. */
  readonly #objects = new Map<string, Map<number, Entry>>();
  readonly #watched = new Map<EventName, Watched>();
  #subscriber: Subscriber | undefined;
  #lastId = 0;
  /** Once: not every user may read the configuration, and managed servers often refuse it. */
  readonly #warnUnchecked = once(() => {
    const message = `Whether the server sends events about keys could not be read: object listeners need ${SETTING} Egx`;
    logSafely(this.#settings.logger, 'warn', {}, message);
  });
  /** Aborts when it is closed: no call waits for a subscription then. */
  readonly #closing = new AbortController();

  constructor(source: KeyEventSource, executor: CommandExecutor, settings: Settings) {
    this.#source = source;
    this.#executor = executor;
    this.#settings = settings;
  }

  /**
   * Adds a listener.
   * @returns its id, once the server sends the events
   * @throws ConfigError for what is not a listener; UnsupportedOperationError if the server sends no such events;
   *   SubscriptionTimeoutError, CommandError, ShutdownError; errors of the connection
   */
  async add({ name, rawName }: ListenedObject, listener: ObjectListener): Promise<number> {
    const events = eventsOf(listener);
    this.#checkOpen(name);
    await this.#checkServer(name, rawName, events);
    this.#checkOpen(name);
    const id = ++this.#lastId;
    let listeners = this.#objects.get(rawName);
    if (listeners === undefined) this.#objects.set(rawName, (listeners = new Map<number, Entry>()));
    // Before the subscription: the first event may come with its acknowledgement.
    listeners.set(id, { name, events, listener });
    try {
      await Promise.all(events.map((event) => this.#inTime(name, event)));
    } catch (error) {
      this.#remove(rawName, id);
      throw error;
    }
    return id;
  }

  /** Removes a listener of an object; without effect if no listener of it has that id. @throws ConfigError for no id */
  async remove({ rawName }: ListenedObject, id: number): Promise<void> {
    if (!Number.isSafeInteger(id)) {
      throw new ConfigError(`A listener id is what addListener() returned, got ${describe(id)}`);
    }
    this.#remove(rawName, id);
  }

  close(): void {
    this.#closing.abort();
    this.#objects.clear();
    this.#watched.clear();
    this.#subscriber?.close();
    this.#subscriber = undefined;
  }

  #remove(rawName: string, id: number): void {
    const listeners = this.#objects.get(rawName);
    const entry = listeners?.get(id);
    if (listeners === undefined || entry === undefined) return;
    listeners.delete(id);
    if (listeners.size === 0) this.#objects.delete(rawName);
    for (const event of entry.events) this.#unwatch(event);
  }

  #watch(event: EventName): Promise<void> {
    let watched = this.#watched.get(event);
    if (watched === undefined) {
      watched = { listeners: 0, subscribed: this.#listening().subscribe(this.#channelOf(event)) };
      // Those who wait for it get the error.
      watched.subscribed.catch(() => undefined);
      this.#watched.set(event, watched);
    }
    watched.listeners++;
    return watched.subscribed;
  }

  #unwatch(event: EventName): void {
    const watched = this.#watched.get(event);
    if (watched === undefined || --watched.listeners > 0) return;
    this.#watched.delete(event);
    if (this.#watched.size > 0) return this.#subscriber?.unsubscribe(this.#channelOf(event));
    this.#subscriber?.close();
    this.#subscriber = undefined;
  }

  #listening(): Subscriber {
    if (this.#subscriber === undefined) {
      this.#subscriber = this.#source.open();
      this.#subscriber.events = {
        message: (channel, rawName) => this.#message(channel, rawName),
        // What happens while the connection is gone is lost: the server does not keep events.
        interrupted: () => undefined,
        restored: () => undefined,
      };
    }
    return this.#subscriber;
  }

  #channelOf(event: EventName): string {
    return `__keyevent@${this.#source.database}__:${event}`;
  }

  #message(channel: string, rawName: string): void {
    const listeners = this.#objects.get(rawName);
    if (listeners === undefined) return;
    const event = channel.slice(channel.indexOf(':') + 1) as EventName;
    for (const { name, events, listener } of [...listeners.values()]) {
      if (events.includes(event)) call(() => listener[EVENTS[event].method]?.(name));
    }
  }

  #checkOpen(name: string): void {
    if (this.#closing.signal.aborted) throw new ShutdownError(`add a listener to '${name}'`);
  }

  /** A server that sends no events would seem to be one where nothing happens. Redisson does not check. */
  async #checkServer(name: string, rawName: string, events: readonly EventName[]): Promise<void> {
    let reply: unknown;
    try {
      const options = { what: `read ${SETTING}`, name, routeBy: rawName };
      reply = await this.#executor.call('config', ['GET', SETTING], options);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
    const flags = Array.isArray(reply) ? (reply[1] as unknown) : undefined;
    if (typeof flags !== 'string') return this.#warnUnchecked();
    const isOn = (flag: string): boolean => flags.includes(flag) || flags.includes('A');
    if (flags.includes('E') && events.every((event) => isOn(EVENTS[event].flag))) return;
    throw new UnsupportedOperationError(
      'server without these events',
      'addListener',
      `its setting ${SETTING} is '${flags}', and needs E with x (expired) and g (deleted), for example 'Egx', on every ` +
        'server: CONFIG SET, or redis.conf',
    );
  }

  async #inTime(name: string, event: EventName): Promise<void> {
    const { subscriptionTimeout } = this.#settings;
    const end = await within(subscriptionTimeout, this.#watch(event), this.#closing.signal);
    if (end !== INTERRUPTED) return;
    this.#checkOpen(name);
    throw new SubscriptionTimeoutError(this.#channelOf(event), subscriptionTimeout);
  }
}

/** The events that a listener has a method for. @throws ConfigError without one, or for something else by that name */
function eventsOf(listener: unknown): readonly EventName[] {
  const isObject = typeof listener === 'object' && listener !== null;
  const methodOf = (event: EventName): unknown =>
    isObject ? (listener as Readonly<Record<string, unknown>>)[EVENTS[event].method] : undefined;
  const events = (Object.keys(EVENTS) as EventName[]).filter((event) => methodOf(event) !== undefined);
  const wrong = events.find((event) => typeof methodOf(event) !== 'function');
  if (events.length === 0 || wrong !== undefined) {
    const given = wrong === undefined ? describe(listener) : `${EVENTS[wrong].method}: ${describe(methodOf(wrong))}`;
    throw new ConfigError(`A listener is an object with the function onExpired, onDeleted or both, got ${given}`);
  }
  return events;
}

/** Calls a listener, in no caller's context. */
function call(method: () => unknown): void {
  runOutside(() => callUserCode('An object listener', method));
}
