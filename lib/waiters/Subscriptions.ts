import type { Subscriber } from '../connection/pubsub/Subscriber';
import { ShutdownError } from '../errors';
import { Turns } from './Turns';
import type { ObjectKind } from '../api';
import {
  type QueueSubscription,
  type SubscriptionSettings,
  WaitQueue,
  type Waiter,
  type WaitingKind,
  type WakeRule,
} from './WaitQueue';

/** One caller that waits, for those who ask. */
export interface Waiting<H extends object = object> {
  readonly rawName: string;
  readonly kind: ObjectKind;
  /** Since when (monotonic). */
  readonly joinedAt: number;
  /** Its acquisition, if it waits for a lock. */
  readonly heir: H | undefined;
}

/**
 * The table of subscriptions, the only one that wakes waiters: channel -> {@link Subscription} -> {@link WaitQueue} of a
 * raw name. (`listeners/` hears of keys on connections of its own.) A queue is there as long as it has waiters, a
 * subscription as long as it has a queue. The channel of one that is empty is unsubscribed when this turn of the event
 * loop is over: a caller that has just got the lock does not wait for that, and a queue that follows at once takes the
 * subscription over. SUBSCRIBE and UNSUBSCRIBE of a channel travel on one connection in the order they were decided.
 *
 * States: open -> closed.
 */
export class Subscriptions<H extends object = object> {
  readonly settings: SubscriptionSettings;
  /** Its connections that listen. */
  readonly subscriber: Subscriber;
  /** Whether a connection that listens is gone. */
  interrupted = false;
  /** Whether nobody can join any more. */
  closed = false;
  readonly #subscriptions = new Map<string, Subscription<H>>();
  /** Channels without waiters that are still subscribed. */
  readonly #unused = new Set<string>();
  /** Turns of locks that nobody here waits for, by channel, the longest resting first. */
  readonly #resting = new Map<string, Turns>();
  /** Who listens to a channel that wakes nobody. */
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
      interrupted: () => this.#setInterrupted(true),
      restored: () => {
        this.#setInterrupted(false);
        this.wakeAll();
      },
    };
  }

  /** How many channels have waiters. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /**
   * The queue of an object, if anybody waits. Its channel alone is not enough: another object may have the same one.
   */
  queue(channel: string, rawName: string): WaitQueue<H> | undefined {
    // When it is closed, all waiters have been rejected, and are about to leave.
    return this.closed ? undefined : this.#subscriptions.get(channel)?.queue(rawName);
  }

  /** Whether nobody waits, nor has just waited: then there is no queue, and there are no turns. */
  get idle(): boolean {
    if (this.#resting.size > 0) this.#forgetRested();
    return this.#subscriptions.size === 0 && this.#resting.size === 0;
  }

  /** The turns of a lock, if anybody waits for it, or has just waited, or others waited when it was released. */
  turns(channel: string, rawName: string): Turns | undefined {
    return this.queue(channel, rawName)?.turns ?? this.#restingTurns(channel, rawName);
  }

  /**
   * An unlock of a lock without turns was answered. The next acquisition gives way to those who got the message.
   * @param receivers - how many
   */
  released(channel: string, rawName: string, receivers: number): void {
    // The receivers on one node say nothing about other nodes: this process would give way more often than the rest.
    if (!this.subscriber.countsReceivers || receivers === 0 || this.turns(channel, rawName) !== undefined) return;
    const turns = new Turns(rawName);
    turns.releasing();
    turns.released(receivers, this.#subscriptions.has(channel));
    this.rest(channel, turns);
  }

  /** Nobody waits for a lock any more: its turns are kept for a while. */
  rest(channel: string, turns: Turns): void {
    if (!this.subscriber.countsReceivers || this.closed) return;
    this.#forgetRested();
    this.#resting.delete(channel);
    this.#resting.set(channel, turns);
  }

  /**
   * Wakes those who wait on a channel for another object than this one: no message tells them what happened to the keys
   * that both share.
   */
  wakeOthers(channel: string, rawName: string): void {
    for (const queue of this.#subscriptions.get(channel)?.queues ?? []) if (queue.rawName !== rawName) queue.wakeAll();
  }

  /**
   * Joins the waiters for an object. Nothing is sent before a waiter listens.
   * @param kind - of the object: how its callers wait
   * @param rawName - of the object; its channel may be that of other names, too
   * @param heir - the acquisition that a holder of this process may hand the lock to. @default none
   * @param need - how many permits it waits for
   * @throws ShutdownError when the client is shut down
   */
  join<T>(kind: WaitingKind, channel: string, rawName: string, heir?: H, need = 1): Waiter<T, H> {
    if (this.closed) throw this.#shutdownError();
    let subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) {
      this.#subscriptions.set(channel, (subscription = new Subscription<H>(channel, this)));
    }
    let queue = subscription.queue(rawName, kind.wakeRule);
    if (queue === undefined) {
      const turns = this.#restingTurns(channel, rawName) ?? new Turns(rawName);
      this.#resting.delete(channel);
      subscription.queues.push((queue = new WaitQueue<H>(subscription, kind.wakeRule, turns)));
    }
    return queue.join<T>(kind, heir, need);
  }

  /** Every caller who waits. */
  *waiting(): Generator<Waiting<H>> {
    for (const { rawName, waiters } of this.#queues()) {
      for (const { kind, joinedAt, heir } of waiters) if (kind !== undefined) yield { rawName, kind, joinedAt, heir };
    }
  }

  /**
   * Hears the messages of a channel that wakes nobody.
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

  /** Rejects every waiter and closes the subscriber. @param shutdownError - makes what they get, and who comes later */
  close(shutdownError = this.#shutdownError): void {
    this.closed = true;
    this.#shutdownError = shutdownError;
    this.#resting.clear();
    this.rejectAll(shutdownError);
    this.subscriber.close();
  }

  /** Rejects every waiter. @param makeError - makes what each queue gets */
  rejectAll(makeError: () => Error): void {
    for (const queue of this.#queues()) queue.rejectAll(makeError());
  }

  /** Wakes every waiter, whatever its place: the client shuts down, and each finds out whether it may go on. */
  wakeEach(): void {
    for (const queue of this.#queues()) queue.connectionLost();
  }

  /** The raw names of all objects that are waited for, each once. */
  awaited(): Set<string> {
    return new Set(this.#queues().map(({ rawName }) => rawName));
  }

  /**
   * Lets waiters look again: an object may have become free, and no message may say so.
   * @param rawName - of the object. @default all: it cannot be known for whom something has changed
   */
  wakeAll(rawName?: string): void {
    for (const queue of this.#queues()) if (rawName === undefined || queue.rawName === rawName) queue.wakeAll();
  }

  /** Subscribes the channel, however long it takes. */
  subscribe(channel: string): Promise<void> {
    this.#unused.delete(channel);
    return this.subscriber.subscribe(channel);
  }

  /** A channel has no waiters any more. @param subscribed - whether it had asked for a subscription */
  drop(subscription: Subscription<H>, subscribed: boolean): void {
    const { channel } = subscription;
    if (this.#subscriptions.get(channel) === subscription) this.#subscriptions.delete(channel);
    if (!subscribed || this.closed) return;
    if (this.#unused.size === 0) setImmediate(this.#unsubscribe);
    this.#unused.add(channel);
  }

  readonly #unsubscribe = (): void => {
    if (!this.closed) for (const channel of this.#unused) this.subscriber.unsubscribe(channel);
    this.#unused.clear();
  };

  #restingTurns(channel: string, rawName: string): Turns | undefined {
    const turns = this.#resting.get(channel);
    return turns?.rawName === rawName && turns.needed ? turns : undefined;
  }

  #forgetRested(): void {
    for (const [channel, turns] of this.#resting) {
      if (turns.needed) break;
      this.#resting.delete(channel);
    }
  }

  #setInterrupted(interrupted: boolean): void {
    this.interrupted = interrupted;
    if (!this.closed) for (const queue of this.#queues()) queue.interrupted();
  }

  #queues(): WaitQueue<H>[] {
    return [...this.#subscriptions.values()].flatMap(({ queues }) => queues);
  }
}

/**
 * One channel, and the queues of this process that listen to it.
 *
 * A channel may stand for more than one object: Redisson gives the names `x` and `{x}` the same one, as it does a
 * semaphore and a permit-expirable semaphore of one name. So a queue is found by the raw name and the wake rule as
 * well, a message goes to every queue, and the channel is unsubscribed with the last of them.
 */
class Subscription<H extends object = object> implements QueueSubscription<H> {
  readonly channel: string;
  readonly settings: SubscriptionSettings;
  /** Hardly ever more than one, and never more than a handful: so few names share a channel. */
  readonly queues: WaitQueue<H>[] = [];
  live = false;
  readonly #table: Subscriptions<H>;
  #subscribing = false;

  /** Made by Subscriptions only. */
  constructor(channel: string, table: Subscriptions<H>) {
    this.channel = channel;
    this.settings = table.settings;
    this.#table = table;
  }

  get heard(): boolean {
    return this.live && !this.#table.interrupted;
  }

  /** Where objects of two names share it, the number of listeners says nothing about either. */
  get counted(): boolean {
    return this.queues.length === 1 && this.#table.subscriber.countsReceivers;
  }

  async countListeners(): Promise<number | undefined> {
    return this.queues.length === 1 ? this.#table.subscriber.countListeners?.(this.channel) : undefined;
  }

  /** The queue of an object. @param rule - `undefined`: whatever its rule is */
  queue(rawName: string, rule?: WakeRule): WaitQueue<H> | undefined {
    for (const queue of this.queues) {
      if (queue.rawName === rawName && (rule === undefined || queue.rule === rule)) return queue;
    }
    return undefined;
  }

  /** A queue is empty. */
  remove(queue: WaitQueue<H>): void {
    const index = this.queues.indexOf(queue);
    if (index >= 0) this.queues.splice(index, 1);
    this.#table.rest(this.channel, queue.turns);
    if (this.queues.length === 0) this.#table.drop(this, this.#subscribing);
  }

  /** Subscribes, for all its queues together, and tells them when it is done. */
  listen(): void {
    if (this.#subscribing) return;
    this.#subscribing = true;
    this.#table.subscribe(this.channel).then(
      () => {
        this.live = true;
        for (const queue of [...this.queues]) queue.subscribed();
      },
      (error: unknown) => {
        // A failed subscription is forgotten, so that the next waiter asks anew and is not failed by this one.
        this.#subscribing = false;
        for (const queue of [...this.queues]) queue.refused(error as Error);
      },
    );
  }

  /** A message of the channel. */
  message(text: string): void {
    // A queue that is emptied meanwhile leaves the list.
    if (this.queues.length === 1) this.queues[0]!.message(text);
    else for (const queue of [...this.queues]) queue.message(text);
  }
}
