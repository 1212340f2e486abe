import type { Hold, Ownership } from './Ownership';

/**
 * Holds of a group lock. A thread has one ownership per group, but may hold several sets of its values, with leases of
 * their own, and a value may be in more than one set. Each hold says which values it is about, and until when they are
 * its own.
 */

/** How many of the holds are about a value. */
export function holdsOfValue(holds: readonly Hold[], field: string): number {
  let count = 0;
  for (const { values } of holds) if (values?.fields.includes(field) === true) count++;
  return count;
}

/** Whether a hold is about one of these values. */
export function sharesValue(hold: Hold, fields: readonly string[]): boolean {
  return hold.values?.fields.some((field) => fields.includes(field)) === true;
}

/** For how long Redis must keep a value for these holds, in ms from `now`; 0 without any. */
export function valueRemainingMs(holds: readonly Hold[], field: string, now: number): number {
  let end = 0;
  for (const hold of holds) {
    if (hold.values?.fields.includes(field) !== true) continue;
    end = Math.max(end, hold.leaseMs === -1 ? now + hold.watchdogMs : hold.leaseEnd);
  }
  return Math.max(0, Math.ceil(end - now));
}

/**
 * Monotonic time until which every value of a hold is surely kept: a value that other holds are about as well is kept
 * for as long as the longest of them.
 */
export function valuesHeldUntil(holds: readonly Hold[], { values }: Hold): number {
  let first = Infinity;
  for (const field of values?.fields ?? []) {
    let last = 0;
    for (const hold of holds) {
      if (hold.values?.fields.includes(field) === true) last = Math.max(last, hold.deadline ?? 0);
    }
    first = Math.min(first, last);
  }
  return first;
}

/** The holds whose time is over. */
export function overdueHolds({ holds }: Ownership, now: number): Hold[] {
  return holds.filter((hold) => valuesHeldUntil(holds, hold) <= now);
}

/** Redis confirmed that it keeps the values of these holds until `deadline` (monotonic). */
export function confirmValues(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
  for (const hold of holds) hold.deadline = Math.max(hold.deadline ?? 0, Math.min(deadline, hold.leaseEnd));
  countDeadline(ownership);
}

/** A renewal was confirmed: {@link confirmValues} of the holds without a lease. */
export function confirmRenewal(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
  confirmValues(
    ownership,
    holds.filter(({ leaseMs }) => leaseMs === -1),
    deadline,
  );
}

/** The deadline of an ownership with values is the first at which one of its holds is over. */
export function countDeadline(ownership: Ownership): void {
  const { holds } = ownership;
  let first = Infinity;
  for (const hold of holds) first = Math.min(first, valuesHeldUntil(holds, hold));
  ownership.deadline = first;
}
