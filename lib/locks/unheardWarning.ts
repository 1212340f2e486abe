/**
 * What warns, once per client, that its user may change an object but may not tell anybody. It is done all the same: a lock
 * that stays for its lease, or permits that nobody gets back, would be worse for everybody.
 *
 * @returns is given what was done, e.g. `release lock 'a'`
 */
export function unheardWarning(): (what: string) => void {
  let warned = false;
  return (what) => {
    if (warned) return;
    warned = true;
    process.emitWarning(
      `This was done, but Redis does not let this user publish: ${what}. Nobody was told: those who wait for a lock in other ` +
        'clients come only when the lease they saw would have ended, and those of semaphores and latches not at all. Give the ' +
        'user the right to PUBLISH (SPUBLISH on a cluster) on the channels of its objects, see docs/security.md.',
      { code: 'IOREDISSON_NO_PUBLISH' },
    );
  };
}
