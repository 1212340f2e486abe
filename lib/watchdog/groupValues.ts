import type { Hold, Ownership } from './Ownership';

/**
 * Holds of a group lock. A thread has one ownership per group. It may hold several sets of the group's values, each
 * with its own lease, and a value may be in more than one set. Each hold has its values, and the time until which it
 * keeps them.
 */

/** How many of the holds cover a value. */
export function holdsOfValue(holds: readonly Hold[], field: string): number {
  let count = 0;
  for (const { values } of holds) if (values?.fields.includes(field) === true) count++;
  return count;
}

/** Whether a hold covers one of these values. */
export function sharesValue(hold: Hold, fields: readonly string[]): boolean {
  return hold.values?.fields.some((field) => fields.includes(field)) === true;
}

/** How long Redis must keep a value for these holds, in ms from `now`; 0 if none covers it. */
export function valueRemainingMs(holds: readonly Hold[], field: string, now: number): number {
  let end = 0;
  for (const hold of holds) {
    if (hold.values?.fields.includes(field) !== true) continue;
    end = Math.max(end, hold.leaseMs === -1 ? now + hold.watchdogMs : hold.leaseEnd);
  }
  return Math.max(0, Math.ceil(end - now));
}

/**
 * Monotonic time until which Redis certainly keeps every value of a hold. A value that several holds cover is kept
 * until the last of their deadlines.
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

/** The holds that have a value which Redis no longer certainly keeps. */
export function overdueHolds({ holds }: Ownership, now: number): Hold[] {
  return holds.filter((hold) => valuesHeldUntil(holds, hold) <= now);
}

/** Redis confirmed that it keeps the values of these holds until `deadline` (monotonic). */
export function confirmValues(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
  for (const hold of holds) hold.deadline = Math.max(hold.deadline ?? 0, Math.min(deadline, hold.leaseEnd));
  countDeadline(ownership);
}

/** A renewal was confirmed: {@link confirmValues} for the holds without a lease. */
export function confirmRenewal(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
  confirmValues(
    ownership,
    holds.filter(({ leaseMs }) => leaseMs === -1),
    deadline,
  );
}

/** Sets the deadline of an ownership with values: the earliest time at which one of its holds ends. */
export function countDeadline(ownership: Ownership): void {
  const { holds } = ownership;
  let first = Infinity;
  for (const hold of holds) first = Math.min(first, valuesHeldUntil(holds, hold));
  ownership.deadline = first;
}
