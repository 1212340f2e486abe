/** How {@link callUserCode} reports. */
export interface UserCodeOptions {
  /** What the code is part of, such as a logger: it is reported once. @default each time */
  readonly of?: object;
  /** Makes the text of an error. It must show no secrets. */
  readonly show?: (error: unknown) => string;
}

const reported = new WeakSet<object>();

/**
 * THE place where code of the user runs for which no caller waits: listeners, loggers, `nameMapper.unmap`, `nameOf`,
 * what a provider of credentials is told. It may be called in one of our timers, or in the middle of something. So what
 * it throws, and what its promise rejects with, becomes a warning of the process: its author must learn of it, but it
 * must neither stop us nor end the process.
 *
 * Code for which a caller waits needs no such place: the callback of `withLock`, `nameMapper.map` in `getLock`, a
 * back-off, `credentials`, `authorize`. That call throws, or rejects, with its error.
 *
 * @param what - the code, for the warning, e.g. `An object listener`
 * @returns what it returns; `undefined` if it has thrown
 */
export function callUserCode<T>(what: string, call: () => T, options?: UserCodeOptions): T | undefined {
  try {
    const result = call();
    if (isThenable(result)) result.then(undefined, (error: unknown) => report(what, 'rejected', error, options));
    return result;
  } catch (error) {
    report(what, 'threw', error, options);
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function report(what: string, how: string, error: unknown, { of, show = String }: UserCodeOptions = {}): void {
  if (of !== undefined) {
    if (reported.has(of)) return;
    reported.add(of);
  }
  let text = 'a value without text';
  try {
    text = show(error);
  } catch {
    // An object without a prototype, or whose toString throws.
  }
  process.emitWarning(`${what} ${how}: ${text}`, { code: 'IOREDISSON_LISTENER' });
}
