import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions } from './options';
import type { RObject } from './RObject';

/**
 * A number of permits that everybody takes from and gives to. It has no owners, no leases and no order; permits of a
 * process that dies are gone (see `RPermitExpirableSemaphore`). A semaphore that was never set has 0 permits.
 *
 * Negative permits are a `RangeError`; zero permits succeed without touching Redis.
 *
 * Nobody can ask Redis later who has a permit. So a command that got no answer is neither repeated nor taken back:
 * every method that changes something, a timed wait too, then rejects with `CommandTimeoutError` or `ConnectionError`,
 * whose `mayHaveRun` tells whether it may have been done. Permits that come after that, or after an abort or the end of
 * the wait, are given back in the background; if the connection broke first, they may be lost. Where that matters, use
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
   */
  acquire(permits?: number, options?: LockOptions): Promise<void>;

  /**
   * Takes permits if there are enough.
   *
   * @param permits - how many. Default 1
   * @returns whether they were taken
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
   */
  tryAcquire(permits: number, waitTime: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * Gives permits back, or adds new ones: nobody checks that they were taken.
   *
   * @param permits - how many. Default 1
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, but only if the semaphore exists.
   *
   * @param permits - how many. Default 1
   * @returns whether it exists; `false` for zero permits, for which nobody looks
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /** @returns how many permits there are; may be negative after `addPermits` with a negative number */
  availablePermits(): Promise<number>;

  /** Takes all permits there are. @returns how many */
  drainPermits(): Promise<number>;

  /**
   * Creates the semaphore, if there is none.
   *
   * @param permits - how many permits it has then
   * @param ttl - how long it lives. Default: for ever
   * @param unit - the unit of `ttl`. Default milliseconds
   * @returns whether it was created
   */
  trySetPermits(permits: number, ttl?: number, unit?: TimeUnit): Promise<boolean>;

  /**
   * Changes the number of available permits.
   *
   * @param permits - how many more; may be negative
   */
  addPermits(permits: number): Promise<void>;

  /** Deletes the semaphore. Waiters go on waiting. @returns whether there was one */
  delete(): Promise<boolean>;
}
