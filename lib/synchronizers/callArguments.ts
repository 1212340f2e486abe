import { inspect } from 'node:util';
import type { LockOptions, PermitsOptions, ThreadOptions } from '../api';
import { checkOptionNames, PERMITS_OPTIONS, THREAD_OPTIONS } from '../config/optionNames';
import { NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { checkThreadId } from '../thread/threadScope';
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
 * Reads the number of permits that the code says.
 *
 * @returns `undefined` where it says none
 * @throws ConfigError for an unknown option; RangeError as {@link checkCount}
 */
export function readPermits(options: PermitsOptions | undefined): number | undefined {
  if (options === undefined) return undefined;
  checkOptionNames(options, PERMITS_OPTIONS);
  return options.permits === undefined ? undefined : checkCount(options.permits);
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
 * The signal of `options`. A thread id has no effect but for telemetry: permits and counts have no owners.
 *
 * @throws RangeError for a thread id that no lock takes
 * @throws ConfigError for anything but a number, or an object whose `signal` is an AbortSignal
 */
export function readSignal(options: LockOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'number') checkOptionNames(options, THREAD_OPTIONS);
  const { threadId, signal }: ThreadOptions = typeof options === 'number' ? { threadId: options } : options;
  if (threadId !== undefined) checkThreadId(threadId);
  checkSignal(signal);
  return signal;
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
