import type { Subscriber } from '../connection/pubsub/Subscriber';
import type { SubscriptionSettings } from './Polling';
import type { Turns } from './Turns';
import type { QueueSubscription, WaitQueue } from './WaitQueue';

/** What a subscription needs of the table it is in. */
interface SubscriptionTable<H extends object> {
  readonly settings: SubscriptionSettings;
  readonly subscriber: Subscriber;
  /** Whether a connection for subscriptions is gone. */
  readonly interrupted: boolean;
  /** Subscribes the channel, however long it takes. */
  subscribe(channel: string): Promise<void>;
  /** A queue is empty, and has left its subscription. */
  left(subscription: Subscription<H>, turns: Turns): void;
}

/**
 * One channel, and the queues of this process that listen to it.
 *
 * A channel may stand for more than one object: Redisson gives the names `x` and `{x}` the same one, as it does a
 * semaphore and a permit-expirable semaphore of one name; and of a group each set of values has a queue. So a message
 * goes to every queue, and the channel is unsubscribed with the last of them.
 */
export class Subscription<H extends object = object> implements QueueSubscription<H> {
  readonly channel: string;
  readonly settings: SubscriptionSettings;
  readonly queues = new Map<string, WaitQueue<H>>();
  live = false;
  heard = false;
  /** Whether messages of this channel alone may be lost. */
  #interrupted = false;
  /** Whether a subscription is asked for. */
  subscribing = false;
  readonly #table: SubscriptionTable<H>;

  /** Made by Subscriptions only. */
  constructor(channel: string, table: SubscriptionTable<H>) {
    this.channel = channel;
    this.settings = table.settings;
    this.#table = table;
  }

  /** Where two objects share the channel, or two sets of values, the number of listeners says nothing about either. */
  get counted(): boolean {
    return this.queues.size === 1 && this.#table.subscriber.countsReceivers;
  }

  async countListeners(): Promise<number | undefined> {
    return this.queues.size === 1 ? this.#table.subscriber.countListeners?.(this.channel) : undefined;
  }

  /** A queue is empty. */
  remove(queue: WaitQueue<H>): void {
    const { waitKey } = queue.turns;
    if (this.queues.get(waitKey) === queue) this.queues.delete(waitKey);
    this.#table.left(this, queue.turns);
  }

  /** Subscribes, for all its queues together, and notifies them when it is done. */
  listen(): void {
    if (this.subscribing) return;
    this.subscribing = true;
    this.#table.subscribe(this.channel).then(
      () => {
        this.live = true;
        this.#check();
        for (const queue of [...this.queues.values()]) queue.subscribed();
      },
      (error: unknown) => {
        // A failed subscription is forgotten, so that the next waiter asks anew and is not failed by this one.
        this.subscribing = false;
        for (const queue of [...this.queues.values()]) queue.refused(error as Error);
      },
    );
  }

  /** Messages may be lost from now on, or arrive again. @param interrupted - of this channel alone. @default of all */
  changed(interrupted = this.#interrupted): void {
    this.#interrupted = interrupted;
    this.#check();
    for (const queue of [...this.queues.values()]) queue.interrupted();
  }

  #check(): void {
    this.heard = this.live && !this.#interrupted && !this.#table.interrupted;
  }

  /** A message of the channel. */
  message(text: string): void {
    // A queue that is emptied meanwhile leaves the table.
    const queues = [...this.queues.values()];
    // Whoever gives way attempts behind those who wait for other values of the group.
    if (queues.length > 1) queues.sort((a, b) => Number(a.turns.givesWay) - Number(b.turns.givesWay));
    for (const queue of queues) queue.message(text);
  }
}
