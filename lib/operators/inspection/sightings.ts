import type { ObjectReport } from './reports';
import type { Unjudged } from './verdict';

/** An end that moves by less, in ms, is the same: our clock and the way to Redis are not that exact. */
const SAME_END_MS = 500;

/** What several looks at an object have told. */
export interface History {
  /** Since when the same owners have it, in ms since 1970. */
  readonly heldSince: number | undefined;
  /** The ttl that a watchdog was seen to renew it to, in ms; `undefined` where no renewal was seen, or another lease since. */
  readonly renewedTo: number | undefined;
}

/** What was told of an object, and when, in ms since 1970. */
export interface Sighting extends History {
  readonly at: number;
  readonly report: ObjectReport;
}

/** What was seen last, by key. */
export type LastSeen = ReadonlyMap<string, Sighting>;

/** Whose it is, and how often: what stays the same while it is only renewed. */
function holdsOf({ holders }: Unjudged): string {
  return JSON.stringify(holders.map(({ owner, holdCount }) => [owner, holdCount]));
}

/** What is known of an object after one more look. */
export function historyOf(before: Sighting | undefined, report: Unjudged, at: number): History {
  const isSame = before !== undefined && holdsOf(before.report) === holdsOf(report);
  const isHeld = report.holders.length > 0;
  const heldSince = !isHeld ? undefined : isSame ? before.heldSince : at;
  return { heldSince, renewedTo: isSame ? renewedTo(before, report, at) : undefined };
}

/**
 * A watchdog renews when a third of its timeout has passed: it moves the end by that third. Whoever takes a lock again
 * with a lease, or sets another one, moves it by anything else, and will not renew it.
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

/** Whether a report tells something that the one before did not. */
export function isOther(before: Sighting, report: ObjectReport, at: number): boolean {
  if (stable(before.report) !== stable(report)) return true;
  const [then, now] = [endsOf(before.report, before.at), endsOf(report, at)];
  return then.length !== now.length || then.some((end, i) => Math.abs(end - now[i]!) > SAME_END_MS);
}

const TIMES = new Set([
  ...['ttlMs', 'remainingMs', 'leasesMs', 'connectedForMs', 'sentence', 'endsAt', 'heldSince'],
  // What the clients say of themselves.
  ...['since', 'renewals', 'delayMs', 'utilization'],
]);

/** A report without what runs with the time. */
function stable(report: ObjectReport): string {
  return JSON.stringify(report, (key, value: unknown) => (TIMES.has(key) ? undefined : value));
}

/** When what a report tells of comes to its end; times that do not run are left as they are. */
function endsOf({ ttlMs, holders, queue = [], permits = [] }: ObjectReport, at: number): number[] {
  const left = [
    ttlMs,
    ...holders.flatMap(({ leasesMs = [] }) => leasesMs),
    ...[...queue, ...permits].map(({ remainingMs }) => remainingMs ?? -1),
  ];
  return left.map((ms) => (ms >= 0 ? at + ms : ms));
}
