import type { ClientContext } from '../kinds/ClientContext';
import type { AcquireSubject, LockOptions, RObject } from '../api';
import { mapName } from '../config/validateName';
import type { CommandExecutor, RunOptions } from '../connection/pending/CommandExecutor';
import type { ObjectKeys, SynchronizerKind } from '../kinds/Kind';
import type { Script, ScriptArg } from '../scripts/Script';
import { isTraced } from '../util/channels';
import { type AcquireTrace, traceAcquire } from '../telemetry/tracing';
import { currentScope, currentThreadId, newThreadId } from '../thread/threadScope';
import { NO_LEASE } from '../util/duration';
import type { Acquired, Acquisition } from '../acquire/Acquisition';
import { acquireWithin, waitLimit } from '../acquire/acquireWithin';
import type { Waiter } from '../waiters/Waiter';

/**
 * Something that is set in Redis before the first use; again at the next use if that failed, or if the connection was
 * lost since: the server may have come back without data.
 */
export class FirstUse {
  readonly #executor: Pick<CommandExecutor, 'connectionNumber'>;
  readonly #set: () => Promise<void>;
  #setting: Promise<void> | undefined;
  /** On which connection it was set. */
  #setOn: number | undefined;

  constructor({ executor }: Pick<ClientContext, 'executor'>, set: () => Promise<void>) {
    this.#executor = executor;
    this.#set = set;
  }

  /** @returns `undefined` if it is set @throws the errors of the executor */
  ready(): Promise<void> | undefined {
    if (this.#setOn === this.#executor.connectionNumber) return undefined;
    return (this.#setting ??= this.#attempt());
  }

  async #attempt(): Promise<void> {
    try {
      const { connectionNumber } = this.#executor;
      await this.#set();
      this.#setOn = connectionNumber;
    } finally {
      this.#setting = undefined;
    }
  }
}

/**
 * One synchronizer in Redis, of any kind: its names, its scripts and its waiters. The facade and the waits of one name
 * share it.
 */
export class RedisObject<Keys extends ObjectKeys = ObjectKeys> {
  /** As the user gave it. */
  readonly name: string;
  /** The keys and the channel, by their names in the scripts. */
  readonly keys: Keys;
  readonly context: ClientContext;
  readonly kind: SynchronizerKind;
  /** What has to be set in Redis before the first use. @default nothing */
  before: FirstUse | undefined;

  /**
   * @param name - checked already; the name mapper turns it into the raw name
   * @throws ConfigError if the name mapper does not return a usable name
   */
  constructor(context: ClientContext, kind: SynchronizerKind<Keys>, name: string) {
    this.context = context;
    this.name = name;
    this.kind = kind;
    this.keys = kind.keysOf(mapName(name, context.settings.nameMapper, kind.noun), '');
  }

  /** Every key and channel; on a cluster they must be on one slot. */
  get allKeys(): readonly string[] {
    return Object.values(this.keys);
  }

  /**
   * Runs one of its scripts, after what has to be done {@link before}.
   *
   * @param what - what is being done, for errors, e.g. `release permits of`
   * @throws the errors of the executor
   */
  run<K extends string & keyof Keys, A extends string, R>(
    script: Script<K, A, R>,
    args: Readonly<Record<A, ScriptArg>>,
    what: string,
    options?: RunOptions<R>,
  ): Promise<R> {
    const ready = this.before?.ready();
    if (ready === undefined) return this.send(script, args, what, options);
    return ready.then(() => this.send(script, args, what, options));
  }

  /** As {@link run}, at once. */
  send<K extends string & keyof Keys, A extends string, R>(
    script: Script<K, A, R>,
    args: Readonly<Record<A, ScriptArg>>,
    what: string,
    options?: RunOptions<R>,
  ): Promise<R> {
    const keys = this.keys as unknown as Readonly<Record<K, string>>;
    return this.context.executor.run(script, keys, args, {
      ...options,
      what: `${what} ${this.kind.noun}`,
      name: this.name,
    });
  }

  /**
   * Joins its waiters, each of which attempts for itself.
   * @param need - how many permits it waits for
   * @throws ShutdownError if the client is shut down
   */
  join(callSite: string | undefined, need = 1): Waiter<Acquired> {
    const { channel, name } = this.keys;
    // No hand-over reads it: it is for the inspector, which shows who waits.
    const caller = { around: currentScope(), callSite };
    // A semaphore and a permit-expirable semaphore of one name share the channel, whose messages each reads otherwise.
    const waitKey = `${this.kind.name} ${name}`;
    return this.context.subscriptions.join<Acquired>(this.kind, channel, name, caller, need, waitKey);
  }

  /** What is being done, for errors. @param what - as for {@link run} */
  doing(what: string): string {
    return `${what} ${this.kind.noun} '${this.name}'`;
  }

  /**
   * Acquires.
   *
   * @param options - the options of the call; only its thread is read, for telemetry
   * @param leaseMs - the lease, for telemetry
   * @returns `undefined` if the time was up
   * @throws the signal's reason; errors of the executor and of the subscription
   */
  acquire(
    acquisition: Acquisition,
    signal: AbortSignal | undefined,
    options?: LockOptions,
    leaseMs = NO_LEASE,
  ): Promise<Acquired | undefined> {
    const { waitMs } = acquisition;
    const limit = waitLimit(waitMs, signal);
    if (!isTraced()) return acquireWithin(acquisition, limit);
    const take = (trace: AcquireTrace): Promise<Acquired | undefined> => {
      acquisition.trace = trace;
      return acquireWithin(acquisition, limit);
    };
    const given = typeof options === 'number' ? options : options?.threadId;
    const subject = this.subject(given ?? currentThreadId() ?? newThreadId(), waitMs, leaseMs);
    return traceAcquire(subject, signal, take, (taken) => taken !== undefined);
  }

  /** For telemetry. Times are in ms. */
  subject(threadId: number, waitMs: number, leaseMs: number): AcquireSubject {
    const { context, name } = this;
    const waitTime = Math.max(0, waitMs);
    return { clientId: context.clientId, kind: this.kind.name, name, threadId, waitTime, leaseTime: leaseMs };
  }
}

/** What every synchronizer has. */
export function named({ name, keys, context }: RedisObject): RObject {
  const subject = { name, rawName: keys.name };
  return {
    name,
    getName: () => name,
    addListener: (listener) => context.objectListeners.add(subject, listener),
    removeListener: (listenerId) => context.objectListeners.remove(subject, listenerId),
  };
}
