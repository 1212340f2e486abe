import type { LockHold } from '../../index';

/** The shortest pause between two looks, in ms. */
const MIN_PAUSE_MS = 5;

/**
 * Tells once that a lease that should have been renewed is about to end: while there is still time to end the command
 * inside it. Renewals come at two thirds of the lease, so nothing is due while they work.
 *
 * States: watching -> told | stopped.
 */
export class LeaseWatch {
  readonly #hold: LockHold;
  readonly #marginMs: number;
  readonly #onShort: () => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param marginMs - told when so much of the lease is left, in ms
   * @param onShort - called at most once, in a timer
   */
  constructor(hold: LockHold, marginMs: number, onShort: () => void) {
    this.#hold = hold;
    this.#marginMs = marginMs;
    this.#onShort = onShort;
    this.#look();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const left = this.#hold.remainingLeaseMs - this.#marginMs;
    const pause = Math.max(MIN_PAUSE_MS, left);
    this.#timer = setTimeout(() => {
      if (this.#hold.remainingLeaseMs > this.#marginMs) this.#look();
      else this.#onShort();
    }, pause);
  }
}
