import type { BackOffPolicy } from '../api/BackOff';
import { ShutdownError } from '../errors';
import { clampTimer } from '../util/duration';
import { AbortListeners } from './WaitLimit';
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
  readonly #closing: AbortSignal;
  readonly #shutdownError: () => Error;
  #timer: NodeJS.Timeout | undefined;
  #reject: ((error: Error) => void) | undefined;

  /**
   * @param policy - for this acquisition only
   * @param closing - aborts when the client is shut down
   * @param shutdownError - makes the error that the waiter gets after `closing` has aborted
   */
  constructor(policy: BackOffPolicy, closing: AbortSignal, shutdownError: () => Error = () => new ShutdownError()) {
    this.#policy = policy;
    this.#closing = closing;
    this.#shutdownError = shutdownError;
    AbortListeners.of(closing).add(this.#close);
  }

  listen(): undefined {
    return undefined;
  }

  sleep(): Promise<Wake<never>> {
    const ms = this.#policy.getNextSleepPeriod();
    if (!Number.isFinite(ms)) {
      return Promise.reject(new RangeError(`A BackOffPolicy must give a number of milliseconds, not ${String(ms)}`));
    }
    if (this.#closing.aborted) return Promise.reject(this.#shutdownError());
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#timer = setTimeout(() => resolve(undefined), clampTimer(ms));
    });
  }

  leave(): void {
    clearTimeout(this.#timer);
    AbortListeners.of(this.#closing).delete(this.#close);
  }

  readonly #close = (): void => {
    clearTimeout(this.#timer);
    this.#reject?.(this.#shutdownError());
  };
}
