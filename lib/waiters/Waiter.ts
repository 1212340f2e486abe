import pDefer, { type DeferredPromise } from 'p-defer';
import type { Attempt, Wait, Wake } from '../acquire/acquireWithin';
import { clampTimer } from '../util/duration';
import { GIVE_WAY_MS } from './Turns';

/** How waiters wait: `fifo` = one after the other, only the head attempts; `shared` = each for itself. */
export type WaitOrder = 'fifo' | 'shared';

/** Resolves a sleep. From a method, so that a waiter for any `T` is one for `unknown`. */
type Sleeper<T> = { wake(wake: Wake<T>): void }['wake'];

/** Why a waiter was woken: a message came, or one may have been missed. */
type Reason = 'message' | 'doubt';

/** What a waiter needs of its queue. */
export interface WaiterQueue<H extends object> {
  /** Whether the first attempt of a waiter need not wait for others. */
  mayBegin(waiter: Waiter<unknown, H>): boolean;
  /** Subscribes. @returns whether that is done already */
  listen(): boolean;
  /** Whether the queue looks after the sleep of a waiter, since it is the head; then it looks again after so many ms. */
  recheckIn(waiter: Waiter<unknown, H>, ms: number): boolean;
  /** There may be so many permits for others. */
  wakeFitting(permits: number): void;
  /** The head got the lock by an attempt of its own. */
  beginTurn(now: number): void;
  /** All attempt now. */
  connectionLost(): void;
  /** The waiter leaves. @param awake - whether it did not sleep */
  remove(waiter: Waiter<unknown, H>, awake: boolean): void;
}

/**
 * One waiter of a queue, and its wait as the waiting loop sees it: a latch that keeps one wake-up.
 *
 * States: awake (a wake-up that comes now is kept) <-> listening (until subscribed, or woken) | asleep -> left.
 */
export class Waiter<T, H extends object = object> implements Wait<T> {
  readonly order: WaitOrder;
  /** The acquisition that waits here, for a holder of this process that hands its lock over. */
  readonly heir: H | undefined;
  /** How many permits it waits for. */
  readonly need: number;
  readonly joinedAt = performance.now();
  timed = false;
  readonly #queue: WaiterQueue<H>;
  /** Whether it has begun to attempt. */
  #begun = false;
  #leaseMs: number | undefined;
  /** Ends its sleep. These two instead of a deferred promise: thousands may sleep. */
  #sleeper: Sleeper<T> | undefined;
  #failSleep: ((error: Error) => void) | undefined;
  #kept: Reason | undefined;
  #woken: Reason | undefined;
  #error: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listener: DeferredPromise<void> | undefined;
  /** Whether it attempts although it is not subscribed, until it is. */
  #unsubscribed = false;

  /** Made by its queue only. */
  constructor(queue: WaiterQueue<H>, order: WaitOrder, heir: H | undefined, need: number) {
    this.#queue = queue;
    this.order = order;
    this.heir = heir;
    this.need = need;
  }

  /** Whether it sleeps. */
  get asleep(): boolean {
    return this.#sleeper !== undefined;
  }

  /** Whether a wake-up came while it was awake, and is kept for its next sleep. */
  get wakeKept(): boolean {
    return this.#kept !== undefined;
  }

  /** Whether it was woken, and has not gone back to sleep. */
  get woken(): boolean {
    return this.#woken !== undefined;
  }

  /** The same, and a message woke it: it is likely to acquire. */
  get told(): boolean {
    return this.#woken === 'message';
  }

  /** For how many ms it has acquired; `undefined`: it has not. */
  get leaseMs(): number | undefined {
    return this.#leaseMs;
  }

  get isTurn(): boolean {
    return this.#queue.mayBegin(this);
  }

  listen(): Promise<void> | undefined {
    this.#begun = true;
    if (this.#queue.listen()) this.#unsubscribed = false;
    // No message reaches it yet, but it was sent to attempt all the same.
    else if (!this.#unsubscribed) return (this.#listener = pDefer<void>()).promise;
    return undefined;
  }

  sleep(retryInMs: number, inDoubt = false): Promise<Wake<T>> {
    const queue = this.#queue;
    if (this.#error !== undefined) return Promise.reject(this.#error);
    // Woken in vain: there are fewer permits than it needs, but perhaps enough for those who need fewer.
    if (this.woken && this.need > 1) queue.wakeFitting(this.need - 1);
    this.#woken = this.#kept;
    this.#kept = undefined;
    if (this.#woken !== undefined) return Promise.resolve(undefined);
    // One that has not begun gives way: it tries at the next message, or when there is none.
    const ms = this.#begun || retryInMs !== Infinity ? retryInMs : GIVE_WAY_MS;
    if (!queue.recheckIn(this, ms) && ms !== Infinity && (inDoubt || this.order === 'shared')) {
      this.#timer = setTimeout(() => this.lookAgain(), clampTimer(Math.max(1, ms)));
    }
    return new Promise((resolve, reject) => {
      this.#sleeper = resolve;
      this.#failSleep = reject;
    });
  }

  /**
   * Wakes it, or keeps the wake-up when it is not asleep: a message says that it may acquire.
   * @returns whether it had none kept before
   */
  wake(): boolean {
    return this.#wake('message');
  }

  /** The same without a message: it may have missed one. */
  lookAgain(): boolean {
    return this.#wake('doubt');
  }

  /** Wakes it with an attempt that a holder makes for it: a hand-over. It must be asleep. */
  wakeWith(attempt: Promise<Attempt<T>>): void {
    this.#endSleep()?.({ attempt });
  }

  /** Ends its sleep with an error: this one, or the one it is about to begin. */
  reject(error: Error): void {
    this.#error = error;
    this.#stopListening()?.reject(error);
    const failSleep = this.#failSleep;
    this.#endSleep();
    failSleep?.(error);
  }

  /** Wakes it for an attempt, even if it is not subscribed. */
  attemptUnsubscribed(): void {
    this.#unsubscribed = true;
    this.lookAgain();
  }

  /** Messages arrive from now on. An attempt before that may have missed one: it makes another. */
  subscribed(): void {
    this.#stopListening()?.resolve();
    if (!this.#unsubscribed) return;
    this.#unsubscribed = false;
    this.lookAgain();
  }

  /** It cannot be subscribed. */
  refused(error: Error): void {
    if (this.#listener !== undefined || this.#unsubscribed) this.reject(error);
  }

  /**
   * It has acquired for so many ms: unless woken, its successor need not look again before. `undefined`: it has not.
   */
  acquiredFor(leaseMs: number | undefined): void {
    this.#leaseMs = leaseMs;
  }

  /** It has acquired by an attempt of its own, not by a hand-over. */
  beginTurn(now: number): void {
    if (this.order === 'fifo') this.#queue.beginTurn(now);
  }

  connectionLost(): void {
    this.#queue.connectionLost();
  }

  leave(): void {
    const awake = this.#sleeper === undefined;
    this.#listener = undefined;
    this.#endSleep();
    this.#queue.remove(this, awake);
  }

  #wake(reason: Reason): boolean {
    if (this.#listener !== undefined) {
      this.#unsubscribed = true;
      this.#woken = reason;
      this.#stopListening()?.resolve();
      return true;
    }
    const sleeper = this.#endSleep();
    if (sleeper !== undefined) {
      this.#woken = reason;
      sleeper(undefined);
      return true;
    }
    const isNew = this.#kept === undefined;
    if (this.#kept !== 'message') this.#kept = reason;
    return isNew;
  }

  #stopListening(): DeferredPromise<void> | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    return listener;
  }

  #endSleep(): Sleeper<T> | undefined {
    const sleeper = this.#sleeper;
    this.#sleeper = this.#failSleep = undefined;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    return sleeper;
  }
}
