import type { TimeUnit } from '../util/TimeUnit';
import type { LockOptions, ThreadOptions } from './options';
import type { RLock } from './RLock';

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
