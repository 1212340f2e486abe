/**
 * Calls a listener of the user. What it throws becomes a warning of the process: its author must learn of it, but it
 * must not stop whoever calls it, nor be thrown in one of our timers.
 *
 * @param what - the listener, for the warning, e.g. `An object listener`
 * @returns what the listener returns
 */
export function callListener(what: string, call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    warnOfListener(what, error);
    return undefined;
  }
}

/** A listener has thrown, or rejected. */
export function warnOfListener(what: string, error: unknown): void {
  process.emitWarning(`${what} threw: ${String(error)}`, { code: 'IOREDISSON_LISTENER' });
}
