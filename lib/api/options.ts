import type { TimeUnit } from '../util/TimeUnit';

/**
 * Who calls, and how to stop waiting. The last argument of the operations of locks and synchronizers.
 */
export interface ThreadOptions {
  /**
   * The logical thread that calls: an integer of yours from 0 to 2^32 - 1, or the id of a thread of this process
   * (`hold.threadId`, `currentThreadId()`), which is larger.
   * @default the thread of a scope around the call that has the lock, else that of the scope (`runInThread`,
   *   `withLock`), else that of the handle
   */
  readonly threadId?: number | undefined;
  /**
   * Aborts the waiting: the call rejects with `signal.reason` and leaves nothing behind (no hold, no queue entry, no
   * subscription, no timer), also when the abort meets a request already on the wire.
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
 * Outside a thread scope, and without `threadId`, each such call is a logical thread of its own, so that it is safe on
 * a handle that many requests share.
 */
export interface AcquireOptions extends ThreadOptions {
  /**
   * How long to wait at most, in `unit`. Zero or less: one attempt.
   * @default no limit for `acquire` and `withLock`, one attempt for `tryAcquireHold`
   */
  readonly waitTime?: number | undefined;
  /**
   * How long to hold at most, in `unit`; -1 keeps the lock for as long as this process lives and works (watchdog).
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
}

/** How a client is shut down. */
export interface ShutdownOptions {
  /**
   * How long locks that are held may take to be given back, in ms. Meanwhile the watchdog renews them and `unlock`
   * works; new acquisitions are refused and waiters are rejected. The client closes as soon as all are given back. A
   * further call with a shorter time, or with none, shortens it; a longer one does not lengthen it.
   * @default 0: what is held is left to expire
   */
  readonly drain?: number | undefined;
}
