import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions, PermitHoldOptions, PermitRunOptions } from './options';
import type { PermitHold } from './PermitHold';
import type { RObject } from './RObject';

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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  trySetPermits(permits: number): Promise<boolean>;

  /**
   * Sets how many permits there are, taken or not.
   *
   * @param permits - how many
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat: it may then return `false`
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  delete(): Promise<boolean>;
}
