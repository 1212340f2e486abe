import type { LockOptions, ObjectKind, ObjectListener } from '../api';
import type { Settings } from '../config/Settings';
import { mapName } from '../config/validateName';
import type { CommandExecutor, RunOptions } from '../connection/pending/CommandExecutor';
import type { Script, ScriptArg } from '../scripts/Script';
import { isTraced } from '../util/channels';
import { type AcquireTrace, traceAcquire } from '../telemetry/tracing';
import { currentThreadId, newThreadId } from '../thread/threadScope';
import { NO_LEASE } from '../util/duration';
import { prefixName, suffixName } from '../util/names';
import { type Acquirable, acquireWithin, type Closing, waitLimit } from '../wait/acquireWithin';
import type { Rollback } from '../wait/Rollback';
import type { Waiter } from '../waiters/Waiter';
import type { ObjectListeners } from '../listeners/ObjectListeners';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { WakeRule } from '../waiters/WaitQueue';

/**
 * One synchronizer in Redis, of any kind: its names, its scripts and its waiters. The facade and the waits of one name
 * share it.
 */
export class RedisObject<Keys extends ObjectKeys = ObjectKeys> {
  /** As the user gave it. */
  readonly name: string;
  /** The keys and the channel, by their names in the scripts. */
  readonly keys: Keys;
  readonly context: SynchronizerContext;
  /** For errors. */
  readonly #kind: string;
  readonly #objectKind: ObjectKind;

  /**
   * @param kind - what it is
   * @param name - checked already; the name mapper turns it into the raw name
   * @param keysOf - the keys and the channel of a raw name
   * @throws ConfigError if the name mapper does not return a usable name
   */
  constructor(context: SynchronizerContext, kind: SynchronizerKind, name: string, keysOf: (rawName: string) => Keys) {
    this.context = context;
    this.name = name;
    this.#kind = nounOf(kind);
    this.#objectKind = kind;
    this.keys = keysOf(mapName(name, context.settings.nameMapper, this.#kind));
  }

  /** Every key and channel; on a cluster they must be on one slot. */
  get allKeys(): readonly string[] {
    return Object.values(this.keys as unknown as Readonly<Record<string, string>>);
  }

  /**
   * Runs one of its scripts.
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
    const keys = this.keys as unknown as Readonly<Record<K, string>>;
    return this.context.executor.run(script, keys, args, {
      ...options,
      what: `${what} ${this.#kind}`,
      name: this.name,
    });
  }

  /** See `RObject`. */
  addListener(listener: ObjectListener): Promise<number> {
    return this.context.objectListeners.add({ name: this.name, rawName: this.keys.name }, listener);
  }

  /** See `RObject`. */
  removeListener(id: number): Promise<void> {
    return this.context.objectListeners.remove({ name: this.name, rawName: this.keys.name }, id);
  }

  /** Why its commands cannot be sent now. @param what - as for {@link run} @returns `undefined` if they can */
  outage(what: string): Error | undefined {
    return this.context.executor.outage(this.allKeys[0]!, `${what} ${this.#kind} '${this.name}'`);
  }

  /**
   * Joins its waiters, each of which attempts for itself.
   * @param need - how many permits it waits for
   * @throws ShutdownError if the client is shut down
   */
  join<T>(rule: WakeRule, need = 1): Waiter<T> {
    return this.context.subscriptions.join<T>(this.keys.channel, this.keys.name, rule, 'shared', undefined, need);
  }

  /**
   * Runs a wait.
   *
   * @param waitMs - how long, in ms; `Infinity` without limit; 0 or less: one attempt
   * @param options - the options of the call; only its thread is read, for telemetry
   * @param leaseMs - the lease, for telemetry
   * @returns what was acquired, or `undefined` if the time was up
   * @throws the signal's reason; errors of the executor and of the subscription
   */
  wait<T>(
    acquirable: Acquirable<T>,
    waitMs: number,
    signal: AbortSignal | undefined,
    options?: LockOptions,
    leaseMs = NO_LEASE,
  ): Promise<T | undefined> {
    if (!isTraced()) return this.#wait(acquirable, waitMs, signal);
    const given = typeof options === 'number' ? options : options?.threadId;
    const subject = {
      clientId: this.context.clientId,
      kind: this.#objectKind,
      name: this.name,
      threadId: given ?? currentThreadId() ?? newThreadId(),
      waitTime: Math.max(0, waitMs),
      leaseTime: leaseMs,
    };
    const take = (trace: AcquireTrace): Promise<T | undefined> => {
      acquirable.trace = trace;
      return this.#wait(acquirable, waitMs, signal);
    };
    return traceAcquire(subject, signal, take, (taken) => taken !== undefined);
  }

  #wait<T>(acquirable: Acquirable<T>, waitMs: number, signal: AbortSignal | undefined): Promise<T | undefined> {
    acquirable.mayBegin = () => this.context.closing.mayBegin(`wait for ${this.#kind} '${this.name}'`);
    return acquireWithin(acquirable, waitLimit(waitMs, signal));
  }
}

/** The kinds of synchronizers. */
export type SynchronizerKind = Extract<ObjectKind, 'semaphore' | 'permit' | 'latch'>;

/** The name of a kind in error messages. */
export function nounOf(kind: SynchronizerKind): 'semaphore' | 'latch' {
  return kind === 'permit' ? 'semaphore' : kind;
}

/** What the synchronizers of one client share. */
export interface SynchronizerContext {
  readonly clientId: string;
  readonly settings: Settings;
  /** Sends the commands. */
  readonly executor: CommandExecutor;
  /** Whether a wait may still begin. */
  readonly closing: Closing;
  /** The waiters sleep in its queues. */
  readonly subscriptions: Subscriptions;
  readonly objectListeners: ObjectListeners;
  /** Removes from Redis what no caller owns. */
  readonly rollback: Rollback;
}

/** The keys of a synchronizer by their names in its scripts, and the channel to which its waiters subscribe. */
export interface ObjectKeys {
  readonly name: string;
  readonly channel: string;
}

/** The keys of a semaphore with leased permits. */
export interface PermitKeys extends ObjectKeys {
  /** The zset of the permits that are taken. */
  readonly permits: string;
}

/** The keys of a semaphore. */
export function semaphoreKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: prefixName('redisson_sc', rawName) };
}

/** The keys of a semaphore with leased permits; the channel has the same form for both kinds. */
export function permitKeys(rawName: string): PermitKeys {
  return { ...semaphoreKeys(rawName), permits: suffixName(rawName, 'timeout') };
}

/**
 * The keys of a latch. Its channel puts every name in braces, so a name that contains braces cannot work on a cluster.
 */
export function latchKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: `redisson_countdownlatch__channel__{${rawName}}` };
}
