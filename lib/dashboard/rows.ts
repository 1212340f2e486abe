import { createHash } from 'node:crypto';
import type { HolderReport, ObjectReport, OwnerReport, WaiterReport } from '../inspection';
import type { HolderView, LockDetail, LockEvent, LockRow, OwnerView, QueuedView } from './wire';

/** Holders of a line of the list. */
const ROW_HOLDERS = 3;
/** Holders and waiters of the full view: who wants more asks the command line. */
const DETAIL_OWNERS = 200;
const DETAIL_PERMITS = 200;
const MAX_CHANNELS = 200;
/** Names are anybody's input, and may be as long as a key. */
const MAX_NAME = 1_000;
/** An expiry that has moved by less is the inaccuracy of the look, in ms. */
const JITTER_MS = 400;

/** What the looks at one object have told so far. */
export interface Tracked {
  readonly report: ObjectReport;
  /** When it was seen. */
  readonly at: number;
  readonly expiresAt: number | null;
  readonly leaseMs: number | null;
  readonly heldSince: number | undefined;
  readonly exact: boolean;
  readonly waitedSince: number | undefined;
}

/**
 * Adds what a look has told.
 * @param before - what was known
 * @param exactSince - since when this process holds it, where it does
 */
export function track(
  report: ObjectReport,
  at: number,
  before: Tracked | undefined,
  exactSince: number | undefined,
): Tracked {
  const sameHold = before !== undefined && holdersOf(before.report) === holdersOf(report);
  return {
    report,
    at,
    ...leaseOf(report, at, sameHold ? before : undefined),
    heldSince: report.holders.length === 0 ? undefined : (exactSince ?? report.heldSince ?? at),
    exact: exactSince !== undefined || report.holders.some(({ hold }) => hold !== undefined),
    waitedSince: report.waiters === 0 ? undefined : (report.waiting?.[0]?.since ?? before?.waitedSince ?? at),
  };
}

function leaseOf(
  { ttlMs }: ObjectReport,
  at: number,
  before: Tracked | undefined,
): Pick<Tracked, 'expiresAt' | 'leaseMs'> {
  if (ttlMs < 0) return { expiresAt: null, leaseMs: null };
  const end = at + ttlMs;
  const known = before?.expiresAt ?? null;
  const expiresAt = known !== null && Math.abs(end - known) < JITTER_MS ? known : end;
  return { expiresAt, leaseMs: Math.max(ttlMs, before?.leaseMs ?? 0) };
}

/** Who holds it, as one text. */
export function holdersOf({ holders }: ObjectReport): string {
  return holders
    .map(({ owner }) => owner)
    .sort()
    .join();
}

/** Of a name that is too long its beginning, and what tells it from others that begin so. */
function shownName(name: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - 20)}… (${createHash('sha1').update(name).digest('hex').slice(0, 12)})`;
}

/** The line of an object in the list. */
export function rowOf(tracked: Tracked): LockRow {
  const { report, at, expiresAt, leaseMs, heldSince, exact, waitedSince } = tracked;
  const { name, kind, mode, verdict, waiters, holders, token, value, acquired } = report;
  return {
    name: shownName(name),
    ...(name.length > MAX_NAME && { fullLength: name.length }),
    kind,
    ...(mode !== undefined && { mode }),
    verdict: {
      kind: verdict.kind,
      sentence: verdict.sentence,
      ...(verdict.endsAt !== undefined && { endsAt: verdict.endsAt }),
    },
    expiresAt,
    leaseMs,
    ...(heldSince !== undefined && { heldSince }),
    ...(exact && { exact }),
    waiters: waiters === 0 ? 0 : Math.max(waiters, callersOf(report)),
    ...(waitedSince !== undefined && { waitedSince }),
    holders: holders.slice(0, ROW_HOLDERS).map((one) => holderView(one, at)),
    holderCount: holders.length,
    ...(token !== undefined && { token }),
    ...(value !== undefined && { value }),
    ...(acquired !== undefined && { acquired }),
  };
}

/** How many callers wait, as far as their processes have said. */
function callersOf({ waiting = [] }: ObjectReport): number {
  return waiting.reduce((sum, { callers }) => sum + callers, 0);
}

/** All about an object. */
export function detailOf(tracked: Tracked, events: readonly LockEvent[]): LockDetail {
  const { report, at } = tracked;
  const { key, holders, queue, permits, channels, waiting, verdict } = report;
  const { circle } = verdict;
  return {
    ...rowOf(tracked),
    key: key.slice(0, MAX_NAME),
    holders: holders.slice(0, DETAIL_OWNERS).map((one) => holderView(one, at)),
    ...(queue !== undefined && { queue: queue.slice(0, DETAIL_OWNERS).map((one) => queuedView(one, at)) }),
    ...(waiting !== undefined && { waiting: waiting.slice(0, DETAIL_OWNERS) }),
    ...(circle !== undefined && {
      circle: circle.map((link) => ({ ...link, name: shownName(link.name), waitsFor: shownName(link.waitsFor) })),
    }),
    ...(permits !== undefined && {
      permits: permits
        .slice(0, DETAIL_PERMITS)
        .map(({ id, remainingMs }) => ({ id, endsAt: remainingMs === null ? null : at + remainingMs })),
    }),
    channels: channels.slice(0, MAX_CHANNELS).map((one) => ({ ...one, name: one.name.slice(0, MAX_NAME) })),
    events,
  };
}

function holderView(holder: HolderReport, at: number): HolderView {
  const { holdCount, mode, leasesMs, hold, silent } = holder;
  return {
    ...ownerView(holder, at),
    holdCount,
    ...(hold !== undefined && { hold }),
    ...(silent && { silent }),
    ...(mode !== undefined && { mode }),
    ...(leasesMs !== undefined && {
      endsAt: leasesMs.filter((one) => one !== -2).map((ms) => (ms < 0 ? null : at + ms)),
    }),
  };
}

function queuedView(waiter: WaiterReport, at: number): QueuedView {
  const { remainingMs, listening } = waiter;
  return { ...ownerView(waiter, at), keptUntil: remainingMs === null ? null : at + remainingMs, listening };
}

function ownerView({ owner, clientId, threadId, client, process }: OwnerReport, at: number): OwnerView {
  const { connectedForMs, ...rest } = process;
  return {
    owner: owner.slice(0, MAX_NAME),
    clientId,
    threadId,
    client,
    process: { ...rest, ...(connectedForMs !== undefined && { connectedSince: at - connectedForMs }) },
  };
}
