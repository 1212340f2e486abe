import { readableTime } from '../../util/readableTime';
import { hasNumber } from './describe';
import type { HolderReport, Unjudged, Verdict } from './reports';
import type { History } from './seen';
import { verdictOf } from './verdict';
import { LONG_MS, type WhoWaits } from './whoWaits';

/** What is known of an object besides its data. */
export interface Known {
  /** When the report was true, in ms since 1970. */
  readonly now: number;
  /** What earlier scans have seen, if there were any. */
  readonly watched?: History | undefined;
  /** The answers of the clients, if they were asked. */
  readonly whoWaits?: Pick<WhoWaits, 'verdictOf'> | undefined;
  /** Whether long waits for this name are no trouble: the standby of a leader. */
  readonly isExpected?: boolean;
}

/** The verdict on an object: the only place that makes one, for the command line, the page and the API. */
export function judge(report: Unjudged, known: Known): Verdict {
  const { now, watched, whoWaits } = known;
  const byData = verdictOf(report, { now, watched });
  return judgeWaits(report, whoWaits?.verdictOf(report, byData, watched) ?? byData, known);
}

/** A sentence names at most this many processes. */
const NAMED = 3;

/**
 * Whether somebody waits in vain: behind a live holder that renews, or for permits or a latch whose holders nobody
 * knows.
 *
 * @param verdict - as far as it is known without the waits
 */
function judgeWaits(report: Unjudged, verdict: Verdict, { now, watched, isExpected }: Known): Verdict {
  const { holders, kind, waiters, waiting } = report;
  // That there are waiters all the time says nothing of a semaphore: each may wait for a moment.
  const waitedSince = hasNumber(kind) ? waiting?.[0]?.since : waitedSinceOf(report, watched);
  if (waiters === 0 || waitedSince === undefined || waitedSince > now - LONG_MS) return verdict;
  const waited = readableTime(now - waitedSince);
  const expected = { ...verdict, sentence: `${verdict.sentence} A caller has waited for ${waited}, as expected.` };
  if (verdict.kind !== 'held' && verdict.kind !== 'free') return verdict;
  if (hasNumber(kind)) {
    if (isExpected === true) return expected;
    return { ...verdict, sentence: `${verdict.sentence} A caller has waited for ${waited}.`, amber: true };
  }
  const isRenewed = holders.every((one) => {
    // Since when a client that has never answered has the lock is unknown, but not that its thread renews it.
    if (one.hold === undefined && one.silent === true && one.process.watchdogIdleMs !== undefined) return true;
    const since = one.hold?.since ?? watched?.heldSince ?? now;
    const isKept = one.hold === undefined ? watched?.renewedAt !== undefined : one.hold.leaseMs === -1;
    return isKept && since <= now - LONG_MS;
  });
  if (verdict.kind !== 'held' || holders.length === 0 || !isRenewed) return verdict;
  if (isExpected === true) return expected;
  return { kind: 'stuck', sentence: stuckSentence(holders, waited, watched?.heldSince, now) };
}

/** Since when somebody waits, in ms since 1970: as reported by the longest waiter, else as seen. */
export function waitedSinceOf({ waiting }: Unjudged, watched: History | undefined): number | undefined {
  return waiting?.[0]?.since ?? watched?.waitedSince;
}

function stuckSentence(
  holders: readonly HolderReport[],
  waited: string,
  seenSince: number | undefined,
  now: number,
): string {
  const [{ hold, waitsFor, silentSince }] = holders as [HolderReport];
  const processes = [...new Set(holders.map(processText))];
  const waits = `while a caller has waited for ${waited}. It will not end by itself: check`;
  const sinceOf = ({ hold: one }: HolderReport): number | undefined => one?.since ?? seenSince;
  if (processes.length > 1) {
    const shown = processes.slice(0, NAMED).join(', ');
    const youngest = Math.max(...holders.map((one) => sinceOf(one) ?? now));
    const more = processes.length > NAMED ? ` and ${processes.length - NAMED} more` : '';
    return `Held by ${processes.length} live processes, by each for ${readableTime(now - youngest)} or longer, ${waits} ${shown}${more}.`;
  }
  const at = hold?.callSite === undefined ? '' : `, at ${hold.callSite}`;
  const itself = waitsFor === undefined ? '' : ' It waits for something itself: see there.';
  const times = hold === undefined ? '' : ` ${hold.renewals} ${hold.renewals === 1 ? 'time' : 'times'}`;
  const since = sinceOf(holders[0]!);
  const held = since === undefined ? 'Held' : `Held for ${readableTime(now - since)}`;
  if (silentSince !== undefined) {
    const silent = `its main loop has been silent for ${readableTime(now - silentSince)}`;
    return `${held} by a live process that still renews it; ${silent}, ${waits} ${processes[0]}${at}.${itself}`;
  }
  return `${held} by a live process that has renewed it${times}, ${waits} ${processes[0]}${at}.${itself}`;
}

function processText({ process: { host, pid } }: HolderReport): string {
  return host === undefined ? 'its holder' : `process ${pid} on ${host}`;
}
