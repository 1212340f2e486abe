import type { Attempt } from './Attempt';

/**
 * Why a sleeper woke: `undefined` = something may have changed, attempt again; otherwise somebody made the attempt for
 * it (a holder of the same process handed the lock over) and this is that attempt.
 */
export type Wake<T> = { readonly attempt: Promise<Attempt<T>> } | undefined;

/** Where a waiter sleeps and what wakes it. The waiting loop knows no more of pub/sub than this. */
export interface Wakeup<T> {
  /** Whether the waiter may attempt; `false`: others stand before it in a line, and it sleeps until its turn. */
  readonly isTurn: boolean;
  /** Whether the wait ends by itself, at a deadline. Set by the loop. @default false */
  timed?: boolean;
  /**
   * After it no wake-up is missed, or it is time for an attempt although none can come yet: then another follows as soon as
   * they can. `undefined` where either is so already.
   */
  listen(): Promise<void> | undefined;
  /**
   * Sleeps until woken, or until `retryInMs` milliseconds have passed: where it stands in a line, for its first only.
   * @param inDoubt - it may have acquired by an attempt that got no answer, so it looks again in time wherever it stands
   */
  sleep(retryInMs: number, inDoubt?: boolean): Promise<Wake<T>>;
  /** Redis cannot be reached: all who wait for the same find out for themselves, and now. */
  alarm?(): void;
  /** Ends the wait; a wake-up that came and was not used goes to the next waiter. */
  leave(): void;
}
