import { lossBetween } from './losses';
import type { LossReport, ObjectReport, Unjudged } from './reports';
import type { History, LastSeen, Scan, Sighting } from './seen';
import { runsOf } from './servers';

/** An expiry that moves by less than this, in ms, has not changed: our clock and the network are not more exact. */
const SAME_END_MS = 500;

/** How a scan differs from the one before. */
export interface Difference {
  readonly added: readonly ObjectReport[];
  readonly changed: readonly ObjectReport[];
  readonly removed: readonly { readonly name: string; readonly key: string }[];
  /** What a restart or a failover between the two has lost. */
  readonly lost: LossReport | undefined;
}

/**
 * What the scans of one watch have seen.
 *
 * A scan during which a server was restarted or failed over shows the data of both: it is not compared with anything,
 * but repeated. So what a change of servers has lost is the difference of two complete scans, however long Redis was
 * away.
 */
export class Sightings {
  #last: LastSeen = new Map();
  #scan: Scan | undefined;
  /** The servers after the last scan, complete or not. */
  #runs: string | undefined;

  /** The last complete scan; empty before. */
  get last(): LastSeen {
    return this.#last;
  }

  /** The history of an object after one more report. */
  historyOf(report: Unjudged, at: number): History {
    return historyOf(this.#last.get(report.key), report, at);
  }

  /** @returns `undefined`: the servers have changed during the scan, or just before. Scan again */
  saw(scan: Scan, at: number): Difference | undefined {
    const runs = runsOf(scan.servers);
    const isTorn = this.#runs !== undefined && this.#runs !== runs;
    this.#runs = runs;
    if (isTorn) return undefined;
    const offsets = new Map(scan.servers.all.map(({ address, offset }) => [address, offset]));
    const added: ObjectReport[] = [];
    const changed: ObjectReport[] = [];
    const seen = new Map<string, Sighting>();
    for (const report of scan.reports) {
      const before = this.#last.get(report.key);
      const isNews = before === undefined || isOther(before, report, at);
      // The next scan is compared with the last change.
      const told = isNews ? { report, at } : { report: before.report, at: before.at };
      const isSame = before !== undefined && holdsOf(before.report) === holdsOf(report);
      const address = scan.addresses.get(report.key) ?? '';
      const { scans, offset } = isSame ? before : { scans: 0, offset: offsets.get(address) ?? 0 };
      seen.set(report.key, { ...told, ...historyOf(before, report, at), address, scans: scans + 1, offset });
      if (before === undefined) added.push(report);
      else if (isNews) changed.push(report);
    }
    const removed = [...this.#last.values()]
      .map(({ report: { name, key } }) => ({ name, key }))
      .filter(({ key }) => !seen.has(key));
    const lost = this.#scan && lossBetween(this.#last, seen, this.#scan, scan, at);
    this.#last = seen;
    this.#scan = scan;
    return { added, changed, removed, lost };
  }
}

/** The owners and their hold counts: they stay the same while a lock is only renewed. */
function holdsOf({ holders }: Unjudged): string {
  return JSON.stringify(holders.map(({ owner, holdCount }) => [owner, holdCount]));
}

function historyOf(before: Sighting | undefined, report: Unjudged, at: number): History {
  const isSame = before !== undefined && holdsOf(before.report) === holdsOf(report);
  const isHeld = report.holders.length > 0;
  const movedBy = isSame && before.report.ttlMs >= 0 && report.ttlMs >= 0 ? moved(before, report, at) : 0;
  const told = report.waiting?.[0]?.since;
  return {
    heldSince: !isHeld ? undefined : isSame ? before.heldSince : at,
    waitedSince: report.waiters === 0 ? undefined : (told ?? before?.waitedSince ?? at),
    renewedTo: isSame ? renewedTo(before, report, movedBy) : undefined,
    renewedAt: !isSame ? undefined : movedBy > SAME_END_MS ? at : before.renewedAt,
  };
}

/** By how much the expiry has moved, in ms. */
function moved(before: Sighting, report: Unjudged, at: number): number {
  return at + report.ttlMs - (before.at + before.report.ttlMs);
}

/**
 * A watchdog renews when a third of its timeout has passed, so it moves the expiry by that third. Another distance
 * means that a holder took the lock again with a lease, or changed the lease. That holder will not renew it.
 */
function renewedTo(before: Sighting, report: Unjudged, movedBy: number): number | undefined {
  if (before.report.ttlMs < 0 || report.ttlMs < 0) return undefined;
  if (Math.abs(movedBy) <= SAME_END_MS) return before.renewedTo;
  const thirds = report.ttlMs / movedBy;
  return thirds > 1.8 && thirds < 3.3 ? Math.max(report.ttlMs, before.renewedTo ?? 0) : undefined;
}

/** Whether a report differs from the one before. */
function isOther(before: Sighting, report: ObjectReport, at: number): boolean {
  if (stable(before.report) !== stable(report)) return true;
  const [then, now] = [endsOf(before.report, before.at), endsOf(report, at)];
  return then.length !== now.length || then.some((end, i) => Math.abs(end - now[i]!) > SAME_END_MS);
}

const TIMES = new Set([
  ...['ttlMs', 'remainingMs', 'leasesMs', 'connectedForMs', 'sentence', 'endsAt', 'heldSince', 'waitedSince'],
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
