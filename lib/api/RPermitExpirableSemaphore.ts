import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions } from './options';
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
