import type { Attempt, Wait, Wake } from '../acquire/acquireWithin';
import type { ObjectKind } from '../api';
import { Alarm } from '../util/Alarm';
import type { WakeRule } from './wakeRules';

/** How waiters wait: `fifo` = one after the other, only the head attempts; `shared` = each for itself. */
export type WaitOrder = 'fifo' | 'shared';

/** How a kind of object has its callers wait. */
export interface WaitingKind {
  /** `undefined`: no caller waits, the messages are only listened to. */
  readonly name: ObjectKind | undefined;
  readonly waitOrder: WaitOrder;
  readonly wakeRule: WakeRule;
}

/** Resolves a sleep. From a method, so that a waiter for any `T` is one for `unknown`. */
type Sleeper<T> = { wake(wake: Wake<T>): void }['wake'];

/** Why a waiter was woken: a message came; one may have been missed; or all were woken. */
type Reason = 'message' | 'doubt' | 'everyone';

/** Whether another waiter may use that wake-up instead. */
export function isForOne(reason: Reason | undefined): boolean {
  return reason !== undefined && reason !== 'everyone';
}

/** The queue of a waiter. */
interface WaiterQueue<H extends object> {
  /** How many of its waiters sleep, or wait for the subscription. Each of them counts itself. */
  sleepers: number;
  /** Whether messages arrive. */
  readonly subscription: { readonly heard: boolean };
  readonly turns: {
    readonly giveWayMs: number;
    begin(now: number): void;
  };
  mayBegin(waiter: Waiter<unknown, H>): boolean;
  listen(): boolean;
  wakeSome(count: number, permits?: boolean): void;
  recheckIn(waiter: Waiter<unknown, H>, ms: number): boolean;
  connectionLost(): void;
  remove(waiter: Waiter<unknown, H>, awake: boolean, leaseMs: number | undefined): void;
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
  readonly #queue: WaiterQueue<H>;
  /** Whether it has begun to attempt. */
  #begun = false;
  /** A wake-up that came while it was awake, kept for its next sleep. */
  kept: Reason | undefined;
  /**
   * Why it was woken; `undefined`: it was not, or it has gone back to sleep. After a message it is likely to acquire.
   */
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
  constructor(queue: WaiterQueue<H>, { name, waitOrder }: WaitingKind, heir: H | undefined, need: number) {
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
    if (this.#queue.subscription.heard || this.#queue.listen()) this.#unsubscribed = false;
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
    if (this.#sleeper !== undefined) {
      this.woken = reason;
      this.#endSleep()!(undefined);
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
    const awake = this.#sleeper === undefined || this.#listening;
    if (this.#sleeper !== undefined) this.#endSleep();
    this.#queue.remove(this, awake, leaseMs);
  }

  #endSleep(): Sleeper<T> | undefined {
    const sleeper = this.#sleeper;
    if (sleeper === undefined) return undefined;
    this.#queue.sleepers--;
    this.#sleeper = this.#failSleep = undefined;
    this.#listening = false;
    this.#alarm?.off();
    return sleeper;
  }
}
