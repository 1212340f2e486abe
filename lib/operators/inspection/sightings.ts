import type { ObjectReport } from './reports';
import type { Unjudged } from './verdict';

/** An expiry that moves by less than this, in ms, has not changed: our clock and the network are not more exact. */
const SAME_END_MS = 500;

/** What several scans have shown of an object. */
export interface History {
  /** Since when the same owners hold it, in ms since 1970. */
  readonly heldSince: number | undefined;
  /** The ttl after a renewal that was seen, in ms. `undefined`: none was seen, or the lease was changed since. */
  readonly renewedTo: number | undefined;
}

/** The last report of an object, and when it was made, in ms since 1970. */
export interface Sighting extends History {
  readonly at: number;
  readonly report: ObjectReport;
}

/** The results of the last scan, by key. */
export type LastSeen = ReadonlyMap<string, Sighting>;

/** The owners and their hold counts: they stay the same while a lock is only renewed. */
function holdsOf({ holders }: Unjudged): string {
  return JSON.stringify(holders.map(({ owner, holdCount }) => [owner, holdCount]));
}

/** The history of an object after one more scan. */
export function historyOf(before: Sighting | undefined, report: Unjudged, at: number): History {
  const isSame = before !== undefined && holdsOf(before.report) === holdsOf(report);
  const isHeld = report.holders.length > 0;
  const heldSince = !isHeld ? undefined : isSame ? before.heldSince : at;
  return { heldSince, renewedTo: isSame ? renewedTo(before, report, at) : undefined };
}

/**
 * A watchdog renews when a third of its timeout has passed, so it moves the expiry by that third. Another distance
 * means that a holder took the lock again with a lease, or changed the lease. That holder will not renew it.
 */
function renewedTo(before: Sighting, report: Unjudged, at: number): number | undefined {
  if (before.report.ttlMs < 0 || report.ttlMs < 0) return undefined;
  const movedBy = endOf(report, at) - endOf(before.report, before.at);
  if (Math.abs(movedBy) <= SAME_END_MS) return before.renewedTo;
  const thirds = report.ttlMs / movedBy;
  return thirds > 1.8 && thirds < 3.3 ? Math.max(report.ttlMs, before.renewedTo ?? 0) : undefined;
}

function endOf({ ttlMs }: Unjudged, at: number): number {
  return at + ttlMs;
}

/** Whether a report differs from the one before. */
export function isOther(before: Sighting, report: ObjectReport, at: number): boolean {
  if (stable(before.report) !== stable(report)) return true;
  const [then, now] = [endsOf(before.report, before.at), endsOf(report, at)];
  return then.length !== now.length || then.some((end, i) => Math.abs(end - now[i]!) > SAME_END_MS);
}

const TIMES = new Set([
  ...['ttlMs', 'remainingMs', 'leasesMs', 'connectedForMs', 'sentence', 'endsAt', 'heldSince'],
  // Reported by the clients themselves.
  ...['since', 'renewals', 'delayMs', 'utilization'],
]);

/** A report without the fields that change as time passes. */
function stable(report: ObjectReport): string {
  return JSON.stringify(report, (key, value: unknown) => (TIMES.has(key) ? undefined : value));
}

/** When the key, leases, queue places and permits expire. Negative times stay as they are: they do not run down. */
function endsOf({ ttlMs, holders, queue = [], permits = [] }: ObjectReport, at: number): number[] {
  const left = [
    ttlMs,
    ...holders.flatMap(({ leasesMs = [] }) => leasesMs),
    ...[...queue, ...permits].map(({ remainingMs }) => remainingMs ?? -1),
  ];
  return left.map((ms) => (ms >= 0 ? at + ms : ms));
}
