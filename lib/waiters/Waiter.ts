import pDefer, { type DeferredPromise } from 'p-defer';
import type { Attempt, Wake } from '../wait/acquireWithin';
import { clampTimer } from '../util/duration';

/** How waiters wait: `fifo` = one after the other, only the head attempts; `shared` = each for itself. */
export type WaitOrder = 'fifo' | 'shared';

/** Resolves a sleep. From a method, so that a waiter for any `T` is one for `unknown`. */
type Sleeper<T> = { wake(wake: Wake<T>): void }['wake'];

/** What woke a waiter: a message, or the doubt whether one was missed. */
type WakeUp = 'message' | 'doubt';

/**
 * One waiter of a {@link WaitQueue}: a latch that keeps one wake-up. It does not know its queue.
 *
 * States: awake (a wake-up that comes now is kept) <-> listening (until subscribed, or woken) | asleep -> left.
 */
export class Waiter<T, H extends object = object> {
  readonly order: WaitOrder;
  /** The acquisition that waits here, for a holder of this process that hands its lock over. */
  readonly heir: H | undefined;
  /** How many permits it waits for. */
  readonly need: number;
  readonly joinedAt = performance.now();
  /** Whether its wait ends by itself, at a deadline. */
  timed = false;
  /** Whether it has begun to attempt. */
  begun = false;
  /** It has acquired for so many ms; `undefined`: it has not. */
  leaseMs: number | undefined;
  /** Ends its sleep. These two instead of a deferred promise: thousands may sleep. */
  #sleeper: Sleeper<T> | undefined;
  #failSleep: ((error: Error) => void) | undefined;
  #kept: WakeUp | undefined;
  #woken: WakeUp | undefined;
  #error: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listener: DeferredPromise<void> | undefined;
  /** Whether it attempts although it is not subscribed, until it is. */
  #unsubscribed = false;

  constructor(order: WaitOrder, heir: H | undefined, need: number) {
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

  /** Why its wait ends; `undefined`: it goes on. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Waits until messages arrive. @returns `undefined` when it need not wait: it attempts without a subscription */
  listen(): Promise<void> | undefined {
    // No message reaches it yet, but it was sent to attempt all the same.
    if (this.#unsubscribed) return undefined;
    this.#listener = pDefer<void>();
    return this.#listener.promise;
  }

  /** Sleeps until woken, or for so many ms; not at all where a wake-up was kept. */
  sleep(ms: number): Promise<Wake<T>> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#woken = this.#kept;
    this.#kept = undefined;
    if (this.#woken !== undefined) return Promise.resolve(undefined);
    if (ms !== Infinity) this.#timer = setTimeout(() => this.lookAgain(), clampTimer(Math.max(1, Math.ceil(ms))));
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

  /** Messages arrive already. */
  heard(): void {
    this.#unsubscribed = false;
  }

  /** It cannot be subscribed. */
  refused(error: Error): void {
    if (this.#listener !== undefined || this.#unsubscribed) this.reject(error);
  }

  /** Ends its wait: nothing wakes it any more. @returns whether it was awake */
  leave(): boolean {
    const awake = this.#sleeper === undefined;
    this.#listener = undefined;
    this.#endSleep();
    return awake;
  }

  #wake(wakeUp: WakeUp): boolean {
    if (this.#listener !== undefined) {
      this.#unsubscribed = true;
      this.#woken = wakeUp;
      this.#stopListening()?.resolve();
      return true;
    }
    const sleeper = this.#endSleep();
    if (sleeper !== undefined) {
      this.#woken = wakeUp;
      sleeper(undefined);
      return true;
    }
    const isNew = this.#kept === undefined;
    if (this.#kept !== 'message') this.#kept = wakeUp;
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
