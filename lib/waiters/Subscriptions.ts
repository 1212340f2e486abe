import type { Subscriber } from '../connection/pubsub/Subscriber';
import { ShutdownError } from '../errors';
import { Turns } from './Turns';
import type { ObjectKind } from '../api';
import type { SubscriptionSettings } from './Polling';
import { Subscription } from './Subscription';
import { WaitQueue } from './WaitQueue';
import type { Waiter, WaitingKind } from './Waiter';

/** One waiting caller, for inspectors. */
export interface Waiting<H extends object = object> {
  readonly rawName: string;
  readonly kind: ObjectKind;
  /** Since when (monotonic). */
  readonly joinedAt: number;
  /** Its acquisition, if it waits for a lock. */
  readonly heir: H | undefined;
}

/**
 * The table of subscriptions, the only one that wakes waiters: channel -> {@link Subscription} -> {@link WaitQueue} of
 * a raw name, or of a set of values of a group. (`listeners/` hears of keys on connections of its own.) A queue is
 * there as long as it has waiters, a subscription as long as it has a queue. The channel of one that is empty is
 * unsubscribed when this turn of the event loop is over: a caller that has just got the lock does not wait for that,
 * and a queue that follows at once takes the subscription over. SUBSCRIBE and UNSUBSCRIBE of a channel travel on one
 * connection in the order they were decided.
 *
 * States: open -> closed.
 */
export class Subscriptions<H extends object = object> {
  readonly settings: SubscriptionSettings;
  /** Its connections for subscriptions. */
  readonly subscriber: Subscriber;
  /** Whether a connection for all subscriptions is gone. */
  interrupted = false;
  /** Whether no waiter can join any more. */
  closed = false;
  readonly #subscriptions = new Map<string, Subscription<H>>();
  /** Channels without waiters that are still subscribed. */
  readonly #unused = new Set<string>();
  /** Turns of locks without a waiter here, by {@link restKey}, the longest resting first. */
  readonly #resting = new Map<string, Turns>();
  /** The listeners of channels that wake no waiter. */
  readonly #listeners = new Map<string, (message: string) => void>();
  #shutdownError = (): ShutdownError => new ShutdownError();

  /** @param subscriber - listens for it; this object becomes the receiver of its events */
  constructor(subscriber: Subscriber, settings: SubscriptionSettings) {
    this.subscriber = subscriber;
    this.settings = settings;
    subscriber.events = {
      message: (channel, message) => {
        const subscription = this.#subscriptions.get(channel);
        // Without a waiter it is mostly one of this client's own unlocks, sent before the channel was left.
        if (subscription !== undefined) return subscription.message(message);
        this.#resting.get(channel)?.message();
        this.#listeners.get(channel)?.(message);
      },
      interrupted: (channels) => this.#setInterrupted(true, channels),
      restored: (channels) => {
        this.#setInterrupted(false, channels);
        for (const queue of this.#queues(channels)) queue.wakeAll();
      },
    };
  }

  /** How many channels have waiters. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /**
   * The queue of an object, if it has a waiter. Its channel alone is not enough: another object may have the same
   * one.
   * @param waitKey - what is waited for: the key of a lock, of a group together with the values
   */
  queue(channel: string, waitKey: string): WaitQueue<H> | undefined {
    // When it is closed, all waiters have been rejected, and are about to leave.
    return this.closed ? undefined : this.#subscriptions.get(channel)?.queues.get(waitKey);
  }

  /** Whether no caller waits, nor has just waited: then there is no queue, and there are no turns. */
  get idle(): boolean {
    if (this.#resting.size > 0) this.#forgetRested();
    return this.#subscriptions.size === 0 && this.#resting.size === 0;
  }

  /** The turns of a lock, if a caller waits for it, or has just waited, or others waited when it was released. */
  turns(channel: string, waitKey: string): Turns | undefined {
    const queue = this.#subscriptions.size === 0 ? undefined : this.queue(channel, waitKey);
    return queue?.turns ?? (this.#resting.size === 0 ? undefined : this.#restingTurns(channel, waitKey));
  }

  /**
   * An unlock of a lock without turns was answered. The next acquisition gives way to the receivers of the message.
   * @param receivers - how many
   */
  released(channel: string, waitKey: string, receivers: number): void {
    // The receivers on one node say nothing about other nodes: this process would give way more often than the rest.
    if (receivers === 0 || !this.subscriber.countsReceivers || this.closed) return;
    if (this.turns(channel, waitKey) !== undefined) return;
    const turns = new Turns(waitKey, 1);
    turns.released(receivers, this.#subscriptions.has(channel));
    this.#rest(channel, turns);
  }

  /** A queue is empty, and has left its subscription. The turns of its lock are kept for a while. */
  left(subscription: Subscription<H>, turns: Turns): void {
    const { channel } = subscription;
    const isUnused = subscription.queues.size === 0;
    if (isUnused && this.#subscriptions.get(channel) === subscription) this.#subscriptions.delete(channel);
    if (this.closed) return;
    if (this.subscriber.countsReceivers) this.#rest(channel, turns);
    if (!isUnused || !subscription.subscribing) return;
    if (this.#unused.size === 0) setImmediate(this.#unsubscribe);
    this.#unused.add(channel);
  }

  /** Wakes the waiters of a channel for such an object: no message reports what happened to it. */
  wakeOn(channel: string, concerns: (rawName: string) => boolean): void {
    const queues = this.#subscriptions.get(channel)?.queues.values() ?? [];
    for (const queue of queues) if (!this.closed && concerns(queue.rawName)) queue.wakeAll();
  }

  /**
   * Joins the waiters for an object. Nothing is sent before a waiter listens.
   * @param kind - of the object: how its callers wait
   * @param rawName - of the object; its channel may be that of other names, too
   * @param heir - the acquisition that a holder of this process may hand the lock to. @default none
   * @param need - how many permits it waits for
   * @param waitKey - waiters with the same one are one queue. @default `rawName`
   * @throws ShutdownError when the client is shut down
   */
  join<T>(kind: WaitingKind, channel: string, rawName: string, heir?: H, need = 1, waitKey = rawName): Waiter<T, H> {
    if (this.closed) throw this.#shutdownError();
    let subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) {
      this.#subscriptions.set(channel, (subscription = new Subscription<H>(channel, this)));
    }
    let queue = subscription.queues.get(waitKey);
    if (queue === undefined) {
      const turns = this.#restingTurns(channel, waitKey) ?? new Turns(waitKey);
      this.#resting.delete(restKey(channel, waitKey));
      subscription.queues.set(waitKey, (queue = new WaitQueue<H>(subscription, kind.wakeRule, turns, rawName)));
    }
    return queue.join<T>(kind, heir, need);
  }

  /** Every waiting caller. */
  *waiting(): Generator<Waiting<H>> {
    for (const { rawName, waiters } of this.#queues()) {
      for (const { kind, joinedAt, heir } of waiters) if (kind !== undefined) yield { rawName, kind, joinedAt, heir };
    }
  }

  /**
   * Passes on the messages of a channel that wakes no waiter.
   * @throws CommandError if the user may not; ShutdownError
   */
  listen(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listeners.set(channel, listener);
    return this.subscribe(channel);
  }

  /** Ends {@link listen}. */
  unlisten(channel: string): void {
    if (this.#listeners.delete(channel) && !this.closed) this.subscriber.unsubscribe(channel);
  }

  /** Rejects every waiter and closes the subscriber. @param shutdownError - makes the error, also for later callers */
  close(shutdownError = this.#shutdownError): void {
    this.closed = true;
    this.#shutdownError = shutdownError;
    this.#resting.clear();
    this.rejectAll(shutdownError);
    this.subscriber.close();
  }

  /** Rejects every waiter. @param makeError - makes the error of each queue */
  rejectAll(makeError: () => Error): void {
    for (const queue of this.#queues()) queue.rejectAll(makeError());
  }

  /** Wakes every waiter, of any object: the client shuts down, and each waiter checks whether it may go on. */
  wakeEach(): void {
    for (const queue of this.#queues()) queue.attemptAll();
  }

  /** The raw names of all objects with waiters, each once. */
  awaited(): Set<string> {
    return new Set(this.#queues().map(({ rawName }) => rawName));
  }

  /**
   * Has waiters attempt again: an object may have become free, and no message may say so.
   * @param rawName - of the object. @default all: it cannot be known which objects have changed
   */
  wakeAll(rawName?: string): void {
    for (const queue of this.#queues()) if (rawName === undefined || queue.rawName === rawName) queue.wakeAll();
  }

  /** Subscribes the channel, however long it takes. */
  subscribe(channel: string): Promise<void> {
    this.#unused.delete(channel);
    return this.subscriber.subscribe(channel);
  }

  readonly #unsubscribe = (): void => {
    if (!this.closed) for (const channel of this.#unused) this.subscriber.unsubscribe(channel);
    this.#unused.clear();
  };

  #rest(channel: string, turns: Turns): void {
    if (this.#resting.size > 0) this.#forgetRested();
    const key = restKey(channel, turns.waitKey);
    this.#resting.delete(key);
    this.#resting.set(key, turns);
  }

  #restingTurns(channel: string, waitKey: string): Turns | undefined {
    const turns = this.#resting.get(restKey(channel, waitKey));
    return turns?.waitKey === waitKey && turns.needed ? turns : undefined;
  }

  #forgetRested(): void {
    for (const [channel, turns] of this.#resting) {
      if (turns.needed) break;
      this.#resting.delete(channel);
    }
  }

  #setInterrupted(interrupted: boolean, channels?: readonly string[]): void {
    if (channels === undefined) this.interrupted = interrupted;
    if (this.closed) return;
    for (const subscription of this.#of(channels))
      subscription.changed(channels === undefined ? undefined : interrupted);
  }

  /** @param channels - only of these. @default of all */
  #queues(channels?: readonly string[]): WaitQueue<H>[] {
    return this.#of(channels).flatMap(({ queues }) => [...queues.values()]);
  }

  #of(channels: readonly string[] | undefined): Subscription<H>[] {
    if (channels === undefined) return [...this.#subscriptions.values()];
    return channels.flatMap((channel) => this.#subscriptions.get(channel) ?? []);
  }
}

/**
 * The key of resting turns: a set of values has its own, beside other sets. Resting turns get no message, and give
 * way until their time is over.
 */
function restKey(channel: string, waitKey: string): string {
  return waitKey.includes('\u0000') ? `${channel} ${waitKey}` : channel;
}
