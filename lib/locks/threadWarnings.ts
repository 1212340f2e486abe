/** Tells of a re-entry that only Java-style code can mean. */
export function warnHandleReentry(name: string): void {
  process.emitWarning(
    `Lock '${name}' was re-entered through a handle outside any scope, or by lock() where acquire() had taken it. Two ` +
      'requests that share a handle look the same: use withLock(), runInThread() or a threadId. (strictThreads makes ' +
      'this an error.)',
    { code: 'IOREDISSON_HANDLE_REENTRY' },
  );
}

/** Tells of a call that may wait for its own scope, and so for ever. */
export function warnSelfWait(name: string): void {
  process.emitWarning(
    `A call has waited 5 seconds for lock '${name}', which the withLock() or runInThread() callback that the call runs ` +
      'in, or one around it, may hold itself. If that callback waits for the call, neither ends. Take locks in one order, ' +
      'give back what acquire() took first, or pass its threadId. See "Threads" in the README.',
    { code: 'IOREDISSON_SELF_WAIT' },
  );
}
