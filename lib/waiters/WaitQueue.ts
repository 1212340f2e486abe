import { Alarm } from '../util/Alarm';
import { Polling, type SubscriptionSettings } from './Polling';
import { GIVE_WAY_MS, type TurnSubscription, type Turns } from './Turns';
import { isForOne, Waiter, type WaitingKind } from './Waiter';
import type { WakeRule } from './wakeRules';

/** Each of those that succeeds wakes this many others, which may succeed, too. */
const FOLLOWERS = 2;

/** What a queue needs of the subscription that it shares. */
export interface QueueSubscription<H extends object> extends TurnSubscription {
  readonly channel: string;
  readonly settings: SubscriptionSettings;
  /** Whether messages arrive. */
  readonly heard: boolean;
  /** Whether the channel is subscribed, or will be again as soon as its connection is back. */
  readonly live: boolean;
  /** Subscribes, for all its queues together, and notifies them when it is done. */
  listen(): void;
  /** Its queues, by what they wait for. */
  readonly queues: ReadonlyMap<string, WaitQueue<H>>;
  /** The queue is empty. */
  remove(queue: WaitQueue<H>): void;
}

/**
 * The waiters of this process for one object: one raw name, on its channel; of a group lock, for one set of values.
 *
 * - **FIFO** (exclusive locks): all are one waiter for Redis. The head attempts, listens and tries again when the ttl
 *   has passed; the others sleep until it is their turn, or until one is to find out what became of an attempt of its
 *   own. A head that acquires leaves its successor asleep, to be handed the lock or woken by the unlock; a head that
 *   gives up while awake hands the wake-up on.
 * - **Shared** (readers, semaphores, latches): each waiter attempts for itself.
 *
 * Invariants: 1. while a waiter sleeps that a message may wake, the queue is subscribed, or about to be, and
 * attempts from time to time until it is; 2. the head is never asleep without a bound unless the lock has no expiry; 3.
 * an empty queue is not in the table.
 */
export class WaitQueue<H extends object = object> {
  /** The object's key in Redis. */
  readonly rawName: string;
  /** What its messages mean. */
  readonly rule: WakeRule;
  /** The turns that this process takes with others. */
  readonly turns: Turns;
  /** The subscription of its channel. */
  readonly subscription: QueueSubscription<H>;
  /** How many of its waiters sleep, or wait for the subscription. */
  sleepers = 0;
  #head: Waiter<unknown, H> | undefined;
  /** The waiters behind the head. */
  #followers: Set<Waiter<unknown, H>> | undefined;
  #shared: Set<Waiter<unknown, H>> | undefined;
  /** Whether readers have gone before the head, with the last message that was for both. */
  #passed = false;
  /** Wakes the head when it is to attempt again. */
  #recheck: Alarm | undefined;
  /** While one listens and no message arrives. */
  #polling: Polling | undefined;

  /** Made by Subscriptions only. */
  constructor(subscription: QueueSubscription<H>, rule: WakeRule, turns: Turns, rawName: string) {
    this.subscription = subscription;
    this.rawName = rawName;
    this.rule = rule;
    this.turns = turns;
    turns.attach(this);
    // If the subscription is refused, the waiter subscribes again itself, and gets the error.
    if (turns.givesWay) this.listen();
  }

  /** The first of the FIFO waiters. */
  get head(): Waiter<unknown, H> | undefined {
    return this.#head;
  }

  /**
   * The next waiter, where it may be handed the lock: the head, while it sleeps and no wake-up is on its way. Not where
   * readers sleep, or they would wait for all writers of this process.
   */
  get heir(): H | undefined {
    const head = this.#head;
    return head?.asleep === true && head.kept === undefined && !this.readersSleep ? head.heir : undefined;
  }

  /** The longest waiting: the head, else the first of the shared waiters. */
  get first(): Waiter<unknown, H> | undefined {
    return this.#head ?? this.#shared?.values().next().value;
  }

  /** The number of waiters, FIFO and shared. */
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
   * @param need - how many permits it waits for
   */
  join<T>(kind: WaitingKind, heir: H | undefined, need: number): Waiter<T, H> {
    const waiter = new Waiter<T, H>(this, kind, heir, need);
    if (kind.waitOrder === 'shared') (this.#shared ??= new Set()).add(waiter);
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

  /** Its head may try now. */
  wakeHead(): void {
    this.#head?.wake();
  }

  /** Whether readers sleep. They go first. */
  get readersSleep(): boolean {
    if (this.#shared === undefined) return false;
    for (const waiter of this.#shared) if (waiter.asleep) return true;
    return false;
  }

  /**
   * Subscribes, for all its waiters together, and notifies them when it is done. @returns whether it is done already
   */
  listen(): boolean {
    this.subscription.listen();
    this.#poll();
    return this.subscription.live;
  }

  /** The channel is subscribed. A waiter that attempted before that may have missed a message. */
  subscribed(): void {
    this.interrupted();
    for (const waiter of this.waiters) waiter.subscribed();
  }

  /** The connection for subscriptions is gone, or it is back. */
  interrupted(): void {
    if (!this.subscription.live) return;
    this.#endPolling();
    this.#poll();
  }

  /** The channel cannot be subscribed: the waits of its listeners end with the error. */
  refused(error: Error): void {
    this.#endPolling();
    for (const waiter of this.waiters) waiter.refused(error);
  }

  /** A message of the channel. */
  message(text: string): void {
    const whom = this.rule(text);
    if (whom === 'none') return;
    if (typeof whom === 'number') return this.wakeSome(whom);
    if (typeof whom === 'object') return this.wakeSome(whom.permits, true);
    const isTurn = this.turns.message();
    if (this.#shared !== undefined) return this.#wakeBoth(isTurn);
    if (isTurn) this.#head?.wake();
  }

  /**
   * Those who are woken first attempt first. Behind the release of a reader this process gives way, so a head that
   * readers pass each time would never get in beside a busy process: it goes first the next time.
   */
  #wakeBoth(isTurn: boolean): void {
    const headFirst = isTurn && this.#passed;
    if (headFirst) this.#head?.wake();
    if (isTurn) this.#passed = !headFirst && this.#head !== undefined && this.readersSleep;
    for (const waiter of this.#shared!) waiter.wake();
    if (isTurn && !headFirst) this.#head?.wake();
  }

  /**
   * Wakes up to `count` shared waiters that have no wake-up yet, the longest waiting first.
   * @param permits - `true`: `count` permits are available; wakes the waiters for which they are enough
   */
  wakeSome(count: number, permits = false): void {
    let left = count;
    for (const waiter of this.#shared ?? []) {
      if (left === 0) return;
      const need = permits ? waiter.need : 1;
      if (need <= left && waiter.wake()) left -= need;
    }
  }

  /** Messages may have been lost: every waiter that may attempt does so. */
  wakeAll(): void {
    for (const waiter of this.#shared ?? []) waiter.wake('doubt');
    this.#head?.wake('doubt');
  }

  /**
   * Redis cannot be reached: each waiter attempts now, and gets the error itself. All of them say so, but only the
   * first has somebody to wake: this costs one look at the waiters per outage, not one per waiter.
   */
  connectionLost(): void {
    if (this.sleepers > 0) this.attemptAll();
  }

  /** Each waiter attempts, now or when its attempt under way has failed. */
  attemptAll(): void {
    for (const waiter of this.waiters) waiter.attemptUnsubscribed('everyone');
  }

  /** Ends every wait with an error. */
  rejectAll(error: Error): void {
    for (const waiter of this.waiters) waiter.reject(error);
  }

  /** If it is the head, it attempts again after `ms`. One timer serves the whole queue. @returns whether it is */
  recheckIn(waiter: Waiter<unknown, H>, ms: number): boolean {
    if (waiter !== this.#head) return false;
    if (ms === Infinity && this.#recheck === undefined) return true;
    this.#recheck ??= new Alarm(() => this.wakeHead(), { awaited: true });
    this.#recheck.set(performance.now() + Math.max(1, ms));
    return true;
  }

  /**
   * A waiter leaves.
   * @param awake - whether it did not sleep
   * @param leaseMs - the lease that it has acquired, in ms: unless woken, its successor need not attempt before
   */
  remove(waiter: Waiter<unknown, H>, awake: boolean, leaseMs: number | undefined): void {
    if (waiter.order === 'shared') {
      // A wake-up that it did not use, or used in vain, goes to another waiter.
      const handsOn = isForOne(waiter.kept) || (isForOne(waiter.woken) && leaseMs === undefined);
      const there = this.#shared?.delete(waiter) === true;
      if (there && leaseMs !== undefined && !this.subscription.heard) this.wakeSome(FOLLOWERS);
      else if (there && handsOn) this.wakeSome(1);
      if (this.#shared?.size === 0) this.#shared = undefined;
    } else if (waiter === this.#head) {
      const next = this.#followers?.values().next().value;
      this.#head = next;
      if (next !== undefined) {
        this.#followers!.delete(next);
        this.#succeed(next, waiter, awake, leaseMs);
      }
    } else this.#followers?.delete(waiter);
    // Without a head nobody follows.
    if (this.#head !== undefined || this.#shared !== undefined) return;
    this.#recheck?.off();
    this.turns.detach();
    this.#polling?.off();
    this.subscription.remove(this);
  }

  /** The waiters that attempt for themselves. */
  get sharers(): readonly Waiter<unknown, H>[] {
    return [...(this.#shared ?? [])];
  }

  /** All its waiters. */
  get waiters(): readonly Waiter<unknown, H>[] {
    return [...(this.#head === undefined ? [] : [this.#head]), ...(this.#followers ?? []), ...(this.#shared ?? [])];
  }

  #endPolling(): void {
    this.#polling?.off();
    this.#polling = undefined;
  }

  #poll(): void {
    if (!this.subscription.heard) this.#polling ??= new Polling(this);
  }

  #succeed(head: Waiter<unknown, H>, former: Waiter<unknown, H>, awake: boolean, leaseMs: number | undefined): void {
    if (!this.subscription.live || (leaseMs === undefined && awake)) head.wake();
    // A message that came during the successful attempt usually comes from the unlock that let it in. The successor is
    // woken for it only if nothing happens for a while: awake, it could not be handed the lock.
    else if (leaseMs !== undefined)
      this.recheckIn(head, former.kept !== undefined ? Math.min(GIVE_WAY_MS, leaseMs) : leaseMs);
    // else: it gave up while asleep, and its timer serves the successor as well
  }
}
