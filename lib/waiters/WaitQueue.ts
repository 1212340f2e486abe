import { SubscriptionTimeoutError } from '../errors';
import { Alarm } from '../util/Alarm';
import { GIVE_WAY_MS, ProcessFairness } from './fairness';
import { Polling, type PolledQueue } from './Polling';
import { Waiter, type WaitOrder } from './Waiter';

/**
 * What a message does to the waiters of its channel: a number wakes so many, `permits` wakes those that they are enough
 * for.
 */
export type WakeUp = 'next' | 'all' | 'none' | number | { readonly permits: number };

/** Reads a message of one family of channels: whom it wakes. */
export type WakeRule = (message: string) => WakeUp;

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

/**
 * The longest turn, in ms: slow sections must not keep others waiting for many times their length.
 */
const MAX_TURN_MS = 20;
/** Without a subscription, at most this many shared waiters attempt at once. */
const SHARED_RETRIES = 10;
/** Each of those that gets in wakes this many others: what it found may be there for them, too. */
const FOLLOWERS = 2;

/** What a queue needs of the subscription it shares. */
export interface QueueSubscription<H extends object = object> {
  readonly channel: string;
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** Longest pause between two attempts of those who are not subscribed, in ms. */
  readonly longestPause: number;
  /** Whether the channel is subscribed, or will be again as soon as its connection is back. */
  readonly live: boolean;
  /** Whether messages arrive. */
  readonly heard: boolean;
  /**
   * Whether the reply of an unlock tells how many listen to this channel, all of them for what this queue waits for.
   */
  readonly counted: boolean;
  /** How many listen to this channel, where an unlock does not tell; `undefined`: it cannot be known. */
  countListeners(): Promise<number> | undefined;
  /** Subscribes, for all its queues together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean;
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
export class WaitQueue<H extends object = object> implements PolledQueue {
  /** The object's key in Redis. */
  readonly rawName: string;
  /** What its messages mean. */
  readonly rule: WakeRule;
  readonly #subscription: QueueSubscription<H>;
  /** Hand-overs within this process since it got the lock. */
  #handOvers = 0;
  /** Monotonic time until which other processes may sleep, by a lease that was handed on. */
  #toldUntil = -Infinity;
  /** Monotonic time at which this process got the lock from another one, or at which its first waiter came. */
  #turnStartedAt = performance.now();
  // Made when needed: most queues live for one attempt of one waiter, on the hot path.
  #fairness: ProcessFairness | undefined;
  #head: Waiter<unknown, H> | undefined;
  /** Those behind the head. */
  #followers: Set<Waiter<unknown, H>> | undefined;
  #shared: Set<Waiter<unknown, H>> | undefined;
  /** Whether its first waiter lets other processes go first. */
  #yields = false;
  /** Wakes the head when it is to look again. */
  #recheck: Alarm | undefined;
  /** While a waiter listens and the channel is not subscribed. */
  #polling: Polling | undefined;
  /** How many shared waiters are before the one that attempts next. */
  #retried = 0;

  /** Made by Subscriptions only. */
  constructor(subscription: QueueSubscription<H>, rawName: string, rule: WakeRule) {
    this.#subscription = subscription;
    this.rawName = rawName;
    this.rule = rule;
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
    return this.#head !== undefined || this.#sharedSleeps;
  }

  /**
   * Adds a waiter.
   * @param heir - the acquisition that a holder of this process may hand the lock to
   * @param need - how many permits it waits for. @default 1
   */
  join<T>(order: WaitOrder, heir?: H, need = 1): Waiter<T, H> {
    const waiter = new Waiter<T, H>(order, heir, need);
    if (order === 'shared') (this.#shared ??= new Set()).add(waiter);
    else if (this.#head === undefined) this.#head = waiter;
    else (this.#followers ??= new Set()).add(waiter);
    this.#polling?.joined();
    return waiter;
  }

  /**
   * Its first waiter lets other processes go first: it listens, and does not attempt before so many messages, or a
   * pause, have passed.
   */
  giveWay(others: number): void {
    this.#yields = true;
    if (others > 1) this.#newFairness().giveWay(others);
    // If the subscription is refused, the waiter subscribes again itself, and gets the error.
    this.listen();
  }

  /** This process got the lock by an attempt of its own: a new turn begins. */
  beginTurn(now: number): void {
    this.#handOvers = 0;
    this.#toldUntil = -Infinity;
    this.#turnStartedAt = now;
    this.#fairness?.turnBegins();
  }

  /**
   * Whether this process may hand the lock on to a waiter of its own once more, before others get their turn.
   * @param limit - `maxHandOvers`
   */
  mayHandOver(now: number, limit: number): boolean {
    const fairness = this.#fairness;
    if (this.#handOvers >= limit || this.#handOvers >= (fairness?.handOvers ?? Infinity)) return false;
    return now - this.#turnStartedAt < MAX_TURN_MS;
  }

  /** The lock is handed on. @param deadline - monotonic time until which Redis would have kept it */
  handedOver(deadline: number): void {
    this.#handOvers++;
    this.#toldUntil = Math.max(this.#toldUntil, deadline);
  }

  /** Monotonic time until which other processes may sleep: the latest of this turn. @param deadline - that of the holder */
  toldUntil(deadline: number): number {
    return Math.max(this.#toldUntil, deadline);
  }

  /** An unlock that tells everybody is about to be sent. */
  releasing(): void {
    this.#newFairness().releasing(this.#handOvers, performance.now() - this.#turnStartedAt);
  }

  /** That unlock was answered. @param receivers - see {@link ProcessFairness.released} */
  released(receivers: number): void {
    const { counted } = this.#subscription;
    this.#fairness?.released(receivers, counted, this.#sharedSleeps);
    if (!counted) this.#fairness?.count(() => this.#subscription.countListeners());
  }

  /** Whether the waiter is the head. */
  isHead(waiter: Waiter<unknown, H>): boolean {
    return waiter === this.#head;
  }

  /** Whether its first attempt need not wait for others: it is the head, and no readers sleep. */
  mayBegin(waiter: Waiter<unknown, H>): boolean {
    return waiter === this.#head && !this.#yields && !this.#sharedSleeps;
  }

  get subscriptionTimeout(): number {
    return this.#subscription.subscriptionTimeout;
  }

  get longestPause(): number {
    return this.#subscription.longestPause;
  }

  /** Subscribes, for all its waiters together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean {
    if (this.#subscription.listen()) return true;
    this.#polling ??= new Polling(this);
    return false;
  }

  /** The channel is subscribed. A waiter that attempted before that may have missed a message. */
  subscribed(): void {
    this.#endPolling();
    for (const waiter of this.#all()) waiter.subscribed();
  }

  /** The channel cannot be subscribed: the wait of those who listen ends with the error. */
  refused(error: Error): void {
    this.#endPolling();
    for (const waiter of this.#all()) waiter.refused(error);
  }

  retryUnsubscribed(): void {
    const sharers = [...(this.#shared ?? [])];
    const retries = Math.min(SHARED_RETRIES, sharers.length);
    for (let i = 0; i < retries; i++) sharers[(this.#retried + i) % sharers.length]!.attemptUnsubscribed();
    this.#retried = sharers.length === 0 ? 0 : (this.#retried + retries) % sharers.length;
    this.#head?.attemptUnsubscribed();
  }

  expire(joinedAt: number): number | undefined {
    let next: number | undefined;
    for (const waiter of this.#all()) {
      if (waiter.timed) continue;
      if (waiter.joinedAt <= joinedAt)
        waiter.reject(new SubscriptionTimeoutError(this.channel, this.subscriptionTimeout));
      else next = Math.min(next ?? Infinity, waiter.joinedAt);
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
    if (this.#fairness?.message() !== false) this.#head?.wake();
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
    for (const waiter of this.#all()) waiter.attemptUnsubscribed();
  }

  /** Ends every wait with an error. */
  rejectAll(error: Error): void {
    for (const waiter of this.#all()) waiter.reject(error);
  }

  /** The head looks again after so many ms. One timer serves the whole queue. */
  recheckIn(ms: number): void {
    if (ms === Infinity && this.#recheck === undefined) return;
    this.#recheck ??= new Alarm(() => this.#head?.wake(), true);
    this.#recheck.set(performance.now() + Math.max(1, ms));
  }

  /** A waiter leaves. */
  remove(waiter: Waiter<unknown, H>): void {
    const { leaseMs } = waiter;
    const awake = waiter.leave();
    if (waiter.order === 'shared') {
      // A wake-up that it did not use, or used in vain, goes to another waiter.
      const handsOn = waiter.wakeKept || (waiter.woken && leaseMs === undefined);
      const there = this.#shared?.delete(waiter) === true;
      if (there && leaseMs !== undefined && !this.#subscription.heard) this.wakeSome(FOLLOWERS);
      else if (there && handsOn) this.wakeSome(1);
    } else if (waiter === this.#head) {
      this.#yields = false;
      this.#head = this.#followers?.values().next().value;
      if (this.#head !== undefined) this.#followers?.delete(this.#head);
      this.#succeed(waiter, awake);
    } else this.#followers?.delete(waiter);
    if (this.size === 0) this.#close();
  }

  #newFairness(): ProcessFairness {
    return (this.#fairness ??= new ProcessFairness(() => this.#head?.wake()));
  }

  #all(): Waiter<unknown, H>[] {
    return [...(this.#head === undefined ? [] : [this.#head]), ...(this.#followers ?? []), ...(this.#shared ?? [])];
  }

  #endPolling(): void {
    this.#polling?.end();
    this.#polling = undefined;
  }

  get #sharedSleeps(): boolean {
    if (this.#shared === undefined) return false;
    for (const waiter of this.#shared) if (waiter.asleep) return true;
    return false;
  }

  #succeed(former: Waiter<unknown, H>, awake: boolean): void {
    const { leaseMs } = former;
    if (leaseMs !== undefined) this.#fairness?.reset();
    const head = this.#head;
    if (head === undefined) return;
    if (!this.#subscription.live || (leaseMs === undefined && (awake || former.wakeKept))) head.wake();
    // A message that came during the successful attempt is mostly that of the unlock that let it in. The successor is
    // woken for it only if nothing happens for a while: awake, it could not be handed the lock.
    else if (leaseMs !== undefined) this.recheckIn(former.wakeKept ? Math.min(GIVE_WAY_MS, leaseMs) : leaseMs);
    // else: it gave up while asleep, and its timer serves the successor as well
  }

  #close(): void {
    this.#recheck?.off();
    this.#fairness?.close();
    this.#endPolling();
    this.#subscription.remove(this);
  }
}

/** @returns 0 for anything but a positive integer */
function readPermits(message: string): number {
  const permits = Number(message);
  return Number.isSafeInteger(permits) && permits > 0 ? permits : 0;
}
