import type { LockOptions, ObjectKind } from '../api';
import type { Settings } from '../config/Settings';
import { mapName } from '../config/validateName';
import type { CommandExecutor, RunOptions } from '../connection/pending/CommandExecutor';
import { type ShutdownError } from '../errors';
import type { Script, ScriptArg } from '../scripts/Script';
import { isTraced } from '../util/channels';
import { type AcquireTrace, traceAcquire } from '../telemetry/tracing';
import { currentThreadId, newThreadId } from '../thread/threadScope';
import { NO_LEASE } from '../util/duration';
import { prefixName, suffixName } from '../util/names';
import { type Acquirable, acquireWithin, waitLimit } from '../wait/acquireWithin';
import type { Rollback } from '../wait/Rollback';
import type { QueueWait } from '../waiters/QueueWait';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { WakeRule } from '../waiters/WaitQueue';

/**
 * One synchronizer in Redis, whatever its kind: its names, its scripts, its waiters. What the facades and the waits of
 * one name have in common.
 */
export class RedisObject<Keys extends ObjectKeys = ObjectKeys> {
  /** As the user gave it. */
  readonly name: string;
  /** By their names in the scripts. */
  readonly keys: Keys;
  readonly context: SynchronizerContext;
  /** For errors. */
  readonly #kind: string;
  readonly #objectKind: ObjectKind;

  /**
   * @param kind - what it is
   * @param name - checked; the name mapper makes the raw name of it
   * @param keysOf - the keys and the channel of a raw name
   * @throws ConfigError when the name mapper does not return a usable name
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

  /** Why nothing of it can be sent now. @param what - as for {@link run} @returns `undefined` where it can */
  outage(what: string): Error | undefined {
    return this.context.executor.outage(this.allKeys[0]!, `${what} ${this.#kind} '${this.name}'`);
  }

  /**
   * Joins its waiters, each of whom waits for itself.
   * @param need - how many permits it waits for
   * @throws ShutdownError when the client is shut down
   */
  join<T>(rule: WakeRule, need = 1): QueueWait<T> {
    return this.context.subscriptions.join<T>(this.keys.channel, this.keys.name, rule, 'shared', undefined, need);
  }

  /**
   * Runs a wait.
   *
   * @param waitMs - how long, in ms; `Infinity` without limit; 0 or less: one attempt
   * @param options - of the call: its thread, which nothing but a message to listeners needs
   * @param leaseMs - what the message says of it
   * @returns what was acquired, or `undefined` when the time was up
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
    if (this.context.closing.aborted)
      return Promise.reject(this.context.shutdownError(`wait for ${this.#kind} '${this.name}'`));
    return acquireWithin(acquirable, waitLimit(waitMs, signal));
  }
}

/** What a synchronizer is. */
export type SynchronizerKind = Extract<ObjectKind, 'semaphore' | 'permit' | 'latch'>;

/** What errors call it. */
export function nounOf(kind: SynchronizerKind): 'semaphore' | 'latch' {
  return kind === 'permit' ? 'semaphore' : kind;
}

/** What all synchronizers of one client share. */
export interface SynchronizerContext {
  readonly clientId: string;
  readonly settings: Settings;
  /** Commands go through it. */
  readonly executor: CommandExecutor;
  /** Aborts when the client begins to shut down: nothing new is acquired any more. */
  readonly closing: AbortSignal;
  /** What those get who wait then. */
  readonly shutdownError: (what?: string) => ShutdownError;
  /** Waiters sleep in it. */
  readonly subscriptions: Subscriptions;
  /** Takes back what no caller owns. */
  readonly rollback: Rollback;
}

/** The keys of a synchronizer by their names in its scripts, and the channel its waiters listen to. */
export interface ObjectKeys {
  readonly name: string;
  readonly channel: string;
}

/** The keys of a semaphore with leased permits. */
export interface PermitKeys extends ObjectKeys {
  /** The zset of the permits that are out. */
  readonly permits: string;
}

/** The keys of a semaphore. */
export function semaphoreKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: prefixName('redisson_sc', rawName) };
}

/** The keys of a semaphore with leased permits; both kinds share the form of the channel. */
export function permitKeys(rawName: string): PermitKeys {
  return { ...semaphoreKeys(rawName), permits: suffixName(rawName, 'timeout') };
}

/**
 * The keys of a latch. Its channel puts any name in braces, so a name with braces of its own cannot work on a cluster.
 */
export function latchKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: `redisson_countdownlatch__channel__{${rawName}}` };
}
