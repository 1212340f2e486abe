import { Alarm } from '../util/Alarm';
import { runOutside } from '../util/outside';
import { fromBytes, toBytes } from './bytes';
import { runCommand } from './store/commands';
import { compiledScripts } from './store/compiledScripts';
import { RedisError, type Reply, Status } from './store/replies';
import { ScriptEngine } from './store/ScriptEngine';
import { Store } from './store/Store';

/** The listeners of channels. */
export type Listener = (channel: string, message: string) => void;

/** A client of this store, as {@link TestRedisson} methods of another client see it. */
export interface StoreClient {
  /** A lock was taken away from its holder: reports the losses, and lets the waiters try again. */
  lose(rawName: string): void;
  /** The store was emptied: forgets the holds, rejects the waiters, forgets injected errors. */
  reset(): void;
}

/** Channels of the events about keys; there is one database. */
const EVENTS = '__keyevent@0__:';

/**
 * The Redis of the clients that share a store: keys, scripts, messages, in this process. Its clock is
 * `performance.now()` at each command, counted from the `Date` at which it was made: leases pass as fake timers
 * advance, and setting `Date` later ends none. Messages arrive in a later microtask.
 */
export class MemoryServer {
  readonly clients = new Set<StoreClient>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #onGone = (key: string, event: string): void => void this.#publish(EVENTS + event, key);
  #store = newStore(this.#onGone);
  /** Rings when a key expires, while a client listens for that. */
  readonly #expiry = new Alarm(() => {
    this.#store.expire();
    this.#watchExpiry();
  });
  readonly #scripts = new ScriptEngine({
    compiler: compiledScripts,
    command: (name, args) =>
      name === 'publish' ? this.#publish(args[0]!, args[1]!) : runCommand(this.#store, name, args),
  });

  /** Runs a command. @param args - as bytes @returns also errors */
  run(name: string, args: readonly string[]): Reply {
    const command = name.toLowerCase();
    try {
      switch (command) {
        case 'eval':
        case 'evalsha':
          return this.#scripts.evaluate(command, args);
        case 'config':
          // It sends events about keys that expire or are deleted, and has no other setting.
          return [args[1] ?? '', args[1] === 'notify-keyspace-events' ? 'Egx' : ''];
        case 'publish':
          return this.#publish(args[0]!, args[1]!);
        case 'ping':
          return new Status('PONG');
        default:
          return runCommand(this.#store, command, args);
      }
    } catch (error) {
      return error instanceof RedisError ? error : new RedisError(`ERR ${(error as Error).message}`);
    } finally {
      this.#watchExpiry();
    }
  }

  /** Channels with a listener. */
  get channels(): string[] {
    return [...this.#listeners.keys()].map(fromBytes);
  }

  /** How many listen to a channel. */
  listeners(channel: string): number {
    return this.#listeners.get(toBytes(channel))?.size ?? 0;
  }

  /** All keys, as bytes. */
  get keys(): string[] {
    return [...this.#store.entries.keys()].filter((key) => this.#store.entry(key) !== undefined);
  }

  /** The fields of a hash, as text. @returns `undefined` where the key holds no hash */
  hash(key: string): [field: string, value: string][] | undefined {
    const value = this.#store.value(toBytes(key));
    if (!(value instanceof Map)) return undefined;
    return [...value].map(([field, content]) => [fromBytes(field), fromBytes(content)]);
  }

  /** Lets a key expire, without a message to the waiters. */
  expire(key: string): void {
    this.#store.delete(toBytes(key), 'expired');
  }

  /** Deletes every key, and notifies the clients; the keys cause no events. */
  reset(): void {
    this.#store = newStore(this.#onGone);
    this.#watchExpiry();
    for (const client of [...this.clients]) client.reset();
  }

  listen(channel: string, listener: Listener): void {
    const key = toBytes(channel);
    let listeners = this.#listeners.get(key);
    if (listeners === undefined) this.#listeners.set(key, (listeners = new Set()));
    listeners.add(listener);
    this.#watchExpiry();
  }

  /** @param channel - left out: all of them */
  ignore(listener: Listener, channel?: string): void {
    for (const key of channel === undefined ? [...this.#listeners.keys()] : [toBytes(channel)]) {
      const listeners = this.#listeners.get(key);
      listeners?.delete(listener);
      if (listeners?.size === 0) this.#listeners.delete(key);
    }
    this.#watchExpiry();
  }

  #watchExpiry(): void {
    if (this.#listeners.has(`${EVENTS}expired`)) this.#expiry.set(this.#store.nextExpiry - this.#store.startedAt);
    else this.#expiry.off();
  }

  #publish(channel: string, message: string): number {
    const listeners = this.#listeners.get(channel);
    if (listeners === undefined) return 0;
    const [name, text] = [fromBytes(channel), fromBytes(message)];
    for (const listener of listeners) {
      // Not with `queueMicrotask`, which fake timers may hold back.
      runOutside(() => void Promise.resolve().then(() => listener(name, text)));
    }
    return listeners.size;
  }
}

/** At the end of its time a key is gone, so that a lease of 30 s is over when a test has advanced its clock by 30 s. */
function newStore(onGone: (key: string, event: string) => void): Store & { readonly startedAt: number } {
  const startedAt = Date.now() - Math.floor(performance.now());
  const store = new Store(() => startedAt + Math.floor(performance.now()), { goneAtDeadline: true, onGone });
  return Object.assign(store, { startedAt });
}
