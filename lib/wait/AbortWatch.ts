const watches = new WeakMap<AbortSignal, AbortWatch>();

/**
 * What is to happen when a signal aborts, with one listener on the signal: a thousand waiters may share one signal, and
 * Node takes more than ten listeners for a leak.
 */
export class AbortWatch {
  readonly #signal: AbortSignal;
  readonly #actions = new Set<() => void>();

  private constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** The watch of a signal. */
  static of(signal: AbortSignal): AbortWatch {
    let watch = watches.get(signal);
    if (watch === undefined) watches.set(signal, (watch = new AbortWatch(signal)));
    return watch;
  }

  /** From now on does this, too, once. */
  add(action: () => void): void {
    if (this.#actions.size === 0) this.#signal.addEventListener('abort', this.#abort, { once: true });
    this.#actions.add(action);
  }

  /** Does it no longer. */
  delete(action: () => void): void {
    if (this.#actions.delete(action) && this.#actions.size === 0) {
      this.#signal.removeEventListener('abort', this.#abort);
    }
  }

  readonly #abort = (): void => {
    const actions = [...this.#actions];
    this.#actions.clear();
    for (const action of actions) action();
  };
}
