// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * One hold of a lock: what `acquire` and `tryAcquireHold` return, and what the callback of `withLock` receives.
 *
 * ```ts
 * await using hold = await lock.acquire({ waitTime: 5000 });
 * await work(hold.signal);
 * ```
 */
export interface LockHold {
  /** The name of the lock, as given to `getLock`. */
  readonly name: string;
  /** The logical thread that holds it; pass it on as `threadId` to re-enter, or to query the lock. */
  readonly threadId: number;
  /**
   * Aborts with `LockLostError` as soon as the hold is, or may be, lost: a renewal finds it gone, the local (monotonic)
   * deadline of the last confirmed lease passes, or `maxRenewTimes` is reached. Not aborted by `unlock()`.
   */
  readonly signal: AbortSignal;
  /**
   * The fencing token of this hold, strictly greater than those of all earlier holds. Only for fenced locks;
   * `undefined` otherwise.
   */
  readonly token?: bigint | undefined;
  /** Whether it is neither released nor lost, as far as this process knows. Redis is not queried. */
  readonly isHeld: boolean;
  /**
   * How long it is certainly held, in ms, as far as this process knows: the rest of the last confirmed lease. 0 once it
   * is released or lost. For a hold without a lease, each renewal extends it.
   */
  readonly remainingLeaseMs: number;
  /**
   * Releases the hold. Idempotent: later calls return the promise of the first.
   *
   * @returns resolves when Redis has released it
   * @throws LockLostError if the lock was lost before; also after `shutdown()` of the client
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Do not repeat: the client goes on
   *   releasing it, and its lease ends it at the latest
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  unlock(): Promise<void>;
  /**
   * Releases the hold at the end of an `await using` block. Never throws: an error here would hide the error of the
   * block.
   */
  [Symbol.asyncDispose](): Promise<void>;
}
