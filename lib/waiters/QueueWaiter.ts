import pDefer, { type DeferredPromise } from 'p-defer';
import type { Attempt, Waiter, Wake } from '../wait/acquireWithin';
import { clampTimer } from '../util/duration';
import { GIVE_WAY_MS } from './fairness';

/** How waiters wait: `fifo` = one after the other, only the head attempts; `shared` = each for itself. */
export type WaitOrder = 'fifo' | 'shared';

/** What a waiter needs of its queue. */
export interface WaiterQueue<H extends object = object> {
  isHead(waiter: object): boolean;
  /** Whether its first attempt need not wait for others: it is the head, and no readers sleep. */
  mayBegin(waiter: object): boolean;
  /** Subscribes, for all its waiters together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean;
  /** The head looks again after that many ms. */
  recheckIn(ms: number): void;
  /** See {@link QueueWaiter.connectionLost}. */
  connectionLost(): void;
  /** Wakes the shared waiters that this many permits are enough for. */
  wakeFitting(permits: number): void;
  /** This process got the lock by an attempt of its own. */
  beginTurn(now: number): void;
  /** A waiter leaves. @param awake - it was not asleep @param leaseMs - it acquired, for so many ms */
  remove(waiter: QueueWaiter<unknown, H>, awake: boolean, leaseMs: number | undefined): void;
}

/**
 * One waiter in a queue: a latch that keeps one wake-up.
 *
 * States: trying (awake; a wake-up that comes now is banked) <-> listening (until subscribed, or woken) | asleep ->
 * left.
 */
export class QueueWaiter<T, H extends object = object> implements Waiter<T> {
  readonly order: WaitOrder;
  /** The acquisition that waits here, for a holder of this process that hands its lock over. */
  readonly heir: H | undefined;
  /** How many permits it waits for. */
  readonly need: number;
  readonly joinedAt = performance.now();
  timed = false;
  readonly #queue: WaiterQueue<H>;
  #sleeper: DeferredPromise<Wake<T>> | undefined;
  #banked = false;
  #woken = false;
  #rejected: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listener: DeferredPromise<void> | undefined;
  /** Whether it attempts although it is not subscribed, until it is. */
  #unsubscribed = false;
  #leaseMs: number | undefined;
  /** Whether it has begun to attempt. */
  #begun = false;

  /** Made by the queue only. */
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

  /** Whether a wake-up came that it has not used. */
  get banked(): boolean {
    return this.#banked;
  }

  /** Whether it was woken, and has not gone back to sleep. */
  get woken(): boolean {
    return this.#woken;
  }

  get isTurn(): boolean {
    return this.order === 'shared' || (this.#begun ? this.#queue.isHead(this) : this.#queue.mayBegin(this));
  }

  listen(): Promise<void> | undefined {
    this.#begun = true;
    if (this.#queue.listen()) {
      this.#unsubscribed = false;
      return undefined;
    }
    // No message reaches it yet, but it was sent to attempt all the same.
    if (this.#unsubscribed) return undefined;
    this.#listener = pDefer<void>();
    return this.#listener.promise;
  }

  sleep(retryInMs: number, inDoubt = false): Promise<Wake<T>> {
    if (this.#rejected !== undefined) return Promise.reject(this.#rejected);
    // Woken in vain: there are fewer permits than it needs, but perhaps enough for those who need fewer.
    if (this.#woken && this.need > 1) this.#queue.wakeFitting(this.need - 1);
    this.#woken = false;
    if (this.#banked) {
      this.#banked = false;
      this.#woken = true;
      return Promise.resolve(undefined);
    }
    const sleeper = pDefer<Wake<T>>();
    this.#sleeper = sleeper;
    // Readers go first: they try at the next message. If none comes, the head tries after a short pause.
    if (this.#queue.isHead(this)) this.#queue.recheckIn(this.#begun ? retryInMs : GIVE_WAY_MS);
    else if ((this.order === 'shared' || inDoubt) && retryInMs !== Infinity) {
      this.#timer = setTimeout(() => this.wake(), clampTimer(Math.max(1, Math.ceil(retryInMs))));
    }
    return sleeper.promise;
  }

  /** Wakes it, or banks the wake-up when it is not asleep. @returns whether it had none banked before */
  wake(): boolean {
    if (this.#listener !== undefined) {
      this.#unsubscribed = this.#woken = true;
      this.#stopListening()?.resolve();
      return true;
    }
    const sleeper = this.#endSleep();
    if (sleeper !== undefined) {
      this.#woken = true;
      sleeper.resolve(undefined);
      return true;
    }
    const isNew = !this.#banked;
    this.#banked = true;
    return isNew;
  }

  /** Wakes it with an attempt that a holder makes for it: a hand-over. It must be asleep. */
  wakeWith(attempt: Promise<Attempt<T>>): void {
    this.#endSleep()?.resolve({ attempt });
  }

  /** Ends its sleep with an error: this one, or the one it is about to begin. */
  reject(error: Error): void {
    this.#rejected = error;
    this.#stopListening()?.reject(error);
    this.#endSleep()?.reject(error);
  }

  /** Wakes it for an attempt, even if it is not subscribed. */
  attemptUnsubscribed(): void {
    this.#unsubscribed = true;
    this.wake();
  }

  /** Messages arrive from now on. */
  subscribed(): void {
    this.#stopListening()?.resolve();
    if (!this.#unsubscribed) return;
    this.#unsubscribed = false;
    this.wake();
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

  /** Redis cannot be reached: everybody in the queue finds out for itself, and now. */
  connectionLost(): void {
    this.#queue.connectionLost();
  }

  leave(): void {
    const awake = this.#sleeper === undefined;
    this.#sleeper = this.#listener = undefined;
    clearTimeout(this.#timer);
    this.#queue.remove(this, awake, this.#leaseMs);
  }

  #stopListening(): DeferredPromise<void> | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    return listener;
  }

  #endSleep(): DeferredPromise<Wake<T>> | undefined {
    const sleeper = this.#sleeper;
    this.#sleeper = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return sleeper;
  }
}
