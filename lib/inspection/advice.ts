import type { VerdictKind } from './reports';

/** The page that says what to do, with a section for each verdict: its heading is the verdict. */
export const RUNBOOK = 'https://github.com/OWNER/ioredisson/blob/main/docs/something-hangs.md';

/** What to do first, in one sentence for a person; nothing where nothing is to be done. */
const ADVICE: Readonly<Record<string, string>> = {
  'holder-gone':
    'Wait until it ends, and find out why that process ended. It may only be cut off: then it still works.',
  'not-renewed': 'Look at the CPU and the event loop of that process. The lock ends by itself.',
  'no-expiry': 'Ask who set it. It stays until somebody releases it: by force, if nobody is there any more.',
  'wrong-type': 'Give the lock, or the other data, another name.',
  stuck: 'Look at what that process does. Restart it: its lock ends at most one lease later.',
  'dead-lock': 'Restart one of these processes, and take the locks in one order everywhere.',
};

/** @param waits - whether somebody waits behind it */
export function adviceOf(verdict: VerdictKind, waits: boolean): string {
  if (verdict === 'held' && waits) return 'If it takes longer than usual, look at what the named process does.';
  return ADVICE[verdict] ?? '';
}
