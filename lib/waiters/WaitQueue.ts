import type { Attempt, Wait, Wake } from '../acquire/acquireWithin';
import type { ObjectKind } from '../api';
import { SubscriptionTimeoutError } from '../errors';
import { Alarm } from '../util/Alarm';
import { GIVE_WAY_MS, type TurnSubscription, type Turns } from './Turns';

/**
 * Which waiters of its channel a message wakes. A number: wake that many; `permits`: wake those for which they are
 * enough.
 */
type Whom = 'next' | 'all' | 'none' | number | { readonly permits: number };

/** Reads a message of one family of channels: which waiters it wakes. */
export type WakeRule = (message: string) => Whom;

/** Locks and read/write locks: `0` = unlocked, one may try; `1` = write lock released, all may try. */
export const lockWakeRule: WakeRule = (message) => (message === '0' ? 'next' : message === '1' ? 'all' : 'none');

/** Semaphores: the permits there are now; a waiter that needs more need not try. */
export const semaphoreWakeRule: WakeRule = (message) => {
  const permits = readPermits(message);
  return permits > 0 ? { permits } : 'none';
};

/**
 * Permit-expirable semaphores: the permits there are now, or the number added to those. That many waiters may try,
 * whatever they need; one that gets none wakes those that need fewer.
 */
export const permitWakeRule: WakeRule = (message) => readPermits(message) || 'none';

/**
 * Count-down latches: `0` = reached zero, `1` = new count or deleted. Both wake: a deleted latch lets its waiters go,
 * which read the count again (the Java client leaves them asleep).
 */
export const latchWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** How waiters wait: `fifo` = one after the other, only the head attempts; `shared` = each for itself. */
export type WaitOrder = 'fifo' | 'shared';

/** How a kind of object has its callers wait. */
export interface WaitingKind {
  /** `undefined`: no caller waits, the messages are only listened to. */
  readonly name: ObjectKind | undefined;
  readonly waitOrder: WaitOrder;
  readonly wakeRule: WakeRule;
}

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
/** Each of those that succeeds wakes this many others, which may succeed, too. */
const FOLLOWERS = 2;

/** What a queue needs of the subscription that it shares. */
export interface QueueSubscription<H extends object> extends TurnSubscription {
  readonly channel: string;
  readonly settings: SubscriptionSettings;
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
 * attempts from time to time until it is; 2. the head is never asleep without a bound unless the lock has no expiry; 3. an
 * empty queue is not in the table.
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
  /** Has waiters attempt after pauses, while one listens and no message arrives. */
  #polling: Alarm | undefined;
  #unheardSince = 0;
  /** The next pause, in ms, and when it ends. */
  #pause = 0;
  #retryAt = 0;
  /** How many shared waiters are before the one that attempts next. */
  #retried = 0;

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

  /** Subscribes, for all its waiters together, and notifies them when it is done. @returns whether it is done already */
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
    // Those who are woken first attempt first. Behind the release of a reader this process gives way, so a head that
    // readers pass each time would never get in beside a busy process: it goes first the next time.
    const headFirst = isTurn && this.#passed;
    if (headFirst) this.#head?.wake();
    if (isTurn) this.#passed = !headFirst && this.#head !== undefined && this.readersSleep;
    for (const waiter of this.#shared ?? []) waiter.wake();
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
   * Redis cannot be reached: each waiter attempts now, and gets the error itself. All of them say so, but only the first
   * has somebody to wake: this costs one look at the waiters per outage, not one per waiter.
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
    } else if (waiter === this.#head) {
      this.#head = this.#followers?.values().next().value;
      if (this.#head !== undefined) this.#followers?.delete(this.#head);
      this.#succeed(waiter, awake, leaseMs);
    } else this.#followers?.delete(waiter);
    if (this.size === 0) this.#close();
  }

  /** All its waiters. */
  get waiters(): readonly Waiter<unknown, H>[] {
    return [...(this.#head === undefined ? [] : [this.#head]), ...(this.#followers ?? []), ...(this.#shared ?? [])];
  }

  #endPolling(): void {
    this.#polling?.off();
    this.#polling = undefined;
  }

  /**
   * Waiters listen: while no message arrives (the channel is not subscribed yet, or the connection that listens is gone)
   * they attempt without, after pauses. A gap of a live subscription heals by itself, and its end wakes the waiters: they
   * attempt only when it lasts.
   */
  #poll(): void {
    const { heard, live, settings } = this.subscription;
    if (heard || this.#polling !== undefined) return;
    this.#polling = new Alarm(() => this.#pollDue(), {
      awaited: true,
      judges: () => !this.subscription.live,
    });
    this.#unheardSince = performance.now();
    this.#pause = live ? settings.timeout : Math.min(FIRST_PAUSE_MS, settings.timeout);
    this.#retryAt = this.#unheardSince + this.#pause;
    this.#pollDue();
  }

  #pollDue(): void {
    const { live, settings } = this.subscription;
    const now = performance.now();
    const expiresAt = live ? Infinity : this.#expire(now);
    const retries = now >= this.#retryAt;
    if (retries) {
      this.#pause = Math.min(2 * this.#pause, settings.timeout);
      this.#retryAt = now + this.#pause;
    }
    this.#polling?.set(Math.min(this.#retryAt, expiresAt));
    if (retries) this.#retryUnsubscribed();
  }

  /** The head, and some of the shared waiters, attempt without a subscription. */
  #retryUnsubscribed(): void {
    const sharers = [...(this.#shared ?? [])];
    const retries = Math.min(SHARED_RETRIES, sharers.length);
    for (let i = 0; i < retries; i++) sharers[(this.#retried + i) % sharers.length]!.attemptUnsubscribed();
    this.#retried = sharers.length === 0 ? 0 : (this.#retried + retries) % sharers.length;
    this.#head?.attemptUnsubscribed();
  }

  /**
   * Rejects the waiters without a limit whose time to become subscribed is up.
   * @returns when the time of the next may be up, also of one that joins from now on
   */
  #expire(now: number): number {
    const { channel, settings } = this.subscription;
    const { subscriptionTimeout } = settings;
    let next = now + subscriptionTimeout;
    for (const waiter of this.waiters) {
      if (waiter.timed) continue;
      const due = Math.max(this.#unheardSince, waiter.joinedAt) + subscriptionTimeout;
      if (due <= now) waiter.reject(new SubscriptionTimeoutError(channel, subscriptionTimeout));
      else next = Math.min(next, due);
    }
    return next;
  }

  #succeed(former: Waiter<unknown, H>, awake: boolean, leaseMs: number | undefined): void {
    const head = this.#head;
    if (head === undefined) return;
    if (!this.subscription.live || (leaseMs === undefined && awake)) head.wake();
    // A message that came during the successful attempt is mostly that of the unlock that let it in. The successor is
    // woken for it only if nothing happens for a while: awake, it could not be handed the lock.
    else if (leaseMs !== undefined)
      this.recheckIn(head, former.kept !== undefined ? Math.min(GIVE_WAY_MS, leaseMs) : leaseMs);
    // else: it gave up while asleep, and its timer serves the successor as well
  }

  #close(): void {
    this.#recheck?.off();
    this.turns.detach();
    this.#endPolling();
    this.subscription.remove(this);
  }
}

/** Resolves a sleep. From a method, so that a waiter for any `T` is one for `unknown`. */
type Sleeper<T> = { wake(wake: Wake<T>): void }['wake'];

/** Why a waiter was woken: a message came; one may have been missed; or all were woken. */
type Reason = 'message' | 'doubt' | 'everyone';

/** Whether another waiter may use that wake-up instead. */
function isForOne(reason: Reason | undefined): boolean {
  return reason !== undefined && reason !== 'everyone';
}

/**
 * One waiter of a queue, and its wait as the waiting loop sees it: a latch that keeps one wake-up.
 *
 * States: awake (a wake-up that comes now is kept) <-> listening (until subscribed, or woken) | asleep -> left.
 */
export class Waiter<T, H extends object = object> implements Wait<T> {
  /** The kind of the object that its caller waits for; `undefined`: no caller waits, see {@link WaitingKind}. */
  readonly kind: ObjectKind | undefined;
  readonly order: WaitOrder;
  /** The acquisition that waits here, for a holder of this process that hands its lock over. */
  readonly heir: H | undefined;
  /** How many permits it waits for. */
  readonly need: number;
  readonly joinedAt = performance.now();
  timed = false;
  readonly #queue: WaitQueue<H>;
  /** Whether it has begun to attempt. */
  #begun = false;
  /** A wake-up that came while it was awake, kept for its next sleep. */
  kept: Reason | undefined;
  /** Why it was woken; `undefined`: it was not, or it has gone back to sleep. After a message it is likely to acquire. */
  woken: Reason | undefined;
  /** Ends its sleep, or its wait for the subscription. These two instead of a deferred promise: thousands may sleep. */
  #sleeper: Sleeper<T> | undefined;
  #failSleep: ((error: Error) => void) | undefined;
  /** Whether it waits for the subscription. */
  #listening = false;
  #error: Error | undefined;
  #alarm: Alarm | undefined;
  /** Whether it attempts although it is not subscribed, until it is. */
  #unsubscribed = false;

  /** Made by its queue only. */
  constructor(queue: WaitQueue<H>, { name, waitOrder }: WaitingKind, heir: H | undefined, need: number) {
    this.#queue = queue;
    this.kind = name;
    this.order = waitOrder;
    this.heir = heir;
    this.need = need;
  }

  /** Whether it sleeps. */
  get asleep(): boolean {
    return this.#sleeper !== undefined && !this.#listening;
  }

  get isTurn(): boolean {
    return this.#queue.mayBegin(this);
  }

  listen(): Promise<void> | undefined {
    this.#begun = true;
    if (this.#queue.listen()) this.#unsubscribed = false;
    // No message reaches it yet, but it was sent to attempt all the same.
    else if (!this.#unsubscribed) {
      this.#listening = true;
      return this.#endedByOthers() as Promise<void>;
    }
    return undefined;
  }

  sleep(retryInMs: number, inDoubt = false): Promise<Wake<T>> {
    const queue = this.#queue;
    if (this.#error !== undefined) return Promise.reject(this.#error);
    // Woken in vain: there are fewer permits than it needs, but perhaps enough for other waiters.
    if (this.woken !== undefined && this.need > 1) queue.wakeSome(this.need - 1, true);
    this.woken = this.kept;
    this.kept = undefined;
    if (this.woken !== undefined) return Promise.resolve(undefined);
    // A waiter that has not begun gives way: it tries at the next message, or when none comes.
    const ms = this.#begun || retryInMs !== Infinity ? retryInMs : queue.turns.giveWayMs;
    if (!queue.recheckIn(this, ms) && ms !== Infinity && (inDoubt || this.order === 'shared')) {
      this.#alarm ??= new Alarm(() => this.wake('doubt'), { awaited: true });
      this.#alarm.set(performance.now() + Math.max(1, ms));
    }
    return this.#endedByOthers();
  }

  #endedByOthers(): Promise<Wake<T>> {
    this.#queue.sleepers++;
    return new Promise((resolve, reject) => {
      this.#sleeper = resolve;
      this.#failSleep = reject;
    });
  }

  /**
   * Wakes it, or keeps the wake-up when it is not asleep.
   * @param reason - @default a message says that it may acquire
   * @returns whether it had none kept before
   */
  wake(reason: Reason = 'message'): boolean {
    if (this.#listening) this.#unsubscribed = true;
    const sleeper = this.#endSleep();
    if (sleeper !== undefined) {
      this.woken = reason;
      sleeper(undefined);
      return true;
    }
    const isNew = this.kept === undefined;
    if (this.kept !== 'message') this.kept = reason;
    return isNew;
  }

  /** Wakes it with an attempt that a holder makes for it: a hand-over. It must be asleep. */
  wakeWith(attempt: Promise<Attempt<T>>): void {
    this.#endSleep()?.({ attempt });
  }

  /** Ends its sleep with an error: this one, or the one it is about to begin. */
  reject(error: Error): void {
    this.#error = error;
    const failSleep = this.#failSleep;
    this.#endSleep();
    failSleep?.(error);
  }

  /** Wakes it for an attempt, even if it is not subscribed. */
  attemptUnsubscribed(reason: Reason = 'doubt'): void {
    this.#unsubscribed = true;
    this.wake(reason);
  }

  /** Messages arrive from now on. An attempt before that may have missed one: it makes another. */
  subscribed(): void {
    if (this.#listening) this.#endSleep()?.(undefined);
    if (!this.#unsubscribed) return;
    this.#unsubscribed = false;
    this.wake('doubt');
  }

  /** It cannot be subscribed. */
  refused(error: Error): void {
    if (this.#listening || this.#unsubscribed) this.reject(error);
  }

  /** It has acquired by an attempt of its own, not by a hand-over. */
  beginTurn(now: number): void {
    if (this.order === 'fifo') this.#queue.turns.begin(now);
  }

  connectionLost(): void {
    this.#queue.connectionLost();
  }

  leave(leaseMs?: number): void {
    const awake = !this.asleep;
    this.#endSleep();
    this.#queue.remove(this, awake, leaseMs);
  }

  #endSleep(): Sleeper<T> | undefined {
    const sleeper = this.#sleeper;
    if (sleeper !== undefined) this.#queue.sleepers--;
    this.#sleeper = this.#failSleep = undefined;
    this.#listening = false;
    this.#alarm?.off();
    return sleeper;
  }
}

/** @returns 0 for anything but a positive integer */
function readPermits(message: string): number {
  const permits = Number(message);
  return Number.isSafeInteger(permits) && permits > 0 ? permits : 0;
}
