import { inspect } from 'node:util';
import { TimeUnit } from './TimeUnit';

/** The longest delay a Node timer takes, in ms (2^31 - 1, almost 25 days); a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** The lease that means "no lease, the watchdog keeps the lock", after {@link leaseMillis}. */
export const NO_LEASE = -1;

/**
 * @param unit - the unit of a caller; `undefined` is milliseconds
 * @param what - what it is the unit of, for the error
 * @returns the unit
 * @throws TypeError when it is not a `TimeUnit`
 */
export function checkUnit(unit: unknown, what: string): TimeUnit {
  const checked = unit === undefined ? TimeUnit.MILLISECONDS : unit;
  if (checked instanceof TimeUnit) return checked;
  throw new TypeError(`the unit of ${what} must be a TimeUnit, got ${inspect(unit)}`);
}

/**
 * A duration argument of the public API in whole milliseconds.
 *
 * A positive duration never becomes 0: everywhere 0 means something else ("one attempt", "no lease"), so that
 * 200 microseconds turn into 1 ms instead of into a lock without a lease. Otherwise it is rounded to the nearest ms.
 *
 * @param value - the duration, in `unit`; a negative one is passed through, callers give it its meaning
 * @param unit - the unit; `undefined` is milliseconds
 * @param what - the argument's name, for the error
 * @returns whole milliseconds
 * @throws RangeError for anything but a finite number, and beyond `Number.MAX_SAFE_INTEGER` ms
 * @throws TypeError when `unit` is not a `TimeUnit`
 */
export function toMillis(value: number, unit: TimeUnit | undefined, what: string): number {
  if (!Number.isFinite(value)) throw new RangeError(`${what} must be a finite number, got ${inspect(value)}`);
  const source = checkUnit(unit, what);
  const exact = source.toMillis(value);
  if (Math.abs(exact) > Number.MAX_SAFE_INTEGER) {
    throw new RangeError(
      `${what} is too long: ${value} ${source.name} is more than ${Number.MAX_SAFE_INTEGER} milliseconds`,
    );
  }
  if (value <= 0) return value === 0 ? 0 : Math.floor(exact);
  return Math.max(1, Math.round(exact));
}

/**
 * As {@link toMillis} in milliseconds, for a time that cannot be negative.
 *
 * @param least - the shortest, in ms. @default 0
 * @throws RangeError as {@link toMillis}, and for a shorter one
 */
export function atLeastMillis(value: number, what: string, least = 0): number {
  const ms = toMillis(value, undefined, what);
  if (ms >= least) return ms;
  throw new RangeError(`${what} must ${least === 0 ? 'not be negative' : `be at least ${least} ms`}, got ${value}`);
}

/**
 * A lease argument of the public API in whole milliseconds.
 *
 * @param value - the lease in `unit`; `undefined`, 0 and negative ones mean "no lease" (Redisson since 3.17.1)
 * @param unit - the unit; `undefined` is milliseconds
 * @param what - the argument's name, for the error
 * @returns whole milliseconds, at least 1, or {@link NO_LEASE}
 * @throws RangeError and TypeError as {@link toMillis}
 */
export function leaseMillis(value: number | undefined, unit?: TimeUnit, what = 'leaseTime'): number {
  if (value === undefined || (value === NO_LEASE && unit === undefined)) return NO_LEASE;
  const ms = toMillis(value, unit, what);
  return ms > 0 ? ms : NO_LEASE;
}

/**
 * The lease of a hold as an object, in whole milliseconds. Unlike {@link leaseMillis} only -1 means "no lease": a
 * caller that computes the rest of a lease and gets 0 or less must not get a hold that is renewed for ever.
 *
 * @param value - the lease in `unit`; -1: no lease
 * @param unit - the unit; `undefined` is milliseconds
 * @returns whole milliseconds, at least 1, or {@link NO_LEASE}
 * @throws RangeError and TypeError as {@link toMillis}, and for 0 and other negative ones
 */
export function holdLease(value: number, unit?: TimeUnit): number {
  const ms = toMillis(value, unit, 'leaseTime');
  if (value === NO_LEASE) return NO_LEASE;
  if (ms > 0) return ms;
  throw new RangeError(`leaseTime must be positive, or -1 for the watchdog, got ${value}`);
}

/**
 * A delay that `setTimeout` can take: whole (a fraction would be cut off, and the timer fire early) and in range.
 *
 * @param ms - the wanted delay in ms; `Infinity` is allowed
 * @returns 0 to {@link MAX_TIMER_MS}; for a longer delay the caller sets the next timer when this one fires
 */
export function clampTimer(ms: number): number {
  return Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(ms)));
}

/**
 * Until when a confirmed lease certainly belongs to this client: counted from before the command was sent, less a
 * margin for clock drift and for a timer that fires late. No other owner can have the lock before that.
 *
 * @param sentAt - monotonic time just before the command was sent
 * @param leaseMs - the lease it set, in ms
 * @returns monotonic time
 */
export function confirmedUntil(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - marginOf(leaseMs);
}

/** How long before the end of a lease its hold counts as over, in ms: {@link confirmedUntil}. */
export function marginOf(leaseMs: number): number {
  return Math.min(leaseMs / 10, 2 + leaseMs / 1_000);
}
