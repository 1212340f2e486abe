// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions, PermitHoldOptions, PermitRunOptions } from './options';
import type { RObject } from './RObject';

/**
 * A number of permits that all processes share. It has no owners, no leases and no order; the permits of a process that
 * dies are lost (see `RPermitExpirableSemaphore`). A semaphore that was never set has 0 permits.
 *
 * A negative number of permits is a `RangeError`; zero permits succeed without a command to Redis.
 *
 * Redis does not store who has a permit. So a command without a reply is neither repeated nor undone: every method that
 * changes something, including a timed wait, then rejects with `CommandTimeoutError` or `ConnectionError`, whose
 * `mayHaveRun` says whether the change may have been made. Permits that arrive after that, or after an abort or the end
 * of the wait, are released in the background; if the connection broke first, they may be lost. If that matters, use
 * `RPermitExpirableSemaphore`.
 *
 * Source: `org.redisson.api.RSemaphore`.
 */
export interface RSemaphore extends RObject {
  /**
   * Takes permits, waiting without limit.
   *
   * @param permits - how many. Default 1
   * @param options - `signal` stops the waiting
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); the permits are released
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquire(permits?: number, options?: LockOptions): Promise<void>;

  /**
   * Takes permits if there are enough.
   *
   * @param permits - how many. Default 1
   * @returns whether they were taken
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); the permits are released
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquire(permits?: number): Promise<boolean>;
  /**
   * Takes permits, waiting at most `waitTime`.
   *
   * @param permits - how many
   * @param waitTime - how long to wait; zero or less: one attempt
   * @param unit - the unit of `waitTime`. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns whether they were taken
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); the permits are released
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquire(permits: number, waitTime: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * Runs `fn` with permits, which are released when it has ended, whatever happens. A client that drains waits for it.
   *
   * @param permits - how many
   * @param fn - the work
   * @param options - `waitTime` and its `unit` (default: no limit), `signal`
   * @returns what `fn` resolves to
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockTimeoutError when `waitTime` has passed
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); the permits are released
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run and
   *   `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  withPermits<T>(permits: number, fn: () => T | PromiseLike<T>, options?: PermitRunOptions): Promise<T>;

  /**
   * Releases permits, or adds new ones: there is no check that they were taken.
   *
   * @param permits - how many. Default 1
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, but only if the semaphore exists.
   *
   * @param permits - how many. Default 1
   * @returns whether it exists; `false` for zero permits, without a check
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /**
   * @returns how many permits are available; may be negative after `addPermits` with a negative number
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  availablePermits(): Promise<number>;

  /**
   * Takes all available permits.
   *
   * @returns how many
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  drainPermits(): Promise<number>;

  /**
   * Creates the semaphore, if there is none.
   *
   * @param permits - how many permits it has then
   * @param ttl - how long it lives. Default: without limit
   * @param unit - the unit of `ttl`. Default milliseconds
   * @returns whether it was created
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   others may have deleted it meanwhile
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  trySetPermits(permits: number, ttl?: number, unit?: TimeUnit): Promise<boolean>;

  /**
   * Changes the number of available permits.
   *
   * @param permits - how many more; may be negative
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  addPermits(permits: number): Promise<void>;

  /**
   * Deletes the semaphore. Its waiters keep waiting.
   *
   * @returns whether there was one
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   it may have been deleted, and made anew by others
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}

/**
 * A semaphore whose permits have ids and may have leases: a permit that is not released in time becomes available again
 * by itself. Ids are 32 lower-case hex characters. A negative number of permits is a `RangeError`; zero permits return
 * `[]`.
 *
 * Leases are counted by the server's clock, from when it gives the permits. (A Java client counts by its own.) Only -1
 * means "no lease": a lease of 0, or of another negative time, is over at once. Commands whose reply is lost are
 * repeated or undone by the ids.
 *
 * Source: `org.redisson.api.RPermitExpirableSemaphore`.
 */
export interface RPermitExpirableSemaphore extends RObject {
  /**
   * Takes a permit, waiting without limit.
   *
   * @param leaseTime - how long it is valid; -1: until it is released. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns its id
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquire(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<string>;

  /**
   * Takes several permits at once, waiting without limit.
   *
   * @param permits - how many
   * @param leaseTime - how long they are valid; -1: until released. Default -1
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns their ids
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquireMany(permits: number, leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<string[]>;

  /**
   * Takes a permit, waiting at most `waitTime`.
   *
   * @param waitTime - how long to wait. Default 0: one attempt
   * @param leaseTime - how long it is valid; -1: until it is released. Default -1
   * @param unit - the unit of both times. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns its id, or `null` if none was available in time
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquire(waitTime?: number, leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<string | null>;

  /**
   * Takes several permits at once, waiting at most `waitTime`.
   *
   * @param permits - how many
   * @param waitTime - how long to wait. Default 0: one attempt
   * @param leaseTime - how long they are valid; -1: until released. Default -1
   * @param unit - the unit of both times. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns their ids, or `[]` if there were not enough
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryAcquireMany(
    permits: number,
    waitTime?: number,
    leaseTime?: number,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<string[]>;

  /**
   * Takes permits, and holds them together. Without a lease the watchdog renews them: unlike permits of `acquire`, they
   * become available again when this process dies. For Redis, and for Java, they are ordinary permits.
   *
   * @param options - `permits` (default 1), `waitTime` (default: no limit), `leaseTime` (default -1: renewed), the `unit`
   *   of both, `signal`
   * @returns the hold; release it, or use `await using`
   * @throws LockTimeoutError when `waitTime` has passed
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: what it may have acquired is
   *   undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  acquireHold(options?: PermitHoldOptions): Promise<PermitHold>;

  /**
   * Runs `fn` with permits, which are released when it has ended, whatever happens. A client that drains waits for it.
   *
   * @param permits - how many
   * @param fn - the work; its hold has the ids and the `signal`
   * @param options - `waitTime` and its `unit` (default: no limit), `signal`
   * @returns what `fn` resolves to
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockTimeoutError when `waitTime` has passed
   * @throws LockLostError if a permit was lost before `fn` ended, and `fn` did not throw; other errors of the release if
   *   only the release fails
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); the permits are released
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: what it may have
   *   acquired is undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  withPermits<T>(permits: number, fn: (hold: PermitHold) => T | PromiseLike<T>, options?: PermitRunOptions): Promise<T>;

  /**
   * Releases a permit.
   *
   * @param permitId - its id
   * @throws PermitNotFoundError if it is not taken any more
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: `PermitNotFoundError` then
   *   means that it is released
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  release(permitId: string): Promise<void>;

  /**
   * Releases permits, all or none. An id that is given twice counts once.
   *
   * @param permitIds - their ids; without ids nothing happens
   * @throws PermitNotFoundError if one of them is not taken any more
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: `PermitNotFoundError` then
   *   means that they are released
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  releaseMany(permitIds: readonly string[]): Promise<void>;

  /**
   * As `release`.
   *
   * @returns whether it was still taken, instead of rejecting
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryRelease(permitId: string): Promise<boolean>;

  /**
   * As `releaseMany`.
   *
   * @returns how many were released: all or 0, instead of rejecting
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return 0
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  tryReleaseMany(permitIds: readonly string[]): Promise<number>;

  /**
   * @returns how many permits can be taken now
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  availablePermits(): Promise<number>;

  /**
   * @returns how many permits are taken
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  acquiredPermits(): Promise<number>;

  /**
   * @returns how many permits there are, taken or not
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  getPermits(): Promise<number>;

  /**
   * Creates the semaphore, if there is none.
   *
   * @param permits - how many permits it has then
   * @returns whether it was created
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   others may have deleted it meanwhile
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  trySetPermits(permits: number): Promise<boolean>;

  /**
   * Sets how many permits there are, taken or not.
   *
   * @param permits - how many
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   others may have set another number meanwhile
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  setPermits(permits: number): Promise<void>;

  /**
   * Changes how many permits can be taken.
   *
   * @param permits - how many more; may be negative
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  addPermits(permits: number): Promise<void>;

  /**
   * Sets a new lease for a permit, counted from now.
   *
   * @param permitId - its id
   * @param leaseTime - how long it is valid from now; -1: until it is released
   * @param unit - the unit of `leaseTime`. Default milliseconds
   * @returns whether it was still taken
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  updateLeaseTime(permitId: string, leaseTime: number, unit?: TimeUnit): Promise<boolean>;

  /**
   * @param permitId - its id
   * @returns how long it is still valid, in ms; -1 without a lease
   * @throws PermitNotFoundError if it is not taken any more
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  getLeaseTime(permitId: string): Promise<number>;

  /**
   * Deletes the semaphore and all permits.
   *
   * @returns whether there was one
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   it may have been deleted, and made anew by others
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}

/**
 * Permits of an `RPermitExpirableSemaphore` that are held together: what `acquireHold` returns, and what the callback of
 * `withPermits` receives. They are ordinary permits in Redis, each with its id and its lease.
 *
 * ```ts
 * await using hold = await semaphore.acquireHold({ permits: 2, waitTime: 5000 });
 * await work(hold.signal);
 * ```
 */
export interface PermitHold {
  /** The ids of the permits: 32 lower-case hex characters each. */
  readonly ids: readonly string[];
  /** How many permits it is. */
  readonly permits: number;
  /**
   * Aborts with `LockLostError` as soon as one of the permits is, or may be, lost: a renewal finds it gone, or the local
   * (monotonic) deadline of the last confirmed lease passes. Not aborted by `release()`.
   */
  readonly signal: AbortSignal;
  /** Whether it is neither released nor lost, as far as this process knows. Redis is not queried. */
  readonly isHeld: boolean;
  /**
   * Releases all of its permits. Idempotent: later calls return the promise of the first.
   *
   * @returns resolves when Redis has released them
   * @throws LockLostError if one of them was lost before; the others are then released in the background
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Do not repeat: the client goes on
   *   releasing them, and their lease ends them at the latest
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  release(): Promise<void>;
  /**
   * Releases them at the end of an `await using` block. Never throws: an error here would hide the error of the block.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A counter whose waiters continue once it reaches zero. A latch that was never set, or was deleted, is open: its
 * waiters continue.
 *
 * Source: `org.redisson.api.RCountDownLatch`.
 */
export interface RCountDownLatch extends RObject {
  /**
   * Waits until the count is zero.
   *
   * @param timeout - how long to wait at most. Default: without limit
   * @param unit - the unit of `timeout`. Default milliseconds
   * @param options - `signal` stops the waiting
   * @returns whether it is zero; always `true` without `timeout`
   * @throws SubscriptionTimeoutError if the channel could not be subscribed within `subscriptionTimeout`; only without
   *   `timeout`
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  await(timeout?: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * Counts down by one; at zero the latch opens.
   *
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  countDown(): Promise<void>;

  /**
   * @returns the count; 0 if there is none
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  getCount(): Promise<number>;

  /**
   * Sets the count, if the latch is not set.
   *
   * @param count - the count
   * @returns whether it was set
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   others may have counted it down, and a repeat would begin a new one
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Deletes the latch.
   *
   * @returns whether there was one
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `mayHaveRun` is false:
   *   it may have been deleted, and made anew by others
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}
