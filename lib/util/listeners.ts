/**
 * Calls a listener of the user. An error of the listener becomes a warning of the process: its author must learn of
 * it, but it must not stop the caller, nor be thrown in one of our timers.
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

/** The listeners of the user to one kind of event. */
export class Listeners<E> {
  readonly #what: string;
  readonly #all = new Set<(event: E) => void>();

  /** @param what - as for {@link callListener} */
  constructor(what: string) {
    this.#what = what;
  }

  /** Adds a listener. @returns a function that removes it */
  add(listener: (event: E) => void): () => void {
    // A wrapper of its own, so that one function added twice is called twice and removed once.
    const entry = (event: E): void => listener(event);
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  /** Calls them all, but not those that one of them adds. */
  tell(event: E): void {
    for (const listener of [...this.#all]) callListener(this.#what, () => listener(event));
  }

  /** Removes them all. */
  clear(): void {
    this.#all.clear();
  }
}
