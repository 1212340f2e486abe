// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Permits of an `RPermitExpirableSemaphore` that are held together: what `acquireHold` returns, and what the callback of
 * `withPermits` receives. They are ordinary permits in Redis, each with its id and its lease.
 *
 * ```ts
 * await using hold = await semaphore.acquireHold({ permits: 2, waitTime: 5000 });
 * await work(hold.signal);
 * ```
 */
export interface PermitHold {
  /** The ids of the permits: 32 lower-case hex characters each. */
  readonly ids: readonly string[];
  /** How many permits it is. */
  readonly permits: number;
  /**
   * Aborts with `LockLostError` as soon as one of the permits is, or may be, lost: a renewal finds it gone, or the local
   * (monotonic) deadline of the last confirmed lease passes. Not aborted by `release()`.
   */
  readonly signal: AbortSignal;
  /** Whether it is neither released nor lost, as far as this process knows. Redis is not queried. */
  readonly isHeld: boolean;
  /**
   * Releases all of its permits. Idempotent: later calls return the promise of the first.
   *
   * @returns resolves when Redis has released them
   * @throws LockLostError if one of them was lost before; the others are then released in the background
   * @throws ConnectionError, CommandTimeoutError if Redis does not confirm it. Do not repeat: the client goes on
   *   releasing them, and their lease ends them at the latest
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   */
  release(): Promise<void>;
  /**
   * Releases them at the end of an `await using` block. Never throws: an error here would hide the error of the block.
   */
  [Symbol.asyncDispose](): Promise<void>;
}
