import { SubscriptionTimeoutError } from '../errors';
import { Alarm } from '../util/Alarm';

/** Settings of the subscriptions. */
export interface SubscriptionSettings {
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** After how long without the connection, and how often then, waiters attempt again, in ms. */
  readonly timeout: number;
}

/** First pause between two attempts of waiters that are not subscribed, in ms; it doubles. */
const FIRST_PAUSE_MS = 500;
/** Without a subscription, at most this many shared waiters attempt at once. */
const SHARED_RETRIES = 10;

/** A waiter that may listen in vain. */
interface PolledWaiter {
  /** Whether its wait ends by itself. */
  readonly timed: boolean;
  /** Since when it waits (monotonic). */
  readonly joinedAt: number;
  reject(error: Error): void;
  /** Wakes it for an attempt, even if it is not subscribed. */
  attemptUnsubscribed(): void;
}

/** The queue whose waiters listen. */
interface PolledQueue {
  readonly subscription: { readonly channel: string; readonly live: boolean; readonly settings: SubscriptionSettings };
  readonly head: PolledWaiter | undefined;
  /** The shared waiters. */
  readonly sharers: readonly PolledWaiter[];
  /** All of them. */
  readonly waiters: readonly PolledWaiter[];
}

/**
 * The waiters of a queue listen, but no message arrives: the channel is not subscribed yet, or the connection that
 * listens is gone. They attempt without, after pauses that grow: the head, and some of the shared waiters. A gap of a
 * live subscription heals by itself, and its end wakes them: they attempt only when it lasts. A waiter without a limit
 * that does not become subscribed in time gets an error.
 *
 * States: on -> off. A queue makes one for each time that it hears nothing.
 */
export class Polling {
  readonly #queue: PolledQueue;
  readonly #alarm: Alarm;
  /** Since when (monotonic) no message arrives. */
  readonly #since = performance.now();
  /** The next pause, in ms, and when it ends. */
  #pause: number;
  #retryAt: number;
  /** How many shared waiters are before the one that attempts next. */
  #retried = 0;

  constructor(queue: PolledQueue) {
    const { live, settings } = queue.subscription;
    this.#queue = queue;
    this.#pause = live ? settings.timeout : Math.min(FIRST_PAUSE_MS, settings.timeout);
    this.#retryAt = this.#since + this.#pause;
    this.#alarm = new Alarm(() => this.#due(), { awaited: true, judges: () => !queue.subscription.live });
    this.#due();
  }

  off(): void {
    this.#alarm.off();
  }

  #due(): void {
    const { live, settings } = this.#queue.subscription;
    const now = performance.now();
    const expiresAt = live ? Infinity : this.#expire(now);
    const retries = now >= this.#retryAt;
    if (retries) {
      this.#pause = Math.min(2 * this.#pause, settings.timeout);
      this.#retryAt = now + this.#pause;
    }
    this.#alarm.set(Math.min(this.#retryAt, expiresAt));
    if (retries) this.#retry();
  }

  #retry(): void {
    const { head, sharers } = this.#queue;
    const retries = Math.min(SHARED_RETRIES, sharers.length);
    for (let i = 0; i < retries; i++) sharers[(this.#retried + i) % sharers.length]!.attemptUnsubscribed();
    this.#retried = sharers.length === 0 ? 0 : (this.#retried + retries) % sharers.length;
    head?.attemptUnsubscribed();
  }

  /**
   * Rejects the waiters without a limit whose time to become subscribed is up.
   * @returns when the time of the next may be up, also of one that joins from now on
   */
  #expire(now: number): number {
    const { channel, settings } = this.#queue.subscription;
    const { subscriptionTimeout } = settings;
    let next = now + subscriptionTimeout;
    for (const waiter of this.#queue.waiters) {
      if (waiter.timed) continue;
      const due = Math.max(this.#since, waiter.joinedAt) + subscriptionTimeout;
      if (due <= now) waiter.reject(new SubscriptionTimeoutError(channel, subscriptionTimeout));
      else next = Math.min(next, due);
    }
    return next;
  }
}
