import type { QueueHost, WakeQueue } from './WakeQueue';
import type { WakeRule } from './wakeRules';

/** What a subscription needs of its hub. */
export interface SubscriptionHost {
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** Longest pause between two attempts of those who are not subscribed, in ms. */
  readonly longestPause: number;
  /** Whether a connection that listens is gone. */
  readonly interrupted: boolean;
  /** Whether Redis counts all who listen to a channel when it publishes a message. */
  readonly countsReceivers: boolean;
  /** How many listen to a channel, where Redis does not count them so; `undefined`: it cannot be asked. */
  countListeners(channel: string): Promise<number> | undefined;
  /** Subscribes the channel, however long it takes. */
  subscribe(channel: string): Promise<void>;
  /** Nobody waits on it any more. @param subscribed - whether it had asked for a subscription */
  drop(subscription: Subscription, subscribed: boolean): void;
}

/**
 * One channel, and the queues of this process that listen to it.
 *
 * A channel may stand for more than one object: Redisson gives the names `x` and `{x}` the same one, as it does a semaphore
 * and a permit-expirable semaphore of one name. So a queue is found by the raw name and the wake rule as well, a message
 * goes to every queue, and the channel is unsubscribed with the last of them.
 */
export class Subscription implements QueueHost {
  readonly channel: string;
  readonly #host: SubscriptionHost;
  /** Hardly ever more than one, and never more than a handful: so few names share a channel. */
  readonly #queues: WakeQueue[] = [];
  #subscribing = false;
  #live = false;

  /** Made by the hub only. */
  constructor(channel: string, host: SubscriptionHost) {
    this.channel = channel;
    this.#host = host;
  }

  /** Its queues; do not change them. */
  get queues(): readonly WakeQueue[] {
    return this.#queues;
  }

  /** Whether messages arrive. */
  get live(): boolean {
    return this.#live;
  }

  get heard(): boolean {
    return this.#live && !this.#host.interrupted;
  }

  /** Where objects of two names listen, nobody can say how many wait for either. */
  get counted(): boolean {
    return this.#queues.length === 1 && this.#host.countsReceivers;
  }

  countListeners(): Promise<number> | undefined {
    return this.#queues.length === 1 ? this.#host.countListeners(this.channel) : undefined;
  }

  get subscriptionTimeout(): number {
    return this.#host.subscriptionTimeout;
  }

  get longestPause(): number {
    return this.#host.longestPause;
  }

  /** The queue of an object. @param rule - `undefined`: whatever its rule is */
  queue(rawName: string, rule?: WakeRule): WakeQueue | undefined {
    for (const queue of this.#queues) {
      if (queue.rawName === rawName && (rule === undefined || queue.rule === rule)) return queue;
    }
    return undefined;
  }

  /** Takes a queue in. */
  add(queue: WakeQueue): void {
    this.#queues.push(queue);
  }

  /** A queue is empty. */
  remove(queue: WakeQueue): void {
    const index = this.#queues.indexOf(queue);
    if (index >= 0) this.#queues.splice(index, 1);
    if (this.#queues.length === 0) this.#host.drop(this, this.#subscribing);
  }

  /** Subscribes, for all its queues together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean {
    if (this.#live || this.#subscribing) return this.#live;
    this.#subscribing = true;
    this.#host.subscribe(this.channel).then(
      () => {
        this.#live = true;
        for (const queue of [...this.#queues]) queue.subscribed();
      },
      (error: unknown) => {
        // A failed subscription is forgotten, so that the next waiter asks anew and is not failed by this one.
        this.#subscribing = false;
        for (const queue of [...this.#queues]) queue.refused(error as Error);
      },
    );
    return false;
  }

  /** A message of the channel. */
  message(text: string): void {
    // A queue that is emptied meanwhile leaves the list.
    if (this.#queues.length === 1) this.#queues[0]!.message(text);
    else for (const queue of [...this.#queues]) queue.message(text);
  }
}
