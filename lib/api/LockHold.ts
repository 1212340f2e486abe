// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
import type { TimeUnit } from '../util/TimeUnit';
import type { DetachOptions } from './options';

/**
 * One hold of a lock: what `acquire` and `tryAcquireHold` return, and what the callback of `withLock` receives.
 *
 * ```ts
 * await using hold = await lock.acquire({ waitTime: 5000 });
 * await work(hold.signal);
 * ```
 */
export interface LockHold {
  /** The name of the lock, as given to `getLock`. */
  readonly name: string;
  /** The logical thread that holds it; pass it on as `threadId` to re-enter, or to query the lock. */
  readonly threadId: number;
  /**
   * Aborts with `LockLostError` as soon as the hold is, or may be, lost: a renewal finds it gone, the local (monotonic)
   * deadline of the last confirmed lease passes, or `maxRenewTimes` is reached. Not aborted by `unlock()`.
   */
  readonly signal: AbortSignal;
  /**
   * The fencing token of this hold, strictly greater than those of all earlier holds. Only for fenced locks;
   * `undefined` otherwise.
   */
  readonly token?: bigint | undefined;
  /** Whether it is neither released nor lost, as far as this process knows. Redis is not queried. */
  readonly isHeld: boolean;
  /**
   * How long it is certainly held, in ms, as far as this process knows: the rest of the last confirmed lease. 0 once it
   * is released or lost. For a hold without a lease, each renewal extends it.
   */
  readonly remainingLeaseMs: number;
  /**
   * Releases the hold. Idempotent: later calls return the promise of the first.
   *
   * @returns resolves when Redis has released it
   * @throws LockLostError if the lock was lost before; also after `shutdown()` of the client
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Do not repeat: the client goes on
   *   releasing it, and its lease ends it at the latest
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  unlock(): Promise<void>;
  /**
   * Gives the hold another lease, from now on, instead of the one before. Other holds of the thread keep theirs: Redis
   * keeps the lock for the longest.
   *
   * @param leaseTime - how long it is held from now, more than 0; -1: the watchdog renews it
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @throws LockLostError if the hold is gone: lost, or released before
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Safe to repeat. If it may have run, the
   *   hold lasts for the shorter of the two leases; else for the one before
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError for wrong arguments
   */
  extend(leaseTime: number, unit?: TimeUnit): Promise<void>;
  /**
   * Turns the hold into a ticket, which `attach` of any client of the same Redis takes up, once. The hold leaves this client:
   * it is neither released nor lost, `isHeld` is `false` and `unlock()` does nothing. The lock stays held meanwhile, for
   * nobody but who has the ticket, until its lease ends. For Redis, and for Java, its owner changes.
   *
   * The ticket is a string of up to a few hundred characters without blanks. It has no password in it, but who has it can
   * take up the hold. A fenced lock gives the hold a new token at `attach`.
   *
   * Plain, fair, fenced, spin, non-reentrant and write locks can be detached.
   *
   * @param options - `leaseTime` and its `unit`: how long the lock waits for the ticket
   * @returns the ticket
   * @throws LockLostError if the hold is gone: lost, or released before
   * @throws IllegalMonitorStateError if it is not the one hold of its thread: the thread holds the lock several times, or
   *   is acquiring it once more, or has the other half of the read/write lock. Nothing is changed
   * @throws UnsupportedOperationError for other locks. Nothing is changed
   * @throws ConnectionError, CommandTimeoutError, NoSyncedReplicasError if Redis does not confirm it. Do not repeat: if it
   *   may have run, the client releases the lock in the background, else the hold stays as it is
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down. The hold stays as it is
   * @throws RangeError, TypeError, ConfigError for wrong arguments. Nothing is changed
   */
  detach(options?: DetachOptions): Promise<string>;
  /**
   * Releases the hold at the end of an `await using` block. Never throws: an error here would hide the error of the
   * block.
   */
  [Symbol.asyncDispose](): Promise<void>;
}
