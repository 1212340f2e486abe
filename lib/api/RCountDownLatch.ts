import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions } from './options';
import type { RObject } from './RObject';

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
   */
  await(timeout?: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean>;

  /**
   * Counts down by one; at zero the latch opens.
   *
   * @throws CommandTimeoutError, ConnectionError if the reply is lost: `mayHaveRun` says whether it may have counted
   */
  countDown(): Promise<void>;

  /** @returns the count; 0 if there is none */
  getCount(): Promise<number>;

  /**
   * Sets the count, if the latch is not set.
   *
   * @param count - the count
   * @returns whether it was set
   */
  trySetCount(count: number): Promise<boolean>;

  /** Deletes the latch. @returns whether there was one */
  delete(): Promise<boolean>;
}
