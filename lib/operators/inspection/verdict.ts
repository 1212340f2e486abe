import { readableTime } from '../../util/readableTime';
import type { HolderReport, Unjudged, UnknownReason, Verdict } from './reports';
import type { History } from './seen';

/** What a verdict needs besides the report. */
export interface VerdictFacts {
  /** When the report was true, in ms since 1970. */
  readonly now: number;
  /** What earlier scans have seen. Its `renewedTo` stands for the watchdog's timeout, which is not in Redis. */
  readonly watched: History | undefined;
}

/** A renewal may be late by this fraction of the watchdog's timeout: a busy process is not stuck. */
const LATE = 1 / 4;
/** A watchdog renews when a third of its timeout has passed. What is left of its timeout before it is late. */
const LEFT = 2 / 3 - LATE;

/** Judges an object by its data. */
export function verdictOf(report: Unjudged, facts: VerdictFacts): Verdict {
  switch (report.kind) {
    case 'none':
      return { kind: 'free', sentence: 'Nothing is held by that name.' };
    case 'other':
      return { kind: 'wrong-type', sentence: 'The key holds data that are no lock or synchronizer.' };
    case 'lock':
    case 'fair':
    case 'fenced':
    case 'readWrite':
    case 'group':
      return ofLock(report, facts);
    case 'semaphore':
      return Number(report.value) > 0
        ? { kind: 'free', sentence: `${amount(report.value, 'permit')} left; ${waiting(report)}.` }
        : { kind: 'held', sentence: `No permit is left; ${waiting(report)}. ${whoHasPermits(report)}` };
    case 'permitExpirableSemaphore':
      return ofPermits(report);
    case 'countDownLatch':
      return Number(report.value) > 0
        ? { kind: 'held', sentence: `The latch is closed: ${amount(report.value, 'count')} to go; ${waiting(report)}.` }
        : { kind: 'free', sentence: 'The latch is open.' };
    case 'number':
      return {
        kind: 'free',
        sentence: 'A number with no waiters: a semaphore, a latch, or any counter; they look alike.',
      };
  }
}

/** Only clients know who holds permits, and only if they release them through a hold. */
function whoHasPermits({ holders }: Unjudged): string {
  if (holders.length === 0) return 'Redis does not record who holds permits, and no process reports having one.';
  return 'The holders shown have reported themselves; there may be others.';
}

function ofPermits(report: Unjudged): Verdict {
  const out = report.acquired ?? 0;
  const withoutLease = report.permits?.filter(({ remainingMs }) => remainingMs === null).length ?? 0;
  const forever = withoutLease === 0 ? '' : ` ${withoutLease} of them without a lease: they end only when given back.`;
  const who = out > 0 && (report.waiters > 0 || report.holders.length > 0) ? ` ${whoHasPermits(report)}` : '';
  const sentence = `${amount(out, 'permit')} out, ${report.value} left; ${waiting(report)}.${forever}${who}`;
  return { kind: Number(report.value) > 0 ? 'free' : 'held', sentence };
}

function ofLock(report: Unjudged, facts: VerdictFacts): Verdict {
  const { holders, ttlMs, waiters } = report;
  if (holders.length === 0) {
    const queue = report.kind === 'fair' && waiters > 0 ? `, ${waiters} in its queue` : '';
    return { kind: 'free', sentence: `Nobody holds it${queue}.` };
  }
  const gone = holders.filter(({ process }) => process.connected === false).length;
  const there = holders.filter(({ process }) => process.connected === true).length;
  const who = whoText(holders, { gone, there });
  const silent = holders.filter((one) => one.silent === true);
  const noAnswer = silent.length === 0 ? '' : ` ${silentText(holders, silent, facts.now)}`;
  if (ttlMs === -1) {
    const end = 'it never expires: it is held until released';
    return { kind: 'no-expiry', sentence: `${who}, and ${end}.${noAnswer}` };
  }
  const ends = { endsAt: Math.round(facts.now + Math.max(ttlMs, 0)) };
  const when = `in ${readableTime(Math.max(ttlMs, 0))}, at ${new Date(ends.endsAt).toISOString().slice(0, 19)}Z`;
  if (gone === holders.length) {
    const back = holders.length === 1 ? 'it' : 'one';
    return { kind: 'holder-gone', sentence: `${who}. It ends ${when}, unless ${back} comes back.`, ...ends };
  }
  const { renewedTo } = facts.watched ?? {};
  if (renewedTo !== undefined && ttlMs < renewedTo * LEFT) {
    const why = 'it is no longer renewed: its event loop is blocked, or the process is stopped';
    return {
      kind: 'not-renewed',
      sentence: `${who}, but ${why}. It ends ${when}, unless it is renewed.`,
      ...ends,
    };
  }
  const keepers = silent.map((one) => keeperOf(one, ttlMs, facts.watched));
  if (keepers.includes(undefined)) {
    return { kind: 'not-renewed', sentence: `${who}; it ends ${when}, unless it is renewed.${noAnswer}`, ...ends };
  }
  const [keeper] = keepers;
  if (keeper === undefined) return { kind: 'held', sentence: `${who}${endText(holders, when)}`, ...ends };
  const since = `its main loop has been silent for ${readableTime(silentMs(silent, facts.now))}`;
  const sentence =
    keeper === 'lease'
      ? `${who}; ${since}. Its lease ends ${when}.`
      : `${who} and ${keeper}; ${since}. It ends when it is released, or ${when} unless it is renewed.`;
  return { kind: 'held', sentence, ...ends };
}

/**
 * What keeps the hold of a client that does not answer: its lease, or whoever renews it although its event loop is
 * blocked; `undefined`: nothing, as far as can be seen.
 */
function keeperOf(
  { hold, silentSince = Infinity, process }: HolderReport,
  ttlMs: number,
  watched: History | undefined,
): 'lease' | 'renewed by its watchdog thread' | 'renewed' | undefined {
  if (hold !== undefined && hold.leaseMs !== -1) return 'lease';
  const { watchdogIdleMs = Infinity } = process;
  // After the last command of its thread so much was left of the timeout.
  if (ttlMs >= (ttlMs + watchdogIdleMs) * LEFT) return 'renewed by its watchdog thread';
  return (watched?.renewedAt ?? 0) > silentSince ? 'renewed' : undefined;
}

/** For how long a holder has not answered, in ms: the one that has not for the longest. */
function silentMs(silent: readonly HolderReport[], now: number): number {
  return Math.max(...silent.map(({ silentSince = now }) => now - silentSince));
}

/** A client that was asked now for the first time has not answered for less than this, in ms: since when is unknown. */
const JUST_ASKED_MS = 3_000;

function silentText(holders: readonly HolderReport[], silent: readonly HolderReport[], now: number): string {
  const longest = silentMs(silent, now);
  const who = holders.length === 1 ? 'Its holder listens, but has' : `${silent.length} of them listen, but have`;
  const what = silent.length === 1 ? 'it is frozen, or its event loop is busy' : 'frozen, or busy event loops';
  const time = longest < JUST_ASKED_MS ? 'within 2 s' : `for ${readableTime(longest)}`;
  return `${who} not answered ${time}: ${what}.`;
}

/** How the hold ends, as far as its holders have reported. */
function endText(holders: readonly HolderReport[], when: string): string {
  const leases = holders.map(({ hold }) => hold?.leaseMs);
  if (leases.every((lease) => lease === -1)) {
    return ` and renewed: it ends when it is released, or ${when} unless it is renewed.`;
  }
  if (leases.every((lease) => lease !== undefined && lease !== null && lease > 0)) return `. Its lease ends ${when}.`;
  return `; it ends ${when}, unless ${holders.every(isDetached) ? 'its ticket is attached' : 'it is renewed'}.`;
}

/** Who holds it, and whether they are connected. */
function whoText(holders: readonly HolderReport[], { gone, there }: Record<'gone' | 'there', number>): string {
  const [first] = holders as [HolderReport];
  const { host, pid, unknownBecause = 'denied' } = first.process;
  const one = holders.length === 1;
  const name = host === undefined ? '' : `process ${pid} on ${host}`;
  const subject = one ? 'its holder' : `its ${holders.length} holders`;
  if (gone === holders.length) {
    const whose = one && name !== '' ? `, ${name},` : '';
    const unknown = one && name === '' ? '; Redis does not record which process it was' : '';
    return `Held, but ${subject}${whose} ${one ? 'is' : 'are'} not connected to Redis: ended, or cut off${unknown}`;
  }
  if (one && there === 1 && name !== '' && (first.hold !== undefined || first.silent === true)) {
    return `Held by ${name}, which is connected`;
  }
  if (there === holders.length) return `Held, and ${subject} ${one ? 'is' : 'are'} connected`;
  if (!one) {
    const parts = [`${there} connected`, `${gone} not connected`, `${holders.length - there - gone} unknown`];
    return `Held by ${holders.length} (${parts.filter((part) => !part.startsWith('0')).join(', ')})`;
  }
  if (isDetached(first)) {
    const why = 'its ticket has not been attached yet, or its work has ended and run --at-least keeps it';
    return `Held, and no process has it: ${why}`;
  }
  return `Held; whether its holder is connected is unknown (${REASONS[unknownBecause]})`;
}

function isDetached({ process }: HolderReport): boolean {
  return process.unknownBecause === 'detached';
}

const REASONS: Readonly<Record<UnknownReason, string>> = {
  java: 'a thread id as Java has them, and no connection of this package: Redisson for Java, or an explicit id',
  'other-names':
    'it may be one of the connections with a name of their own: another program, or one with the option clientName',
  unnamed:
    'it may be one of the connections without a name: another program, or a user that may not run CLIENT SETNAME',
  ambiguous: 'several processes claim its client id',
  'just-changed': 'it has just changed hands',
  detached: 'it was detached, and its ticket has not been attached yet',
  foreign: 'it is not an owner in the format of Redisson',
  denied: 'CLIENT LIST is denied, or a server did not answer it',
};

function waiting({ waiters }: Unjudged): string {
  return waiters === 0 ? 'nobody waits' : `${waiters} ${waiters === 1 ? 'connection waits' : 'connections wait'}`;
}

function amount(value: number | string | undefined, what: string): string {
  return `${value ?? 0} ${what}${Number(value) === 1 ? '' : 's'}`;
}
