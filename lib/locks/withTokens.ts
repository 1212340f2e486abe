import type { LockOptions, RFencedLock, ThreadOptions } from '../api';
import { leaseMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { readTryLock } from './core/calls';
import { readToken } from '../kinds/fenced';
import type { Lock } from './Lock';

/**
 * Makes a lock of the fenced kind an `RFencedLock`: gives it the methods for its tokens.
 *
 * Redisson's `lockAndGetToken(lease)` ignores the lease, and its `tryLockAndGetToken()` waits; these do neither.
 */
export function withTokens(lock: Lock): RFencedLock {
  return Object.assign(lock, {
    async lockAndGetToken(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<bigint> {
      const taken = await lock.take(leaseMillis(leaseTime, unit), Infinity, true, options);
      // The wait has no limit and was not aborted, so the lock was acquired.
      return (taken as typeof taken & { readonly ok: true }).token!;
    },

    async tryLockAndGetToken(
      first?: number | ThreadOptions,
      second?: number | TimeUnit,
      unit?: TimeUnit,
      options?: LockOptions,
    ): Promise<bigint | null> {
      const call = readTryLock(first, second, unit, options);
      const taken = await lock.take(leaseMillis(call.leaseTime, call.unit), call.waitMs, call.waits, call.options);
      return taken.ok ? taken.token! : null;
    },

    async getToken(): Promise<bigint> {
      const { kind, rawName, name } = lock.engine;
      return readToken(kind.executor, rawName, name);
    },
  });
}
