import type { WatchdogThreadOption } from '../config/Settings';
import type { TimeUnit } from '../util/TimeUnit';

/** The calling thread, and how to stop waiting. The last argument of the operations of locks and synchronizers. */
export interface ThreadOptions {
  /**
   * The logical thread that calls: your own integer from 0 to 2^32 - 1, or the id of a thread of this process
   * (`hold.threadId`, `currentThreadId()`), which is larger.
   * @default the thread of a scope around the call that has the lock, else that of the scope (`runInThread`,
   *   `withLock`), else that of the handle
   */
  readonly threadId?: number | undefined;
  /**
   * Aborts the waiting: the call rejects with `signal.reason` and leaves nothing behind (no hold, no queue entry, no
   * subscription, no timer), even if a request is already on its way when it aborts.
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The `options` argument of an operation: a thread id alone, or an object.
 *
 * Source: the `threadId` parameter of Redisson's `RLockAsync`.
 */
export type LockOptions = number | ThreadOptions;

/**
 * Options of `acquire`, `tryAcquireHold` and `withLock`.
 *
 * Outside a thread scope, and without `threadId`, each such call is a new logical thread, so that it is safe on a
 * handle that many requests share.
 */
export interface AcquireOptions extends ThreadOptions {
  /**
   * How long to wait at most, in `unit` (default: ms). Zero or less: one attempt.
   * @default no limit for `acquire` and `withLock`, one attempt for `tryAcquireHold`
   */
  readonly waitTime?: number | undefined;
  /**
   * How long to hold at most, in `unit` (default: ms); -1: the watchdog renews the lock for as long as this process
   * lives and is not blocked.
   * @default -1
   */
  readonly leaseTime?: number | undefined;
  /**
   * The unit of `waitTime` and `leaseTime`.
   * @default TimeUnit.MILLISECONDS
   */
  readonly unit?: TimeUnit | undefined;
  /**
   * How often the watchdog renews this hold before it gives it up: its signal then aborts with `LockLostError` and the
   * lock is left to expire. 0: no limit. Only for holds without a lease.
   * @default the setting `maxRenewTimes`
   */
  readonly maxRenewTimes?: number | undefined;
  /**
   * Whether a thread of its own renews this hold, for at most `maxStall` ms without a sign of life from the main
   * thread. Only for holds without a lease.
   * @default the setting `watchdogThread`
   */
  readonly watchdogThread?: WatchdogThreadOption | undefined;
}

/** Options of `withLock`, `tryWithLock` and `runOnce`. */
export interface RunOptions extends AcquireOptions {
  /**
   * How long the lock stays at least, in ms from when it was acquired, although `fn` has ended or thrown: it is then not
   * released, but left to expire, and no longer renewed. For jobs that several machines start a little apart.
   * @default 0: it is released when `fn` has ended
   */
  readonly atLeast?: number | undefined;
}

/** What `tryWithLock` resolves to: whether the lock was acquired, and what `fn` then resolved to. */
export type TryResult<T> = { readonly acquired: true; readonly value: T } | { readonly acquired: false };

/** Options of `withPermits` of a semaphore. `threadId` is for telemetry only: permits have no owner. */
export interface PermitRunOptions extends ThreadOptions {
  /**
   * How long to wait at most, in `unit` (default: ms). Zero or less: one attempt.
   * @default no limit
   */
  readonly waitTime?: number | undefined;
  /**
   * The unit of the times.
   * @default TimeUnit.MILLISECONDS
   */
  readonly unit?: TimeUnit | undefined;
}

/** Options of `acquireHold` of a semaphore. */
export interface PermitHoldOptions extends PermitRunOptions {
  /**
   * How many permits.
   * @default 1
   */
  readonly permits?: number | undefined;
  /**
   * How long to hold them at most, in `unit` (default: ms), more than 0; -1: the watchdog renews them for as long as
   * this process lives and is not blocked.
   * @default -1
   */
  readonly leaseTime?: number | undefined;
}

/** Options of `LockHold.detach`. */
export interface DetachOptions {
  /**
   * How long the lock stays held for the ticket, in `unit` (default: ms), more than 0. Nobody renews it until then.
   * @default the setting `lockWatchdogTimeout`
   */
  readonly leaseTime?: number | undefined;
  /**
   * The unit of `leaseTime`.
   * @default TimeUnit.MILLISECONDS
   */
  readonly unit?: TimeUnit | undefined;
}

/** Options of `RedissonClient.attach`. */
export interface AttachOptions {
  /**
   * How long to hold it at most from then on, in `unit` (default: ms), more than 0; -1: the watchdog renews it.
   * @default -1
   */
  readonly leaseTime?: number | undefined;
  /**
   * The unit of `leaseTime`.
   * @default TimeUnit.MILLISECONDS
   */
  readonly unit?: TimeUnit | undefined;
}

/** How many permits a semaphore has. */
export interface PermitsOptions {
  /**
   * How many there are to be, at least 0. It is set in Redis before the first use of the handle.
   *
   * Where the semaphore exists, it keeps the permits that it has (`trySetPermits`). One whose permits have ids gets this
   * number (`setPermits`), and one warning says so: the limit is in the code, and a deploy changes it.
   * @default the permits that somebody else sets
   */
  readonly permits?: number | undefined;
}

/** How long a health check waits. */
export interface PingOptions {
  /**
   * How long Redis may take to answer, in ms, including the time to connect. An orchestrator gives up on a probe after
   * a second or so: stay below that.
   * @default the setting `timeout`
   */
  readonly timeout?: number | undefined;
  /** Ends it: it rejects with `signal.reason`. @default none */
  readonly signal?: AbortSignal | undefined;
}

/** How a client is shut down. */
export interface ShutdownOptions {
  /**
   * How long holders may take to release their locks, in ms. Meanwhile the watchdog renews the locks and `unlock`
   * works; new acquisitions are refused and waiters are rejected. The client closes as soon as all are released. A
   * further call with a shorter time, or without one, shortens it; a longer time does not extend it.
   * @default 0: locks that are held are left to expire
   */
  readonly drain?: number | undefined;
}
