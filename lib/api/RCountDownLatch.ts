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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Deletes the latch.
   *
   * @returns whether there was one
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}
