import { Alarm } from '../util/Alarm';

/** First pause between two attempts of those who are not subscribed, in ms; it doubles. */
const FIRST_PAUSE_MS = 500;

/** What polling needs of a queue. */
export interface PolledQueue {
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** The longest pause between two attempts, in ms. */
  readonly longestPause: number;
  /** The head, and some of the shared waiters, attempt without a subscription. */
  retryUnsubscribed(): void;
  /**
   * Rejects those without a limit whose time to become subscribed is up.
   * @param since - monotonic time from which on it counts at the earliest
   * @returns when the time of the next may be up, be it one who joins from now on
   */
  expire(since: number): number;
}

/**
 * Has the waiters of a queue attempt after pauses, while no message reaches them: their channel is not subscribed yet,
 * or the connection that listens is gone. A waiter without a limit is rejected when it has waited too long for the
 * first subscription.
 *
 * States: waiting -> ended (messages arrive, the subscription is refused, or nobody waits).
 */
export class Polling {
  readonly #queue: PolledQueue;
  readonly #subscribed: boolean;
  readonly #since = performance.now();
  readonly #alarm = new Alarm(() => this.#due(), true);
  #pause: number;
  #retryAt: number;

  /**
   * @param subscribed - whether the channel was subscribed before. Then a short gap heals by itself, and its end wakes
   *   the waiters: they attempt only when it lasts.
   */
  constructor(queue: PolledQueue, subscribed: boolean) {
    this.#queue = queue;
    this.#subscribed = subscribed;
    this.#pause = subscribed ? queue.longestPause : Math.min(FIRST_PAUSE_MS, queue.longestPause);
    this.#retryAt = this.#since + this.#pause;
    this.#due();
  }

  /** Frees the timer. */
  end(): void {
    this.#alarm.off();
  }

  #due(): void {
    const now = performance.now();
    const expiresAt = this.#subscribed ? Infinity : this.#queue.expire(this.#since);
    const retries = now >= this.#retryAt;
    if (retries) {
      this.#pause = Math.min(2 * this.#pause, this.#queue.longestPause);
      this.#retryAt = now + this.#pause;
    }
    this.#alarm.set(Math.min(this.#retryAt, expiresAt));
    if (retries) this.#queue.retryUnsubscribed();
  }
}
