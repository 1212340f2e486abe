import type { ObjectKind } from '../api';
import { SubscriptionTimeoutError } from '../errors';
import { Alarm } from '../util/Alarm';
import { Polling, type PolledQueue } from './Polling';
import { GIVE_WAY_MS, type TurnQueue, type Turns } from './Turns';
import { Waiter, type WaiterQueue, type WaitOrder } from './Waiter';

/**
 * Whom a message wakes among the waiters of its channel: a number is so many of them, `permits` are those that they are
 * enough for.
 */
type Whom = 'next' | 'all' | 'none' | number | { readonly permits: number };

/** Reads a message of one family of channels: whom it wakes. */
export type WakeRule = (message: string) => Whom;

/** Locks and read/write locks: `0` = unlocked, one may try; `1` = write lock released, everybody may. */
export const lockWakeRule: WakeRule = (message) => (message === '0' ? 'next' : message === '1' ? 'all' : 'none');

/** Semaphores: the permits there are now; a waiter that needs more need not try. */
export const semaphoreWakeRule: WakeRule = (message) => {
  const permits = readPermits(message);
  return permits > 0 ? { permits } : 'none';
};

/**
 * Permit-expirable semaphores: the permits there are now, or the number added to those. So many waiters may try,
 * whatever they need; one that gets none wakes those that need fewer.
 */
export const permitWakeRule: WakeRule = (message) => readPermits(message) || 'none';

/**
 * Count-down latches: `0` = reached zero, `1` = new count or deleted. Both wake: a deleted latch lets its waiters go,
 * which read the count again (the Java client leaves them asleep).
 */
export const latchWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** Without a subscription, at most this many shared waiters attempt at once. */
const SHARED_RETRIES = 10;
/** Each of those that gets in wakes this many others: what it found may be there for them, too. */
const FOLLOWERS = 2;

/** What a queue needs of the subscription it shares. */
export interface QueueSubscription<H extends object = object> {
  readonly channel: string;
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** Longest pause between two attempts of those whom no message reaches, in ms. */
  readonly longestPause: number;
  /** Whether the channel is subscribed, or will be again as soon as its connection is back. */
  readonly live: boolean;
  /** Whether messages arrive. */
  readonly heard: boolean;
  /** See {@link TurnQueue}. */
  readonly counted: boolean;
  /** See {@link TurnQueue}. */
  countListeners(): Promise<number | undefined>;
  /** Subscribes, for all its queues together, and tells them when it is done. */
  listen(): void;
  /** The queue is empty. */
  remove(queue: WaitQueue<H>): void;
}

/**
 * The waiters of this process for one object: one raw name, on its channel.
 *
 * - **FIFO** (exclusive locks): all are one waiter for Redis. The head attempts, listens and looks again when the ttl
 *   has passed; the others sleep until it is their turn, or until one is to find out what became of an attempt of its
 *   own. A head that acquires leaves its successor asleep, to be handed the lock or woken by the unlock; a head that
 *   gives up while awake hands the wake-up on.
 * - **Shared** (readers, semaphores, latches): each waiter attempts for itself.
 *
 * Invariants: 1. while a waiter sleeps that a message may wake, the queue is subscribed, or about to be, and looks
 * again from time to time until it is; 2. the head is never asleep without a bound unless the lock has no expiry; 3. an
 * empty queue is not in the table.
 */
export class WaitQueue<H extends object = object> implements PolledQueue, TurnQueue, WaiterQueue<H> {
  /** The object's key in Redis. */
  readonly rawName: string;
  /** What its messages mean. */
  readonly rule: WakeRule;
  /** The turns that this process takes with others. */
  readonly turns: Turns;
  /** Of a synchronizer. */
  readonly kind: ObjectKind | undefined;
  readonly #subscription: QueueSubscription<H>;
  #head: Waiter<unknown, H> | undefined;
  /** Those behind the head. */
  #followers: Set<Waiter<unknown, H>> | undefined;
  #shared: Set<Waiter<unknown, H>> | undefined;
  /** Wakes the head when it is to look again. */
  #recheck: Alarm | undefined;
  /** While a waiter listens and no message arrives. */
  #polling: Polling | undefined;
  /** How many shared waiters are before the one that attempts next. */
  #retried = 0;

  /** Made by Subscriptions only. */
  constructor(subscription: QueueSubscription<H>, rule: WakeRule, turns: Turns, kind?: ObjectKind) {
    this.kind = kind;
    this.#subscription = subscription;
    this.rawName = turns.rawName;
    this.rule = rule;
    this.turns = turns;
    turns.attach(this);
    // If the subscription is refused, the waiter subscribes again itself, and gets the error.
    if (turns.givesWay) this.listen();
  }

  get channel(): string {
    return this.#subscription.channel;
  }

  /** The first of the FIFO waiters. */
  get head(): Waiter<unknown, H> | undefined {
    return this.#head;
  }

  /** The next waiter, where it may be handed the lock: the head, while it sleeps and no wake-up is on its way. */
  get heir(): H | undefined {
    const head = this.#head;
    return head?.asleep === true && !head.wakeKept ? head.heir : undefined;
  }

  /** How many wait, FIFO and shared. */
  get size(): number {
    return (this.#head === undefined ? 0 : 1) + (this.#followers?.size ?? 0) + (this.#shared?.size ?? 0);
  }

  /**
   * Whether a fresh FIFO waiter must not attempt before others: the queue has a head, or readers sleep. No message
   * has reached these yet, and a writer would overtake them each time.
   */
  get mustQueue(): boolean {
    return this.#head !== undefined || this.readersSleep;
  }

  /**
   * Adds a waiter.
   * @param heir - the acquisition that a holder of this process may hand the lock to
   * @param need - how many permits it waits for. @default 1
   */
  join<T>(order: WaitOrder, heir?: H, need = 1): Waiter<T, H> {
    const waiter = new Waiter<T, H>(this, order, heir, need);
    if (order === 'shared') (this.#shared ??= new Set()).add(waiter);
    else if (this.#head === undefined) {
      this.#head = waiter;
      if (this.readersSleep) this.turns.giveWayToReaders();
    } else (this.#followers ??= new Set()).add(waiter);
    return waiter;
  }

  /** Whether the first attempt of a waiter need not wait for others. */
  mayBegin(waiter: Waiter<unknown, H>): boolean {
    return (waiter.order === 'shared' || waiter === this.#head) && !this.turns.givesWay;
  }

  wakeHead(): void {
    this.#head?.wake();
  }

  get readersSleep(): boolean {
    if (this.#shared === undefined) return false;
    for (const waiter of this.#shared) if (waiter.asleep) return true;
    return false;
  }

  get counted(): boolean {
    return this.#subscription.counted;
  }

  get heard(): boolean {
    return this.#subscription.heard;
  }

  countListeners(): Promise<number | undefined> {
    return this.#subscription.countListeners();
  }

  get subscriptionTimeout(): number {
    return this.#subscription.subscriptionTimeout;
  }

  get longestPause(): number {
    return this.#subscription.longestPause;
  }

  /** Subscribes, for all its waiters together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean {
    this.#subscription.listen();
    this.#poll();
    return this.#subscription.live;
  }

  /** The channel is subscribed. A waiter that attempted before that may have missed a message. */
  subscribed(): void {
    this.interrupted();
    for (const waiter of this.waiters) waiter.subscribed();
  }

  /** The connection that listens is gone, or it is back. */
  interrupted(): void {
    if (!this.#subscription.live) return;
    this.#endPolling();
    this.#poll();
  }

  /** The channel cannot be subscribed: the wait of those who listen ends with the error. */
  refused(error: Error): void {
    this.#endPolling();
    for (const waiter of this.waiters) waiter.refused(error);
  }

  retryUnsubscribed(): void {
    const sharers = [...(this.#shared ?? [])];
    const retries = Math.min(SHARED_RETRIES, sharers.length);
    for (let i = 0; i < retries; i++) sharers[(this.#retried + i) % sharers.length]!.attemptUnsubscribed();
    this.#retried = sharers.length === 0 ? 0 : (this.#retried + retries) % sharers.length;
    this.#head?.attemptUnsubscribed();
  }

  expire(since: number): number {
    const now = performance.now();
    let next = now + this.subscriptionTimeout;
    for (const waiter of this.waiters) {
      if (waiter.timed) continue;
      const due = Math.max(since, waiter.joinedAt) + this.subscriptionTimeout;
      if (due <= now) waiter.reject(new SubscriptionTimeoutError(this.channel, this.subscriptionTimeout));
      else next = Math.min(next, due);
    }
    return next;
  }

  /** A message of the channel. */
  message(text: string): void {
    const whom = this.rule(text);
    if (whom === 'none') return;
    if (typeof whom === 'number') return this.wakeSome(whom);
    if (typeof whom === 'object') return this.wakeFitting(whom.permits);
    for (const waiter of this.#shared ?? []) waiter.wake();
    if (this.turns.message()) this.#head?.wake();
  }

  /** Wakes so many shared waiters that have no wake-up yet, the longest waiting first. */
  wakeSome(count: number): void {
    let left = count;
    for (const waiter of this.#shared ?? []) {
      if (left === 0) return;
      if (waiter.wake()) left--;
    }
  }

  /** Wakes the shared waiters that this many permits are enough for, the longest waiting first. */
  wakeFitting(permits: number): void {
    let left = permits;
    for (const waiter of this.#shared ?? []) {
      if (left === 0) return;
      if (waiter.need <= left && waiter.wake()) left -= waiter.need;
    }
  }

  /** Messages may have been lost: everybody who may attempt looks again. */
  wakeAll(): void {
    for (const waiter of this.#shared ?? []) waiter.lookAgain();
    this.#head?.lookAgain();
  }

  /** Redis cannot be reached: each waiter finds out for itself, and now. */
  connectionLost(): void {
    for (const waiter of this.waiters) waiter.attemptUnsubscribed();
  }

  /** Ends every wait with an error. */
  rejectAll(error: Error): void {
    for (const waiter of this.waiters) waiter.reject(error);
  }

  /** If it is the head, it looks again after so many ms. One timer serves the whole queue. @returns whether it is */
  recheckIn(waiter: Waiter<unknown, H>, ms: number): boolean {
    if (waiter !== this.#head) return false;
    if (ms === Infinity && this.#recheck === undefined) return true;
    this.#recheck ??= new Alarm(() => this.wakeHead(), true);
    this.#recheck.set(performance.now() + Math.max(1, ms));
    return true;
  }

  beginTurn(now: number): void {
    this.turns.begin(now);
  }

  /** A waiter leaves. @param awake - whether it did not sleep */
  remove(waiter: Waiter<unknown, H>, awake: boolean): void {
    const { leaseMs } = waiter;
    if (waiter.order === 'shared') {
      // A wake-up that it did not use, or used in vain, goes to another waiter.
      const handsOn = waiter.wakeKept || (waiter.woken && leaseMs === undefined);
      const there = this.#shared?.delete(waiter) === true;
      if (there && leaseMs !== undefined && !this.heard) this.wakeSome(FOLLOWERS);
      else if (there && handsOn) this.wakeSome(1);
    } else if (waiter === this.#head) {
      this.#head = this.#followers?.values().next().value;
      if (this.#head !== undefined) this.#followers?.delete(this.#head);
      this.#succeed(waiter, awake);
    } else this.#followers?.delete(waiter);
    if (this.size === 0) this.#close();
  }

  /** All its waiters. */
  get waiters(): readonly Waiter<unknown, H>[] {
    return [...(this.#head === undefined ? [] : [this.#head]), ...(this.#followers ?? []), ...(this.#shared ?? [])];
  }

  #endPolling(): void {
    this.#polling?.end();
    this.#polling = undefined;
  }

  /** Waiters listen: while no message arrives they attempt without. */
  #poll(): void {
    if (!this.heard) this.#polling ??= new Polling(this, this.#subscription.live);
  }

  #succeed(former: Waiter<unknown, H>, awake: boolean): void {
    const { leaseMs } = former;
    const head = this.#head;
    if (head === undefined) return;
    if (!this.#subscription.live || (leaseMs === undefined && awake)) head.wake();
    // A message that came during the successful attempt is mostly that of the unlock that let it in. The successor is
    // woken for it only if nothing happens for a while: awake, it could not be handed the lock.
    else if (leaseMs !== undefined) this.recheckIn(head, former.wakeKept ? Math.min(GIVE_WAY_MS, leaseMs) : leaseMs);
    // else: it gave up while asleep, and its timer serves the successor as well
  }

  #close(): void {
    this.#recheck?.off();
    this.turns.detach();
    this.#endPolling();
    this.#subscription.remove(this);
  }
}

/** @returns 0 for anything but a positive integer */
function readPermits(message: string): number {
  const permits = Number(message);
  return Number.isSafeInteger(permits) && permits > 0 ? permits : 0;
}
