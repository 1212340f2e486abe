import type { AcquireSubject, LockOptions, ObjectListener } from '../api';
import type { Settings } from '../config/Settings';
import { mapName } from '../config/validateName';
import type { CommandExecutor, RunOptions } from '../connection/pending/CommandExecutor';
import type { Renewals } from '../kinds/clientKind';
import type { Kind, ObjectKeys } from '../kinds/Kind';
import type { Script, ScriptArg } from '../scripts/Script';
import { isTraced } from '../util/channels';
import { type AcquireTrace, traceAcquire } from '../telemetry/tracing';
import { currentThreadId, newThreadId } from '../thread/threadScope';
import { NO_LEASE } from '../util/duration';
import { Acquisition, type AcquireFailure, type Target } from '../acquire/Acquisition';
import { acquireWithin, type Closing, waitLimit } from '../acquire/acquireWithin';
import type { Rollback } from '../acquire/Rollback';
import type { Waiter } from '../waiters/Waiter';
import type { ObjectListeners } from '../listeners/ObjectListeners';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { WakeRule } from '../waiters/WaitQueue';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import type { ThreadStart } from '../watchdog/RenewalThread';
import type { Watchdog } from '../watchdog/Watchdog';

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
  readonly kind: Kind;

  /**
   * @param name - checked already; the name mapper turns it into the raw name
   * @throws ConfigError if the name mapper does not return a usable name
   */
  constructor(context: SynchronizerContext, kind: Kind<Keys>, name: string) {
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
      what: `${what} ${this.kind.noun}`,
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

  /**
   * Joins its waiters, each of which attempts for itself.
   * @param need - how many permits it waits for
   * @throws ShutdownError if the client is shut down
   */
  join<T>(rule: WakeRule, need = 1): Waiter<T> {
    const { channel, name } = this.keys;
    return this.context.subscriptions.join<T>(channel, name, rule, 'shared', undefined, need, this.kind.name);
  }

  /** What is being done, for errors. @param what - as for {@link run} */
  doing(what: string): string {
    return `${what} ${this.kind.noun} '${this.name}'`;
  }

  /**
   * Acquires.
   *
   * @param waitMs - how long to wait, in ms; `Infinity` without limit; 0 or less: one attempt
   * @param options - the options of the call; only its thread is read, for telemetry
   * @param leaseMs - the lease, for telemetry
   * @param failed - called with the reason, unless it is that others have it, if the time was up
   * @returns what was acquired, or `undefined` if the time was up
   * @throws the signal's reason; errors of the executor and of the subscription
   */
  acquire<T>(
    target: Target<T>,
    waitMs: number,
    signal: AbortSignal | undefined,
    options?: LockOptions,
    leaseMs = NO_LEASE,
    failed?: (failure: AcquireFailure | undefined) => void,
  ): Promise<T | undefined> {
    const acquisition = new Acquisition(this.context, target, waitMs);
    const take = async (trace?: AcquireTrace): Promise<T | undefined> => {
      acquisition.trace = trace;
      const taken = await acquireWithin(acquisition, waitLimit(waitMs, signal));
      if (taken === undefined) failed?.(acquisition.failure);
      return taken;
    };
    if (!isTraced()) return take();
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

/** What the synchronizers of one client share. */
export interface SynchronizerContext {
  readonly clientId: string;
  readonly settings: Settings;
  /** Sends the commands. */
  readonly executor: CommandExecutor;
  /** Whether a wait may still begin. */
  readonly closing: Closing;
  readonly begun: (() => string | undefined) | undefined;
  /** The waiters sleep in its queues. */
  readonly subscriptions: Subscriptions;
  readonly objectListeners: ObjectListeners;
  readonly ownerships: OwnershipTable;
  readonly watchdog: Watchdog;
  readonly threadStarter: ThreadStart;
  readonly renewals: Renewals;
  /** Warns once per client that a hold was dropped without a release. */
  readonly warnAbandoned: (name: string) => void;
  /** Removes from Redis what no caller owns. */
  readonly rollback: Rollback;
}
