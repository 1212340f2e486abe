// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
import type { TimeUnit } from '../util/TimeUnit';
import type { AcquireOptions, DetachOptions, LockOptions, RunOptions, ThreadOptions, TryResult } from './options';
import type { RObject } from './RObject';

/**
 * A distributed lock, owned by a logical thread of one client and re-entrant for it (except the non-reentrant kinds).
 *
 * - A hold without a lease (`leaseTime` -1) is renewed by the watchdog for as long as this process lives; a hold with a
 *   lease ends with it, released or not.
 * - Every method rejects with `ConnectionError` or `CommandTimeoutError` if Redis does not reply, with `ShutdownError`
 *   after `shutdown()`, with `CommandError` (`cause`: Redis' `WRONGTYPE`) if the key holds another type.
 * - Times are milliseconds unless a `unit` is given. `RangeError`: not a finite number, or too long.
 *
 * Source: `org.redisson.api.RLock` and `RLockAsync`; one promise-returning method for each pair.
 */
export interface RLock extends RObject {
  /**
   * Acquires the lock, waiting without limit.
   *
   * @param leaseTime - how long to hold at most; zero or less: until `unlock()`, renewed by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  lock(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void>;

  /**
   * The same as {@link lock}, under a name that Java users know: `options.signal` can interrupt every wait here.
   *
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  lockInterruptibly(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void>;

  /**
   * Acquires the lock if it is free, in one attempt; the watchdog renews it.
   *
   * A single number is a wait time, never a thread id (see the next overload): pass `{ threadId }`.
   *
   * @param options - thread id and signal
   * @returns whether it was acquired
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down. One attempt is refused
   *   at once by a server without memory, or with too few replicas
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLock(options?: ThreadOptions): Promise<boolean>;
  /**
   * Acquires the lock, waiting at most `waitTime`; the watchdog renews it.
   *
   * @param waitTime - how long to wait; zero or less: one attempt. `tryLock(500)` waits up to 500 ms
   * @param unit - the unit of `waitTime`. Default milliseconds
   * @returns whether it was acquired; also `false` if a reachable server did not reply in that time. Resolves at the
   *   latest after `waitTime` plus one round trip, unless the connection is lost
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down. One attempt is refused
   *   at once by a server without memory, or with too few replicas
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLock(waitTime: number, unit?: TimeUnit): Promise<boolean>;
  /**
   * Acquires the lock for `leaseTime`, waiting at most `waitTime`.
   *
   * @param waitTime - how long to wait; zero or less: one attempt
   * @param leaseTime - how long to hold at most; zero or less: renewed by the watchdog. Default -1
   * @param unit - the unit of both times. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns whether it was acquired; also `false` if a reachable server did not reply in that time. Resolves at the
   *   latest after `waitTime` plus one round trip, unless the connection is lost
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down. One attempt is refused
   *   at once by a server without memory, or with too few replicas
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLock(waitTime: number, leaseTime: number | undefined, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * One attempt, without waiting: the step on which the methods above are built.
   *
   * @param leaseTime - how long to hold at most; zero or less: renewed by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns `null` if acquired, else the remaining time to live of the lock in ms (-1 without expiry)
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   *
   * Source: `RedissonLock.tryAcquireAsync`.
   */
  tryAcquire(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<number | null>;

  /**
   * Releases one hold: one that `lock()` took in the scope or around it, else the hold of the `withLock` callback or of
   * `acquire()`; never that of a callback that runs beside this call. Releasing the last hold frees the lock and wakes
   * a waiter.
   *
   * @param options - thread id, or thread id and signal
   * @throws IllegalMonitorStateError if this thread does not hold it (it never did, or its lease ran out)
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Do not repeat: the client goes on
   *   releasing it, and its lease ends it at the latest
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  unlock(options?: LockOptions): Promise<void>;

  /**
   * Deletes the lock, whoever holds it, and wakes waiters.
   *
   * @returns whether the lock was held
   * @throws UnsupportedOperationError for a MultiLock or RedLock
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   the lock may have been released, and taken by another owner
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  forceUnlock(): Promise<boolean>;

  /**
   * @returns whether any owner holds it, read from Redis
   * @throws UnsupportedOperationError for a MultiLock or RedLock
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  isLocked(): Promise<boolean>;

  /**
   * @returns whether the calling logical thread holds it, read from Redis
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  isHeldByCurrentThread(): Promise<boolean>;

  /**
   * @param threadId - a logical thread of this client
   * @returns whether that thread holds it, read from Redis
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  isHeldByThread(threadId: number): Promise<boolean>;

  /**
   * @returns how many holds the calling logical thread has, read from Redis; 0 for none
   * @throws UnsupportedOperationError for a MultiLock, a RedLock, or the values of a group
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  getHoldCount(): Promise<number>;

  /**
   * @returns the remaining time to live of the lock, in ms, read from Redis: -2 if it is free, -1 without expiry
   * @throws UnsupportedOperationError for a MultiLock, a RedLock, or the values of a group
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  remainTimeToLive(): Promise<number>;

  /**
   * Acquires the lock and returns the hold, to be released by `unlock()` or with `await using`.
   *
   * Outside a thread scope, and without `threadId`, each call is a new thread: this is safe on a shared handle, and two
   * calls exclude each other. Only a call with its `threadId`, or `lock()` of the same thread, can re-enter it.
   *
   * @param options - times, unit, thread id, signal
   * @throws LockTimeoutError when `waitTime` passes
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`; only without
   *   `waitTime`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquire(options?: AcquireOptions): Promise<LockHold>;

  /**
   * As {@link acquire}, but resolves to `null` instead of rejecting with `LockTimeoutError`; without `waitTime` it
   * makes one attempt.
   *
   * @param options - times, unit, thread id, signal
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquireHold(options?: AcquireOptions): Promise<LockHold | null>;

  /**
   * Acquires the lock, runs `fn` in a thread scope of that hold, and releases the hold. Two such callbacks of one lock
   * overlap only if one runs inside the other, or if a `threadId` was given; parallel callbacks that re-enter take
   * turns. Work of `fn` that still runs after its end is outside the scope.
   *
   * @param fn - the protected work; locks it uses belong to the same logical thread. It should stop when `hold.signal`
   *   aborts
   * @param options - times, unit, thread id, signal, and how long the lock stays at least (`atLeast`, in ms)
   * @returns what `fn` resolves to
   * @throws LockTimeoutError when `waitTime` passes; `fn` has not run then
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockLostError if the lock was lost before `fn` ended, and `fn` did not throw; other errors of the release
   *   if only the release fails
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`; only without
   *   `waitTime`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: the
   *   acquisition is then undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  withLock<T>(fn: (hold: LockHold) => T | PromiseLike<T>, options?: RunOptions): Promise<T>;

  /**
   * As {@link withLock}, but resolves to `{ acquired: false }` instead of rejecting with `LockTimeoutError`, and without
   * running `fn`; without `waitTime` it makes one attempt.
   *
   * ```ts
   * const report = await lock.tryWithLock(() => sendReport(), { atLeast: 30_000 });
   * if (!report.acquired) return; // another process runs it
   * ```
   *
   * @param fn - as for {@link withLock}
   * @param options - as for {@link withLock}
   * @returns whether the lock was acquired, and what `fn` resolved to
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockLostError if the lock was lost before `fn` ended, and `fn` did not throw; other errors of the release
   *   if only the release fails
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: the
   *   acquisition is then undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryWithLock<T>(fn: (hold: LockHold) => T | PromiseLike<T>, options?: RunOptions): Promise<TryResult<T>>;
}

/**
 * A pair of locks: many readers, or one writer. The writer may also read, and keep reading after it has released the
 * write lock (a downgrade). A reader cannot become the writer while it reads.
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
 * A lock that gives each hold a strictly increasing token. A resource that remembers the greatest token it has seen,
 * and refuses smaller ones, is safe even from an owner that lost the lock without noticing.
 *
 * Unlike Redisson's, an explicit lease is honoured, and `tryLockAndGetToken()` does not wait.
 *
 * Source: `org.redisson.api.RFencedLock`.
 */
export interface RFencedLock extends RLock {
  /**
   * As {@link RLock.acquire}.
   *
   * @returns the hold, with its token
   * @throws LockTimeoutError when `waitTime` passes
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`; only without
   *   `waitTime`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquire(options?: AcquireOptions): Promise<FencedLockHold>;

  /**
   * As {@link RLock.tryAcquireHold}.
   *
   * @returns the hold, with its token, or `null`
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquireHold(options?: AcquireOptions): Promise<FencedLockHold | null>;

  /**
   * As {@link RLock.withLock}.
   *
   * @param fn - gets the hold, with its token
   * @throws LockTimeoutError when `waitTime` passes; `fn` has not run then
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockLostError if the lock was lost before `fn` ended, and `fn` did not throw; other errors of the release
   *   if only the release fails
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`; only without
   *   `waitTime`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: the
   *   acquisition is then undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  withLock<T>(fn: (hold: FencedLockHold) => T | PromiseLike<T>, options?: RunOptions): Promise<T>;

  /**
   * As {@link RLock.tryWithLock}.
   *
   * @param fn - gets the hold, with its token
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockLostError if the lock was lost before `fn` ended, and `fn` did not throw; other errors of the release
   *   if only the release fails
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: the
   *   acquisition is then undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryWithLock<T>(fn: (hold: FencedLockHold) => T | PromiseLike<T>, options?: RunOptions): Promise<TryResult<T>>;

  /**
   * As `lock`.
   *
   * @param leaseTime - how long to hold at most; zero or less: renewed by the watchdog. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - thread id, or thread id and signal
   * @returns the token of the new hold
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  lockAndGetToken(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<bigint>;

  /**
   * As `tryLock(options)`: one attempt.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLockAndGetToken(options?: ThreadOptions): Promise<bigint | null>;
  /**
   * As `tryLock(waitTime, unit)`.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLockAndGetToken(waitTime: number, unit?: TimeUnit): Promise<bigint | null>;
  /**
   * As `tryLock(waitTime, leaseTime, unit, options)`.
   *
   * @returns the token of the new hold, or `null` when it was not taken
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryLockAndGetToken(
    waitTime: number,
    leaseTime: number | undefined,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<bigint | null>;

  /**
   * @returns the token of the latest hold of any owner, read from Redis; 0n if there never was one
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  getToken(): Promise<bigint>;
}

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
   * it is neither released nor lost, `isHeld` is `false` and `unlock()` does nothing. The lock stays held meanwhile,
   * for the ticket holder only, until its lease ends. For Redis, and for Java, its owner changes.
   *
   * The ticket is a string of up to a few hundred characters without blanks. It has no password in it, but whoever has
   * it can take up the hold. A fenced lock gives the hold a new token at `attach`.
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

/** One hold of a fenced lock: a {@link LockHold} that always has a token. */
export interface FencedLockHold extends LockHold {
  /** The fencing token of this hold, strictly greater than those of all earlier holds. Send it with each write. */
  readonly token: bigint;
}
