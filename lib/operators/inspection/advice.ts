import type { LossReport, ObjectReport, Verdict } from './reports';

/** The page that says what to do. It has one section per verdict, with the verdict as heading. */
export const RUNBOOK = 'https://github.com/OWNER/ioredisson/blob/main/docs/something-hangs.md';

/** How much a verdict is a reason to look: not at all, perhaps, or at once. */
export type Level = 'well' | 'amber' | 'trouble';

/** The order of levels, the worst first. */
export const LEVELS: readonly Level[] = ['trouble', 'amber', 'well'];

/** What is red, amber or green, wherever verdicts are shown, counted or sorted. */
export function levelOf({ kind, amber }: Pick<Verdict, 'kind' | 'amber'>): Level {
  if (kind !== 'free' && kind !== 'held') return 'trouble';
  return amber === true ? 'amber' : 'well';
}

/** The section of the {@link RUNBOOK} that fits: `#stuck`. */
export function runbookOf({ value }: Pick<ObjectReport, 'value'>, kind: Verdict['kind']): string {
  const isNumber = value !== undefined && (kind === 'held' || kind === 'free');
  return `#${isNumber ? 'semaphore-or-latch' : kind}`;
}

/** What a restart or a failover has lost, for a person. The page adds when, and which. */
export function lossText({ locks, certain, names }: LossReport, shown = (name: string) => name): string {
  const what = locks === 1 ? '1 lock that was held' : `${locks} locks that were held`;
  const which = `${names.map(shown).join(', ')}${locks > names.length ? ` and ${locks - names.length} more` : ''}`;
  return certain
    ? `Redis came back without ${what}: ${which}. Each holder is notified that its lock is lost.`
    : `Redis was restarted, or failed over, and may have lost ${what}: ${which}. A holder that has lost its lock is notified.`;
}

/** What to do first, for a person. Verdicts that need no action are missing. */
const ADVICE: Readonly<Record<string, string>> = {
  'holder-gone':
    'Check whether that process still runs. If it is only cut off from Redis, it keeps working, and will work beside ' +
    'the next holder. If it has ended, wait until the lock ends, and find out why it ended (with the option atLeast it leaves ' +
    'the lock behind on purpose).',
  'not-renewed':
    'Look at that process: is it stopped (SIGSTOP, a debugger), or its event loop blocked? The lock ends by itself, at ' +
    'the time shown. One that was taken with a lease needs no renewal. If the process goes on after that, it may work beside ' +
    'the next holder for a moment: if in doubt, kill it first.',
  'no-expiry': 'Ask whoever set it. It stays until it is released: by force, if its owner is gone.',
  'wrong-type': 'Give the lock, or the other data, another name.',
  stuck:
    'Check what that process does. If it makes no progress, restart it: its lock ends at most one lease later, and so does ' +
    'everything else that it holds.',
  'dead-lock':
    'Restart one of these processes, the one whose work is easier to repeat: the others go on at most one lease later. Then ' +
    'take the locks in one order everywhere.',
};

const ITSELF =
  'Restart that process: its locks end at most one lease later. Then mend the code: a section must not wait for what it, or ' +
  'the section around it, already holds.';

const ONE_PROCESS =
  'Restart that process: its locks end at most one lease later. Then take the locks in one order everywhere.';

const LOCK_HELD =
  'If it takes longer than usual, check what the named process does. It is stuck once a caller has waited 30 s, unless ' +
  'long waits are expected.';
/** For objects with a number: their holders are not in Redis. By verdict; they are never called stuck. */
const WITHOUT_OWNERS: Readonly<Record<string, string>> = {
  held:
    'Permits of acquire() have no owner, and a latch has none: only processes that reported theirs are named. If no process that ' +
    'uses it is alive, give them back: addPermits(n), delete() for a latch; from a shell ioredisson permits --add, ioredisson latch --open.',
  free:
    'A semaphore is free while one permit is left: the caller wants more. Plain permits of a process that died never come ' +
    'back: addPermits(n), from a shell ioredisson permits --add.',
};

/** @param circle - of a dead-lock */
export function adviceOf(
  { value, waiters }: Pick<ObjectReport, 'value' | 'waiters'>,
  verdict: Verdict['kind'],
  circle: Verdict['circle'] = [],
): string {
  if (waiters > 0 && value !== undefined && verdict in WITHOUT_OWNERS) return WITHOUT_OWNERS[verdict]!;
  if (waiters > 0 && verdict === 'held') return LOCK_HELD;
  if (verdict === 'dead-lock' && circle.length === 1) return ITSELF;
  // If the whole circle is in one process, there is only that one to restart.
  const processes = new Set(circle.map(({ host, pid }) => `${host} ${pid}`));
  if (verdict === 'dead-lock' && processes.size === 1) return ONE_PROCESS;
  return ADVICE[verdict] ?? '';
}
