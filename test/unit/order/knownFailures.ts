/**
 * Modes in which the library is known to fail, with the reason. Their seeds do not run, unless `FUZZ_KNOWN=1`. Each
 * entry goes with the change that mends it; the list is to be empty.
 */
export const KNOWN_FAILURES: readonly { readonly modes: RegExp; readonly why: string }[] = [
  { modes: /-(retries|refusals)-/, why: 'a release sent again overtakes a later one of its owner' },
  { modes: /-deploy$/, why: 'a shutdown in mid-re-entry deletes the lock' },
  { modes: /-(breaks|silence)-force$/, why: 'forceUnlock() sent again takes the lock from the next owner' },
  { modes: /-(breaks|silence)-tickets$/, why: 'an attach() after one without an answer is told LOCK_LOST' },
  { modes: /-renewals$/, why: 'a lease that a later command has shortened is counted on' },
];
