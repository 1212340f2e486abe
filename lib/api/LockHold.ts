// For projects whose `lib` is older than this: it stays in the declarations.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * One hold of a lock: what `acquire` and `tryAcquireHold` give and the callback of `withLock` receives.
 *
 * ```ts
 * await using hold = await lock.acquire({ waitTime: 5000 });
 * await work(hold.signal);
 * ```
 */
export interface LockHold {
  /** The name of the lock, as given to `getLock`. */
  readonly name: string;
  /** The logical thread that holds it; pass it on as `threadId` to re-enter or to ask about it. */
  readonly threadId: number;
  /**
   * Aborts with `LockLostError` as soon as the hold is, or may be, lost: a renewal finds it gone, the local (monotonic)
   * deadline of the last confirmed lease passes, or `maxRenewTimes` is reached. Not aborted by `unlock()`.
   */
  readonly signal: AbortSignal;
  /**
   * The fencing token of this hold, strictly greater than those of all earlier holds.
   * Only of fenced locks; `undefined` otherwise.
   */
  readonly token?: bigint | undefined;
  /** Whether it is held, as far as this process knows, without asking Redis: neither released nor lost. */
  readonly isHeld: boolean;
  /**
   * How long it is surely held, in ms, as far as this process knows: what is left of the last confirmed lease. 0 once
   * it is released or lost. A hold without lease gets more of it with each renewal.
   */
  readonly remainingLeaseMs: number;
  /**
   * Gives the hold back. Idempotent: later calls return the first one's promise.
   *
   * @returns resolves when Redis has released it
   * @throws LockLostError when the lock was gone before
   * @throws ConnectionError, CommandTimeoutError when Redis could not be asked; the lock then runs out with its lease
   */
  unlock(): Promise<void>;
  /**
   * Gives the hold back at the end of an `await using` block. Never throws: an error here would hide the block's own.
   */
  [Symbol.asyncDispose](): Promise<void>;
}
