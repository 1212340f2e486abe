import type { TimeUnit } from '../util/TimeUnit';
import type { LockHold } from './LockHold';
import type { AcquireOptions, LockOptions, ThreadOptions } from './options';
import type { RObject } from './RObject';

/**
 * A distributed lock, owned by a logical thread of one client and re-entrant for it (except the non-reentrant kinds).
 *
 * - A hold without lease (`leaseTime` -1) is kept by the watchdog for as long as this process lives; one with a lease
 *   ends after it, released or not.
 * - Every method rejects with `ConnectionError` or `CommandTimeoutError` when Redis does not answer, with
 *   `ShutdownError` after `shutdown()`, with `CommandError` (`cause`: Redis' `WRONGTYPE`) when the name holds another
 *   type.
 * - Times are milliseconds unless a `unit` is given. `RangeError`: not a finite number, or too long.
 *
 * Source: `org.redisson.api.RLock` and `RLockAsync`; one promise-returning method for each pair.
 */
export interface RLock extends RObject {
  /**
   * Takes the lock, waiting without limit.
   *
   * @param leaseTime - how long to hold at most; zero or less: until `unlock()`, kept by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @throws IllegalMonitorStateError when this thread is already acquiring this lock, or has it for a `withLock`
   *   callback that runs beside this call
   * @throws SubscriptionTimeoutError when the lock's channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError when no replica confirmed it (see `checkLockSyncedSlaves`)
   * @throws the reason of `options.signal`, when it aborts
   */
  lock(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void>;

  /** The same as {@link lock}: every waiting here can be interrupted, by `options.signal`. The name Java users know. */
  lockInterruptibly(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void>;

  /**
   * Takes the lock if it is free, in one attempt, kept by the watchdog.
   *
   * A lone number is a wait time, never a thread id (see the next form): pass `{ threadId }`.
   *
   * @param options - thread id and signal
   * @returns whether it was taken
   * @throws the errors of {@link lock}, except `SubscriptionTimeoutError`
   */
  tryLock(options?: ThreadOptions): Promise<boolean>;
  /**
   * Takes the lock, waiting at most `waitTime`, kept by the watchdog.
   *
   * @param waitTime - how long to wait; zero or less: one attempt. `tryLock(500)` waits up to 500 ms
   * @param unit - the unit of `waitTime`. Default milliseconds
   * @returns whether it was taken; `false`, too, when a server that can be reached did not answer in that time. Never
   *   later than `waitTime` plus one round trip, short of a lost connection
   */
  tryLock(waitTime: number, unit?: TimeUnit): Promise<boolean>;
  /**
   * Takes the lock, waiting at most `waitTime`, for `leaseTime`.
   *
   * @param waitTime - how long to wait; zero or less: one attempt
   * @param leaseTime - how long to hold at most; zero or less: kept by the watchdog. Default -1
   * @param unit - the unit of both times. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns whether it was taken; `false`, too, when a server that can be reached did not answer in that time. Never
   *   later than `waitTime` plus one round trip, short of a lost connection
   */
  tryLock(waitTime: number, leaseTime: number | undefined, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * The single step under all of these: one attempt, no waiting.
   *
   * @param leaseTime - how long to hold at most; zero or less: kept by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns `null` when taken, else the remaining time to live of the lock in ms (-1 where it has none)
   * Source: `RedissonLock.tryAcquireAsync`.
   */
  tryAcquire(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<number | null>;

  /**
   * Gives one hold back: what `lock()` took in the scope or around it, else the hold of the `withLock` callback or of
   * `acquire()`; never that of a callback that runs beside it. The last one frees the lock and wakes a waiter.
   *
   * @param options - thread id, or thread id and signal
   * @throws IllegalMonitorStateError when this thread does not hold it (never did, or its lease ran out)
   */
  unlock(options?: LockOptions): Promise<void>;

  /**
   * Deletes the lock whoever holds it, and wakes waiters.
   *
   * @returns whether there was one
   */
  forceUnlock(): Promise<boolean>;

  /** @returns whether anybody holds it, read from Redis */
  isLocked(): Promise<boolean>;

  /** @returns whether the calling logical thread holds it, read from Redis */
  isHeldByCurrentThread(): Promise<boolean>;

  /**
   * @param threadId - a logical thread of this client
   * @returns whether that thread holds it, read from Redis
   */
  isHeldByThread(threadId: number): Promise<boolean>;

  /** @returns how many holds the calling logical thread has, read from Redis; 0 for none */
  getHoldCount(): Promise<number>;

  /** @returns how long the lock still lives, in ms, read from Redis: -2 when it is free, -1 without expiry */
  remainTimeToLive(): Promise<number>;

  /**
   * Takes the lock and returns the hold, to release by hand or with `await using`.
   *
   * Outside a thread scope, and without `threadId`, each call is a thread of its own: safe on a shared handle, and
   * two calls exclude each other. Nobody re-enters it without its `threadId`, except `lock()` of the same thread.
   *
   * @param options - times, unit, thread id, signal
   * @throws LockTimeoutError when `waitTime` passes
   * @throws the errors of {@link lock}
   */
  acquire(options?: AcquireOptions): Promise<LockHold>;

  /**
   * As {@link acquire}, but resolves to `null` where that rejects with `LockTimeoutError`; without `waitTime` it makes
   * one attempt.
   *
   * @param options - times, unit, thread id, signal
   */
  tryAcquireHold(options?: AcquireOptions): Promise<LockHold | null>;

  /**
   * Takes the lock, runs `fn` in a thread scope of that hold, and releases it. Two such callbacks of one lock overlap
   * only where one runs inside the other, or where a `threadId` was given; those that re-enter side by side take turns.
   * What `fn` left behind when it ended is outside.
   *
   * @param fn - the protected work; locks it uses belong to the same logical thread. Heed `hold.signal`
   * @param options - times, unit, thread id, signal
   * @returns what `fn` resolves to
   * @throws LockTimeoutError when `waitTime` passes; `fn` did not run then
   * @throws what `fn` throws, whatever the release does
   * @throws the error of the release when only that fails; `LockLostError` when the lock was gone before `fn` ended
   */
  withLock<T>(fn: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
}

/**
 * A pair of locks: many readers, or one writer. The writer may also read (and keep reading after it gave the write lock
 * back: a downgrade); a reader cannot become the writer while it reads.
 *
 * The two locks share one thread outside thread scopes, so that read and write holds of one handle belong together.
 *
 * Source: `org.redisson.api.RReadWriteLock`.
 */
export interface RReadWriteLock extends RObject {
  /** @returns the lock of the readers */
  readLock(): RLock;
  /** @returns the lock of the writer */
  writeLock(): RLock;
}

/**
 * A lock whose every hold has a token, strictly growing. A resource that remembers the greatest token it has seen and
 * refuses smaller ones is safe also from an owner that lost the lock without noticing.
 *
 * Unlike Redisson's, an explicit lease is honoured, and `tryLockAndGetToken()` does not wait.
 *
 * Source: `org.redisson.api.RFencedLock`.
 */
export interface RFencedLock extends RLock {
  /**
   * As `lock`.
   *
   * @param leaseTime - how long to hold at most; zero or less: kept by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns the token of the new hold
   */
  lockAndGetToken(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<bigint>;

  /**
   * As `tryLock(options)`: one attempt.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   */
  tryLockAndGetToken(options?: ThreadOptions): Promise<bigint | null>;
  /**
   * As `tryLock(waitTime, unit)`.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   */
  tryLockAndGetToken(waitTime: number, unit?: TimeUnit): Promise<bigint | null>;
  /**
   * As `tryLock(waitTime, leaseTime, unit, options)`.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   */
  tryLockAndGetToken(
    waitTime: number,
    leaseTime: number | undefined,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<bigint | null>;

  /** @returns the token of the latest hold of anybody, read from Redis; 0n when there never was one */
  getToken(): Promise<bigint>;
}
