import { clampTimer } from '../util/duration';

/** What {@link WaitLimit.orInterrupted} resolves to when the wait ends before the work does. */
export const INTERRUPTED: unique symbol = Symbol('interrupted');

/** Checks the members, not the class: other realms (jsdom, vm) have their own `AbortSignal` class. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>;
  return (
    [addEventListener, removeEventListener].every((one) => typeof one === 'function') && typeof aborted === 'boolean'
  );
}

/**
 * How long a caller waits at most: a deadline, an AbortSignal or both. Uses at most one timer per wait, and one
 * listener per signal.
 *
 * States: waiting -> over (deadline passed or signal aborted) | ended.
 */
export class WaitLimit {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;
  #interrupt: (() => void) | undefined;

  /**
   * @param deadline - monotonic time (`performance.now()`) at which the wait ends; `Infinity` for no limit
   * @param signal - aborts the wait
   */
  constructor(deadline: number, signal: AbortSignal | undefined) {
    this.#deadline = deadline;
    this.#signal = signal;
    if (deadline !== Infinity) this.#arm();
    if (signal !== undefined) AbortListeners.of(signal).add(this.#stop);
  }

  /** Whether the wait has a deadline. */
  get timed(): boolean {
    return this.#deadline !== Infinity;
  }

  /** Whether the deadline has passed or the signal aborted. */
  get over(): boolean {
    return this.aborted || (this.timed && performance.now() >= this.#deadline);
  }

  /** Whether the signal aborted. */
  get aborted(): boolean {
    return this.#signal !== undefined && this.#signal.aborted;
  }

  /** Why the signal aborted. */
  get reason(): unknown {
    return this.#signal?.reason as unknown;
  }

  /**
   * The outcome of `work`, or {@link INTERRUPTED} as soon as the wait is over. At most one call at a time may be
   * pending.
   */
  orInterrupted<T>(work: Promise<T>): Promise<T | typeof INTERRUPTED> {
    if (!this.timed && this.#signal === undefined) return work;
    if (this.over) {
      work.catch(() => undefined);
      return Promise.resolve(INTERRUPTED);
    }
    return new Promise((resolve, reject) => {
      this.#interrupt = () => resolve(INTERRUPTED);
      work.then(resolve, reject);
    });
  }

  /** Clears the timer and removes the listener. */
  end(): void {
    clearTimeout(this.#timer);
    if (this.#signal !== undefined) AbortListeners.of(this.#signal).delete(this.#stop);
    this.#interrupt = undefined;
  }

  readonly #stop = (): void => {
    this.#interrupt?.();
  };

  #arm(): void {
    const left = this.#deadline - performance.now();
    // Timers have whole milliseconds: rounding up keeps the timer from firing just before the deadline.
    this.#timer = setTimeout(
      () => {
        if (performance.now() >= this.#deadline) this.#stop();
        else this.#arm();
      },
      clampTimer(Math.ceil(left)),
    );
  }
}

const listenersOf = new WeakMap<AbortSignal, AbortListeners>();

/**
 * All actions to run when a signal aborts, behind one listener. A thousand waiters may share a signal, and Node warns
 * of a leak when there are more than ten listeners.
 */
class AbortListeners {
  readonly #signal: AbortSignal;
  readonly #actions = new Set<() => void>();

  private constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** The listeners of a signal. */
  static of(signal: AbortSignal): AbortListeners {
    let listeners = listenersOf.get(signal);
    if (listeners === undefined) listenersOf.set(signal, (listeners = new AbortListeners(signal)));
    return listeners;
  }

  /** Calls `action` when the signal aborts, once. */
  add(action: () => void): void {
    if (this.#actions.size === 0) this.#signal.addEventListener('abort', this.#abort, { once: true });
    this.#actions.add(action);
  }

  /** Removes an action. */
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
