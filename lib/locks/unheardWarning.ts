/**
 * What warns, once per client, that its user may release a lock but may not tell anybody. The release is done all the same:
 * a lock that stays for its lease would be worse for everybody.
 */
export function unheardWarning(): (name: string) => void {
  let warned = false;
  return (name) => {
    if (warned) return;
    warned = true;
    process.emitWarning(
      `Lock '${name}' was released, but Redis does not let this user publish: nobody was told, so waiters of other clients ` +
        'come only when the lease they saw would have ended. Give the user the right to PUBLISH (SPUBLISH on a cluster) ' +
        'on the channels of its locks.',
      { code: 'IOREDISSON_NO_PUBLISH' },
    );
  };
}
