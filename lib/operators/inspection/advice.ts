import type { ObjectReport, Verdict } from './reports';

/** The page that says what to do. It has one section per verdict, with the verdict as heading. */
export const RUNBOOK = 'https://github.com/OWNER/ioredisson/blob/main/docs/something-hangs.md';

/** What to do first, for a person. Verdicts that need no action are missing. */
const ADVICE: Readonly<Record<string, string>> = {
  'holder-gone':
    'Look whether that process still runs: if it is only cut off from Redis, it goes on with its work, and will work beside ' +
    'the next holder. If it has ended, wait until the lock ends, and find out why it ended (with the option atLeast it leaves ' +
    'the lock behind on purpose).',
  'not-renewed':
    'Look at that process: is it stopped (SIGSTOP, a debugger), or its event loop blocked? The lock ends by itself, then and ' +
    'not before. If the process goes on after that, it may work beside the next holder for a moment: if in doubt, kill it ' +
    'first.',
  'no-expiry': 'Ask who set it. It stays until somebody releases it: by force, if nobody is there any more.',
  'wrong-type': 'Give the lock, or the other data, another name.',
  stuck:
    'Look at what that process does. If it makes no progress, restart it: its lock ends at most one lease later, and so does ' +
    'everything else that it holds.',
  'dead-lock':
    'Restart one of these processes, the one whose work is easier to repeat: the others go on at most one lease later. Then ' +
    'take the locks in one order everywhere.',
};

const ITSELF =
  'Restart that process: its locks end at most one lease later. Then mend the code: a section must not wait for what it, or ' +
  'the section around it, has already.';

const ONE_PROCESS =
  'Restart that process: its locks end at most one lease later. Then take the locks in one order everywhere.';

const LOCK_HELD =
  'If it takes longer than usual, look at what the named process does. It is called stuck when somebody has waited for 30 s.';
/** For objects with a number: their holders are not in Redis. By verdict; they are never called stuck. */
const WITHOUT_OWNERS: Readonly<Record<string, string>> = {
  held:
    'Permits of acquire() have no owner, and a latch has none: only a process that has said so is named. If no process that ' +
    'uses it is alive, give them back: addPermits(n), or delete() for a latch.',
  free:
    'A semaphore is free while one permit is left: the caller wants more. Plain permits of a process that died never come ' +
    'back: addPermits(n).',
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
