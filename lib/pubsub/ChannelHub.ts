import type { Subscriber } from '../connection/Subscriber';
import { ShutdownError } from '../errors';
import { clampTimer } from '../util/duration';
import type { Place, PlaceKind } from './Place';
import { Courtesy } from './Courtesy';
import { GIVE_WAY_MS } from './Rotation';
import { Subscription, type SubscriptionHost } from './Subscription';
import { WakeQueue } from './WakeQueue';
import type { WakeRule } from './wakeRules';

/** Settings of the hub. */
export interface HubSettings {
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** After how long without the connection, and how often then, waiters look again, in ms. */
  readonly timeout: number;
}

/**
 * The table of subscriptions, the only one of the client: channel -> {@link Subscription} -> {@link WakeQueue} of a raw
 * name. A queue is there as long as somebody waits in it, a subscription as long as it has a queue. The channel of one that
 * is empty is unsubscribed when this turn of the event loop is over: whoever has just got the lock does not wait for that,
 * and a queue that follows at once takes the subscription over.
 * SUBSCRIBE and UNSUBSCRIBE of a channel travel on one connection in the order they were decided.
 *
 * States: open -> closed.
 */
export class ChannelHub implements SubscriptionHost {
  readonly #subscriber: Subscriber;
  readonly #settings: HubSettings;
  readonly #subscriptions = new Map<string, Subscription>();
  /** Channels that nobody waits for any more, and that are still subscribed. */
  readonly #left = new Set<string>();
  /** When the last channel was left (monotonic): it may be counted as listening for a little longer. */
  #leftAt = -Infinity;
  /** Where the last message came from that nobody waited for: that of an own unlock, sent before the channel was left. */
  #echo: string | undefined;
  /** What fresh acquisitions give way for. */
  readonly courtesy = new Courtesy();
  #outage: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param subscriber - listens for it; the hub becomes the receiver of its events */
  constructor(subscriber: Subscriber, settings: HubSettings) {
    this.#subscriber = subscriber;
    this.#settings = settings;
    subscriber.events = {
      message: (channel, message) => {
        const subscription = this.#subscriptions.get(channel);
        if (subscription === undefined) this.#echo = channel;
        else subscription.message(message);
      },
      interrupted: () => this.#interrupted(),
      restored: () => this.#restored(),
    };
  }

  get subscriptionTimeout(): number {
    return this.#settings.subscriptionTimeout;
  }

  get longestPause(): number {
    return this.#settings.timeout;
  }

  get interrupted(): boolean {
    return this.#outage !== undefined;
  }

  get countsReceivers(): boolean {
    return this.#subscriber.countsReceivers;
  }

  countListeners(channel: string): Promise<number> | undefined {
    return this.#subscriber.countListeners?.(channel);
  }

  /** How many channels have waiters. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /** Those who wait for the object of that raw name on a channel, if there are any. The channel alone may be that of another. */
  queue(channel: string, rawName: string): WakeQueue | undefined {
    // They have just been rejected, and are about to leave.
    return this.#closed ? undefined : this.#subscriptions.get(channel)?.queue(rawName);
  }

  /**
   * This client has freed a lock, and so many subscribers were told, itself perhaps among them. Whoever asks next gives way
   * to the others, if there are any.
   */
  freed(channel: string, rawName: string, receivers: number): void {
    // Those of one node say nothing of the others, and whoever believed them would give way more often than the rest.
    if (!this.countsReceivers) return;
    const mayBeOwn = this.#subscriptions.has(channel) || performance.now() - this.#leftAt < GIVE_WAY_MS;
    // An own message that is still to come is heard as one of them.
    const toCome = mayBeOwn && this.#echo === channel ? receivers - 1 : receivers;
    this.#echo = undefined;
    if (receivers > (mayBeOwn ? 1 : 0)) this.courtesy.toldOthers(rawName, toCome);
    else this.courtesy.forget(rawName);
  }

  /**
   * Who waits on a channel for another object than this one looks again: what one did to the keys that they share is not told.
   */
  lookBeside(channel: string, rawName: string): void {
    for (const queue of this.#subscriptions.get(channel)?.queues ?? []) if (queue.rawName !== rawName) queue.wakeAll();
  }

  /**
   * Takes a place among those who wait for an object. Nothing is sent before somebody has to listen.
   * @param rawName - of the object; its channel may be that of other names, too
   * @param need - how many permits it waits for. @default 1
   * @throws ShutdownError when the client is shut down
   */
  join<T>(channel: string, rawName: string, rule: WakeRule, kind: PlaceKind, waiter?: object, need?: number): Place<T> {
    if (this.#closed) throw new ShutdownError();
    let subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) {
      this.#subscriptions.set(channel, (subscription = new Subscription(channel, this)));
    }
    let queue = subscription.queue(rawName, rule);
    if (queue === undefined) {
      subscription.add((queue = new WakeQueue(subscription, rawName, rule)));
      const others = kind === 'line' ? this.courtesy.take(rawName) : 0;
      if (others > 0) queue.giveWay(others);
    }
    return queue.join<T>(kind, waiter, need);
  }

  /** Rejects every waiter and closes the subscriber. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#outage);
    for (const queue of this.#queues()) queue.rejectAll(new ShutdownError());
    this.#subscriber.close();
  }

  subscribe(channel: string): Promise<void> {
    this.#left.delete(channel);
    return this.#subscriber.subscribe(channel);
  }

  drop(subscription: Subscription, subscribed: boolean): void {
    const { channel } = subscription;
    if (this.#subscriptions.get(channel) === subscription) this.#subscriptions.delete(channel);
    if (!subscribed || this.#closed) return;
    if (this.#left.size === 0) setImmediate(this.#unsubscribe);
    this.#left.add(channel);
    this.#leftAt = performance.now();
    this.#echo = undefined;
  }

  readonly #unsubscribe = (): void => {
    if (!this.#closed) for (const channel of this.#left) this.#subscriber.unsubscribe(channel);
    this.#left.clear();
  };

  #interrupted(): void {
    if (this.#closed || this.#outage !== undefined) return;
    // A short gap is healed by `restored`. A long one may be a dead server: the waiters' attempts find out, and reject
    // with the connection's error when it is. Where only this connection is gone, nobody else would wake them.
    this.#outage = setInterval(() => this.#lookAgain(), clampTimer(this.#settings.timeout));
    this.#outage.unref();
  }

  #restored(): void {
    clearInterval(this.#outage);
    this.#outage = undefined;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const queue of this.#queues()) queue.wakeAll();
  }

  /** A channel that was never subscribed has pauses of its own. */
  #lookAgain(): void {
    for (const { live, queues } of [...this.#subscriptions.values()]) {
      if (live) for (const queue of [...queues]) queue.lookAgain();
    }
  }

  #queues(): WakeQueue[] {
    return [...this.#subscriptions.values()].flatMap(({ queues }) => queues);
  }
}
