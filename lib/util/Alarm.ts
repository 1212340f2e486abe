import { clampTimer } from './duration';
import { runOutside } from './outside';

/**
 * One timer for many deadlines: it rings at the earliest of them. The owner of the deadlines sets it again when it
 * rings.
 *
 * The timer runs outside any caller's async context. A timer that would fire too early is kept: it costs less to fire
 * in vain than to be made again for each change.
 *
 * States: off <-> set (a timer stands, at the time of the alarm or before) -> rings, and is off.
 */
export class Alarm {
  readonly #ring: () => void;
  readonly #awaited: boolean;
  #at = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #armedAt = -Infinity;

  /**
   * @param ring - called when it rings; it may set the alarm again
   * @param awaited - whether callers wait for it, so that it keeps the process alive. @default false
   */
  constructor(ring: () => void, awaited = false) {
    this.#ring = ring;
    this.#awaited = awaited;
  }

  /** The monotonic time at which it rings; `Infinity`: it is off. */
  get at(): number {
    return this.#at;
  }

  /** Rings then (monotonic), whatever it was set to. `Infinity`: not at all. */
  set(at: number): void {
    this.#at = at;
    if (at === Infinity) return;
    const now = performance.now();
    // Fake timers of a test that has ended take theirs with them: the clock then stands before, or the timer is overdue.
    if (at < this.#timerAt || now <= this.#armedAt || now > this.#timerAt) this.#arm();
  }

  /** Rings then (monotonic), or earlier if it is set to an earlier time. */
  setBy(at: number): void {
    if (at < this.#at) this.set(at);
  }

  /** Does not ring, and frees its timer. */
  off(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#at = this.#timerAt = Infinity;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timerAt = this.#at;
    this.#armedAt = performance.now();
    const pause = clampTimer(this.#at - this.#armedAt);
    this.#timer = runOutside(() => setTimeout(this.#fired, pause));
    if (!this.#awaited) this.#timer.unref();
  }

  readonly #fired = (): void => {
    this.#timerAt = Infinity;
    this.#timer = undefined;
    if (this.#at === Infinity) return;
    // Too early: a timer may be a millisecond early, a long pause may be clamped, and the alarm may have been set to
    // a later time.
    if (performance.now() < this.#at) return this.#arm();
    this.#at = Infinity;
    this.#ring();
  };
}
