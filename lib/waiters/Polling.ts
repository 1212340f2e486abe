import { clampTimer } from '../util/duration';

/** First pause between two attempts without a subscription, in ms; it doubles. */
const FIRST_PAUSE_MS = 500;

/** What polling needs of a queue. */
export interface PolledQueue {
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** Longest pause between two looks, in ms. */
  readonly longestPause: number;
  /** The head, and some of the shared waiters, attempt without a subscription. */
  retryUnsubscribed(): void;
  /**
   * Rejects those without a limit who joined at that monotonic time or before.
   * @returns when the next of them joined; `undefined` when there is none
   */
  expire(joinedAt: number): number | undefined;
}

/**
 * A queue whose channel is not subscribed yet, although a waiter in it listens. Nothing wakes its waiters, so they
 * attempt again after growing pauses. A waiter without a limit is rejected when it has waited too long for the
 * subscription.
 *
 * States: waiting -> ended (subscribed, refused, or empty).
 */
export class Polling {
  readonly #queue: PolledQueue;
  readonly #since = performance.now();
  #pause: number;
  #timer: NodeJS.Timeout;
  #deadline: NodeJS.Timeout | undefined;

  constructor(queue: PolledQueue) {
    this.#queue = queue;
    this.#pause = Math.min(FIRST_PAUSE_MS, queue.longestPause);
    this.#timer = setTimeout(this.#retry, clampTimer(this.#pause));
    this.#expireAt(this.#since);
  }

  /** A waiter joins the queue. */
  joined(): void {
    if (this.#deadline === undefined) this.#expireAt(performance.now());
  }

  /** Frees the timers. */
  end(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#deadline);
  }

  readonly #retry = (): void => {
    this.#pause = Math.min(2 * this.#pause, this.#queue.longestPause);
    this.#timer = setTimeout(this.#retry, clampTimer(this.#pause));
    this.#queue.retryUnsubscribed();
  };

  /** Rejects those who joined until then, as soon as their time is up. */
  #expireAt(joinedAt: number): void {
    const { subscriptionTimeout } = this.#queue;
    const due = Math.max(joinedAt, this.#since) + subscriptionTimeout;
    this.#deadline = setTimeout(
      () => {
        this.#deadline = undefined;
        const next = this.#queue.expire(Math.max(performance.now(), due) - subscriptionTimeout);
        if (next !== undefined) this.#expireAt(next);
      },
      clampTimer(Math.ceil(due - performance.now())),
    );
  }
}
