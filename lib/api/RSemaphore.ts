import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions, PermitRunOptions } from './options';
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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}
