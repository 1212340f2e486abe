import type { BackOffPolicy } from '../api/BackOff';
import { clampTimer } from '../util/duration';
import type { Wait, Wake } from './acquireWithin';

/**
 * A wait that only a timer ends: for kinds of lock without wake-up messages. The policy sets the length of each sleep;
 * the ttl does not matter.
 *
 * States: awake <-> asleep -> left.
 */
export class BackOffWait implements Wait<never> {
  /** An attempt has just failed; the next one follows after the first pause. */
  readonly isTurn = false;
  readonly #policy: BackOffPolicy;
  readonly #left: () => void;
  #timer: NodeJS.Timeout | undefined;
  /** Ends the sleep. */
  #wake: (() => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  /** Whether it was woken while it was awake. */
  #kept = false;

  /**
   * @param policy - for this acquisition only
   * @param left - called when it ends
   */
  constructor(policy: BackOffPolicy, left: () => void) {
    this.#policy = policy;
    this.#left = left;
  }

  listen(): undefined {
    return undefined;
  }

  sleep(): Promise<Wake<never>> {
    const ms = this.#policy.getNextSleepPeriod();
    if (!Number.isFinite(ms)) {
      return Promise.reject(new RangeError(`A BackOffPolicy must give a number of milliseconds, not ${String(ms)}`));
    }
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#wake = () => {
        this.#wake = undefined;
        resolve(undefined);
      };
      this.#timer = setTimeout(() => this.#wake?.(), this.#kept ? 0 : clampTimer(ms));
      this.#kept = false;
    });
  }

  /** Wakes it, or ends its next sleep at once. */
  wake(): void {
    clearTimeout(this.#timer);
    if (this.#wake === undefined) this.#kept = true;
    else this.#wake();
  }

  /** Ends the wait with an error, unless an attempt is under way. */
  reject(error: Error): void {
    clearTimeout(this.#timer);
    this.#reject?.(error);
  }

  leave(): void {
    clearTimeout(this.#timer);
    this.#left();
  }
}
