import { inspect } from 'node:util';
import type { LockOptions } from '../api';
import { checkOptionNames, THREAD_OPTIONS } from '../config/optionNames';
import { NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { checkSignal } from '../acquire/WaitLimit';

/**
 * Checks a number of permits, or a count.
 *
 * @param what - the argument's name, for the error
 * @throws RangeError unless it is an integer from 0 to `Number.MAX_SAFE_INTEGER`
 */
export function checkCount(value: unknown, what = 'permits'): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`${what} must be a non-negative integer, got ${inspect(value)}`);
}

/**
 * Checks a change of a number of permits, up or down.
 *
 * @throws RangeError unless it is an integer
 */
export function checkChange(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new RangeError(`permits must be an integer, got ${inspect(value)}`);
}

/**
 * The signal of `options`. A thread id has no effect: permits and counts have no owners.
 *
 * @throws ConfigError for anything but a number, or an object whose `signal` is an AbortSignal
 */
export function readSignal(options: LockOptions | undefined): AbortSignal | undefined {
  if (options === undefined || typeof options === 'number') return undefined;
  checkOptionNames(options, THREAD_OPTIONS);
  checkSignal(options.signal);
  return options.signal;
}

/**
 * The lease of a permit in ms. Only -1 means "no lease": a caller that computes the rest of a lease and gets 0 or less
 * must not get a permit for ever (as in Redisson, and unlike the leases of locks).
 *
 * @returns ms; 0 for any other negative time: over at once; {@link NO_LEASE} for -1
 * @throws RangeError, TypeError as `toMillis`
 */
export function permitLease(leaseTime: number, unit: TimeUnit | undefined): number {
  const ms = toMillis(leaseTime, unit, 'leaseTime');
  if (leaseTime === -1) return NO_LEASE;
  return ms < 0 ? 0 : ms;
}
