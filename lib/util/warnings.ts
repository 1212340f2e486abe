/** Warns of a re-entry that only Java-style code can intend. */
export function warnHandleReentry(name: string): void {
  process.emitWarning(
    `Lock '${name}' was re-entered through a handle outside any scope, or by lock() after acquire() had taken it. ` +
      'Two requests that share a handle look the same: use withLock(), runInThread() or a threadId. The setting ' +
      'strictThreads makes this an error.',
    { code: 'IOREDISSON_HANDLE_REENTRY' },
  );
}

/** Makes a warning one that is given once per client. @returns a function that is called each time */
export function once<A extends unknown[]>(warn: (...about: A) => void): (...about: A) => void {
  let warned = false;
  return (...about) => {
    if (!warned) warn(...about);
    warned = true;
  };
}

/** Warns of a hold that can no longer be released: its `LockHold` or `PermitHold` was garbage collected. */
export function warnAbandonedHold(name: string, ofPermits: boolean): void {
  const [what, release, instead] = ofPermits
    ? [`permits of semaphore '${name}', taken by acquireHold()`, 'release()', 'withPermits()']
    : [`lock '${name}', taken by acquire() or tryAcquireHold()`, 'unlock()', 'withLock()'];
  process.emitWarning(
    `A hold of ${what}, was dropped without ${release}. It is no longer renewed, and expires with its lease. ` +
      `Use ${instead}, or keep the hold and call its ${release}.`,
    { code: 'IOREDISSON_ABANDONED_HOLD' },
  );
}

/** Warns that `trackHolds` has no effect. */
export function warnNoTracking(error: Error): void {
  process.emitWarning(
    `trackHolds is disabled; everything else works. Redis refused it (${error.message}). Grant CLIENT TRACKING, ` +
      'CLIENT ID and the channel __redis__:invalidate, or leave trackHolds out.',
    { code: 'IOREDISSON_NO_TRACKING' },
  );
}

/** Warns of a call that may wait for its own scope, and so for ever. */
export function warnSelfWait(name: string): void {
  process.emitWarning(
    `A call has waited 5 seconds for lock '${name}', which its own withLock() or runInThread() callback, or one around ` +
      'it, may hold. If that callback waits for the call, neither ends. Take locks in one order, release what ' +
      'acquire() took first, or pass its threadId.',
    { code: 'IOREDISSON_SELF_WAIT' },
  );
}

/**
 * Warns, once per client, that its user may change an object but may not publish. The change is made all the same: a
 * lock that stays until its lease ends, or permits that never come back, would be worse.
 *
 * @returns a function that is called with what was done, e.g. `release lock 'a'`
 */
export function unheardWarning(): (what: string) => void {
  return once((what) =>
    process.emitWarning(
      `Succeeded, but this user may not publish: ${what}. Waiters were not notified: in other clients they wake when the ` +
        'lease they saw would have ended, or never (semaphores, latches). Grant PUBLISH (on a cluster SPUBLISH) on the ' +
        'channels: docs/security.md.',
      { code: 'IOREDISSON_NO_PUBLISH' },
    ),
  );
}

/** Warns of a call that waits for permits which nobody has set. */
export function warnUnsetSemaphore(name: string): void {
  process.emitWarning(
    `A call has waited 5 seconds for permits of semaphore '${name}', which does not exist. Set them: trySetPermits(), or ` +
      `getSemaphore('${name}', { permits }).`,
    { code: 'IOREDISSON_NO_PERMITS_SET' },
  );
}

/**
 * Warns that a semaphore keeps another number of permits than the program says.
 * @param there - how many there are, with ids in all, else available
 * @param withIds - whether the permits have ids, so that their number can be changed
 */
export function warnKeptPermits(name: string, there: number, wanted: number, withIds: boolean): void {
  const [of, change] = withIds ? ['', 'setPermits'] : [' available', 'addPermits'];
  otherPermits(
    `Semaphore '${name}' has ${there} permits${of}, not ${wanted}: trySetPermits() leaves it as it is. ` +
      `Change it with ${change}().`,
  );
}

/** Warns that a semaphore had another number of permits in all than the program says, which has been changed. */
export function warnChangedPermits(name: string, there: number, wanted: number): void {
  otherPermits(`Semaphore '${name}' had ${there} permits, not ${wanted}: changed.`);
}

function otherPermits(text: string): void {
  process.emitWarning(text, { code: 'IOREDISSON_OTHER_PERMITS' });
}
