import { RedissonError } from './RedissonError';

/**
 * A lock was used by a logical thread in a way its state forbids: released by somebody who does not hold it,
 * taken twice at once, or re-entered where that is not allowed.
 *
 * Source: `java.lang.IllegalMonitorStateException`, as Redisson throws it.
 */
export class IllegalMonitorStateError extends RedissonError {
  readonly code = 'ILLEGAL_MONITOR_STATE';

  static {
    this.prototype.name = 'IllegalMonitorStateError';
  }

  /**
   * `unlock()` by a thread that does not hold the lock. The text is Redisson's, word for word: log rules match on it.
   *
   * @param clientId - the id of this client (`Redisson.getId()`)
   * @param threadId - the logical thread that tried
   */
  static notOwner(clientId: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(
      `attempt to unlock lock, not locked by current thread by node id: ${clientId} thread-id: ${threadId}`,
    );
  }

  /**
   * A second acquisition of one lock by one thread while its first is still pending.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the logical thread that has both acquisitions
   */
  static acquisitionPending(lockName: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(
      `Lock '${lockName}': thread ${threadId} is already acquiring it, and one thread can wait only once. ` +
        `Concurrent callers need a thread each: use acquire() or withLock(), run each in runInThread(), ` +
        `pass a threadId, or call getLock() once per caller.`,
    );
  }

  /**
   * `lock()` or `tryLock()` beside a running `withLock` callback of its own thread.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the thread that has the lock for that callback
   */
  static besideSection(lockName: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(
      `Lock '${lockName}': thread ${threadId} holds it for a withLock() callback that runs beside this call, so lock() ` +
        `and tryLock() of that thread cannot take it now. Branches that run side by side need withLock() or acquire(), ` +
        `or runInThread() each.`,
    );
  }

  /**
   * A re-entry through a handle outside any scope, or by `lock()` of what `acquire()` took, with `strictThreads` on.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the thread that holds it
   */
  static handleReentry(lockName: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(
      `Lock '${lockName}' is already held by thread ${threadId}, through this handle outside any scope or by acquire(), ` +
        `and strictThreads forbids re-entering it: two requests that share a handle would look the same. ` +
        `Use withLock() or runInThread(), or pass a threadId.`,
    );
  }

  /**
   * A re-entry of a lock that cannot be re-entered. The text is Redisson's.
   *
   * @param rawName - the lock's name as it is in Redis (mapped)
   * @param threadId - the thread that holds it already
   */
  static nonReentrant(rawName: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(`Lock '${rawName}' is non-reentrant and is already held by thread ${threadId}`);
  }
}
