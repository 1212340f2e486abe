import { createHash } from 'node:crypto';
import { given } from '../../util/collections';
import {
  type HolderReport,
  type ObjectReport,
  type OwnerReport,
  waitersOf,
  type WaiterReport,
  type WaitingProcess,
} from '../inspection';
import { forcedActionsOf } from '../inspection/remedies';
import type { HolderView, LockDetail, LockEvent, LockRow, OwnerView, QueuedView } from './wire';

/** How many holders a row of the list shows. */
const ROW_HOLDERS = 3;
/** How many holders and waiters the full view shows; the command line shows more. */
const DETAIL_OWNERS = 200;
const DETAIL_PERMITS = 200;
const MAX_CHANNELS = 200;
/** Anyone may choose a name, and it may be as long as a key. */
const MAX_NAME = 1_000;
/** An expiry that has moved by less than this is inaccuracy of the scan, in ms. */
const JITTER_MS = 400;

/** What the scans have found out about one object so far. */
export interface Tracked {
  readonly report: ObjectReport;
  /** When it was read, in ms since 1970. */
  readonly at: number;
  readonly expiresAt: number | null;
  readonly leaseMs: number | null;
  readonly heldSince: number | undefined;
  readonly exact: boolean;
  readonly waitedSince: number | undefined;
  /** By owner: the line of code that took the lock, as its client last reported it. */
  readonly callSites: ReadonlyMap<string, string>;
}

/** A report of one object, and when it was made, in ms since 1970. */
export type Fresh = Pick<Tracked, 'report' | 'at'>;

const NO_LINES: ReadonlyMap<string, string> = new Map();

/**
 * Adds the result of a scan.
 * @param before - what was known
 * @param exactSince - when the hold of this process began, if it has one
 */
export function track({ report, at }: Fresh, before: Tracked | undefined, exactSince: number | undefined): Tracked {
  const sameHold = before !== undefined && holdersOf(before.report) === holdersOf(report);
  const isTold = exactSince !== undefined || report.holders.some(({ hold }) => hold !== undefined);
  // What a holder has reported stays true when it no longer answers: it is frozen, or gone.
  const wasTold = !isTold && sameHold && before.exact;
  return {
    report,
    at,
    ...leaseOf(report, at, sameHold ? before : undefined),
    heldSince:
      report.holders.length === 0
        ? undefined
        : wasTold
          ? before.heldSince
          : steady(exactSince ?? report.heldSince ?? at, sameHold ? before.heldSince : undefined),
    exact: isTold || wasTold,
    callSites: wasTold ? before.callSites : callSitesOf(report),
    waitedSince:
      report.waiters === 0
        ? undefined
        : steady(report.waitedSince ?? report.waiting?.[0]?.since ?? before?.waitedSince ?? at, before?.waitedSince),
  };
}

function callSitesOf({ holders }: ObjectReport): ReadonlyMap<string, string> {
  const found = holders.flatMap(({ owner, hold }): [string, string][] =>
    hold?.callSite === undefined ? [] : [[owner, hold.callSite]],
  );
  return found.length === 0 ? NO_LINES : new Map(found);
}

/** Each answer differs a little: rows of the list must not change places for that. */
function steady(since: number, before: number | undefined): number {
  return before !== undefined && Math.abs(since - before) < JITTER_MS ? before : since;
}

function leaseOf({ ttlMs }: ObjectReport, at: number, before: Tracked | undefined) {
  if (ttlMs < 0) return { expiresAt: null, leaseMs: null };
  const end = at + ttlMs;
  const known = before?.expiresAt ?? null;
  const expiresAt = known !== null && Math.abs(end - known) < JITTER_MS ? known : end;
  return { expiresAt, leaseMs: Math.max(ttlMs, before?.leaseMs ?? 0) };
}

/**
 * Adds the holders' answers from a read of this one lock: the watch asks the holders only if it has waiters.
 * @param known - what the watch knows
 * @param exactSince - as for {@link track}
 */
export function withAnswers(known: Tracked, { report, at }: Fresh, exactSince: number | undefined): Tracked {
  const { permits, holders, heldSince, waiting, verdict } = report;
  const all = permits === undefined ? known : { ...known, report: { ...known.report, permits } };
  const isAnswered = holders.some(({ hold, silent }) => hold !== undefined || silent === true);
  if (!isAnswered || holdersOf(known.report) !== holdersOf(report)) return all;
  // Only several scans can show that the lock is no longer renewed.
  const isEnding =
    known.report.verdict.kind === 'not-renewed' && at + report.ttlMs < (known.expiresAt ?? 0) + JITTER_MS;
  if (at >= known.at) {
    const seen = isEnding ? { ...report, verdict: known.report.verdict } : report;
    return track({ report: seen, at }, known, exactSince);
  }
  if (known.report.holders.some(({ hold }) => hold !== undefined)) return all;
  const { kind, endsAt } = known.report.verdict;
  const end = endsAt === undefined ? {} : { endsAt };
  const answers = new Map(holders.map((one) => [one.owner, one]));
  const said = {
    ...all.report,
    // Only what does not change with time.
    holders: all.report.holders.map((one) => {
      const { hold, waitsFor, silent, silentSince } = answers.get(one.owner) ?? one;
      return given({ ...one, hold, waitsFor, silent, silentSince });
    }),
    ...(heldSince !== undefined && { heldSince }),
    ...(waiting !== undefined && { waiting }),
    ...(kind === verdict.kind && { verdict: { ...verdict, ...end } }),
  };
  return { ...track({ report: said, at: known.at }, known, exactSince), expiresAt: known.expiresAt };
}

/** The holders, as one text. */
export function holdersOf({ holders }: ObjectReport): string {
  return holders
    .map(({ owner }) => owner)
    .sort()
    .join();
}

/** Shortens a name that is too long to its beginning and a hash. */
function shownName(name: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - 20)}… (${createHash('sha1').update(name).digest('hex').slice(0, 12)})`;
}

/** The row of an object in the list. */
export function rowOf(tracked: Tracked): LockRow {
  const { report, at, expiresAt, leaseMs, heldSince, exact, waitedSince } = tracked;
  const { name, kind, mode, verdict, holders, token, value, acquired } = report;
  const { circle: _circle, ...said } = verdict;
  return given({
    name: shownName(name),
    fullLength: name.length > MAX_NAME ? name.length : undefined,
    kind,
    mode,
    verdict: said,
    expiresAt,
    leaseMs,
    heldSince,
    exact: exact || undefined,
    waiters: waitersOf(report),
    waitedSince,
    exactWait: report.waiting && (true as const),
    holders: holders.slice(0, ROW_HOLDERS).map((one) => holderView(one, at)),
    holderCount: holders.length,
    token,
    value,
    acquired,
  });
}

/** All details of an object. */
export function detailOf(tracked: Tracked, events: readonly LockEvent[]): LockDetail {
  const { report, at } = tracked;
  const { key, holders, queue, permits, channels, waiting, verdict } = report;
  return given({
    ...rowOf(tracked),
    key: key.slice(0, MAX_NAME),
    holders: holders.slice(0, DETAIL_OWNERS).map((one) => holderView(one, at, tracked.callSites.get(one.owner))),
    queue: queue?.slice(0, DETAIL_OWNERS).map((one) => queuedView(one, at)),
    waiting: waiting && waitingView(waiting, tracked.waitedSince),
    circle: verdict.circle?.map((link) => ({
      ...link,
      name: shownName(link.name),
      waitsFor: shownName(link.waitsFor),
    })),
    permits: permits?.slice(0, DETAIL_PERMITS).map(({ id, remainingMs }) => ({ id, endsAt: endOf(remainingMs, at) })),
    actions: forcedActionsOf(report.kind),
    channels: channels.slice(0, MAX_CHANNELS).map((one) => ({ ...one, name: one.name.slice(0, MAX_NAME) })),
    events,
  });
}

/** The first process has waited longest: it gets the time that the row shows. */
function waitingView(waiting: readonly WaitingProcess[], waitedSince: number | undefined): readonly WaitingProcess[] {
  const [first, ...others] = waiting.slice(0, DETAIL_OWNERS);
  return first === undefined ? [] : [{ ...first, since: waitedSince ?? first.since }, ...others];
}

function holderView(holder: HolderReport, at: number, callSite?: string): HolderView {
  const { holdCount, mode, leasesMs, hold, waitsFor, silent, silentSince } = holder;
  return given({
    ...ownerView(holder, at),
    holdCount,
    hold,
    callSite,
    waitsFor: waitsFor && { ...waitsFor, name: shownName(waitsFor.name) },
    silent,
    silentSince,
    mode,
    endsAt: leasesMs?.filter((one) => one !== -2).map((ms) => (ms < 0 ? null : at + ms)),
  });
}

function queuedView(waiter: WaiterReport, at: number): QueuedView {
  const { remainingMs, listening } = waiter;
  return { ...ownerView(waiter, at), keptUntil: endOf(remainingMs, at), listening };
}

/** When something ends that has this time left; `null`: unknown, or never. */
function endOf(remainingMs: number | null, at: number): number | null {
  return remainingMs === null ? null : at + remainingMs;
}

function ownerView({ owner, clientId, threadId, client, process }: OwnerReport, at: number): OwnerView {
  const { connectedForMs, watchdogIdleMs: _idle, ...rest } = process;
  return {
    owner: owner.slice(0, MAX_NAME),
    clientId,
    threadId,
    client,
    process: given({ ...rest, connectedSince: connectedForMs === undefined ? undefined : at - connectedForMs }),
  };
}
