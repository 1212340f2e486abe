import { ConfigError } from '../errors';
import { Alarm } from '../util/Alarm';
import { describe } from '../util/describe';

/** What {@link WaitLimit.orInterrupted} resolves to when the wait ends before the work does. */
export const INTERRUPTED: unique symbol = Symbol('interrupted');

/**
 * Checks the signal of a call: by its members, not its class, since other realms (jsdom, vm) have their own.
 * @throws ConfigError unless it is an AbortSignal, or left out
 */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const { aborted, addEventListener, removeEventListener } = Object(signal) as Partial<AbortSignal>;
  const isSignal = [addEventListener, removeEventListener].every((one) => typeof one === 'function');
  if (isSignal && typeof aborted === 'boolean') return;
  throw new ConfigError(`options.signal must be an AbortSignal, got ${describe(signal)}`);
}

/**
 * How long a caller waits at most: a deadline, an AbortSignal or both. Uses at most one timer per wait, and one
 * listener per signal.
 *
 * A sleep ends at the deadline. A reply that is on its way is read before, also when the event loop was blocked, see
 * {@link Alarm}: "not acquired" is what Redis says, not what the clock says.
 *
 * States: waiting -> over (deadline passed or signal aborted) -> stopped (no reply is waited for any more) | ended.
 */
export class WaitLimit {
  readonly #deadline: number;
  readonly #signal: AbortSignal | undefined;
  #alarm: Alarm | undefined;
  #interrupt: (() => void) | undefined;
  #sleeping = false;
  #stopped = false;

  /**
   * @param deadline - monotonic time (`performance.now()`) at which the wait ends; `Infinity` for no limit
   * @param signal - aborts the wait
   */
  constructor(deadline: number, signal: AbortSignal | undefined) {
    this.#deadline = deadline;
    this.#signal = signal;
    if (deadline !== Infinity) {
      this.#alarm = new Alarm(this.#stop, { awaited: true, judges: () => !this.#sleeping });
      this.#alarm.set(deadline);
    }
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
   * @param sleeps - whether `work` is no reply of Redis, so that the deadline alone counts. @default false
   */
  orInterrupted<T>(work: Promise<T>, sleeps = false): Promise<T | typeof INTERRUPTED> {
    if (!this.timed && this.#signal === undefined) return work;
    this.#sleeping = sleeps;
    if (this.#stopped || (sleeps ? this.over : this.aborted)) {
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
    this.#alarm?.off();
    if (this.#signal !== undefined) AbortListeners.of(this.#signal).delete(this.#stop);
    this.#interrupt = undefined;
  }

  readonly #stop = (): void => {
    this.#stopped = true;
    this.#interrupt?.();
  };
}

/**
 * Waits for `work`, replies of Redis, for at most `ms` milliseconds.
 * @param signal - ends the wait sooner
 * @returns the outcome of `work`, or {@link INTERRUPTED}
 */
export async function within<T>(ms: number, work: Promise<T>, signal?: AbortSignal): Promise<T | typeof INTERRUPTED> {
  return limited(ms, work, signal, false);
}

/** Sleeps for `ms` milliseconds. @param signal - ends the sleep sooner */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await limited(ms, new Promise<never>(() => undefined), signal, true);
}

async function limited<T>(
  ms: number,
  work: Promise<T>,
  signal: AbortSignal | undefined,
  sleeps: boolean,
): Promise<T | typeof INTERRUPTED> {
  const limit = new WaitLimit(performance.now() + ms, signal);
  try {
    return await limit.orInterrupted(work, sleeps);
  } finally {
    limit.end();
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
