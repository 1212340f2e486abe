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
   * A re-entry through a handle outside any thread scope, with `strictThreads` on.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the thread of the handle
   */
  static handleReentry(lockName: string, threadId: number): IllegalMonitorStateError {
    return new IllegalMonitorStateError(
      `Lock '${lockName}' is already held through this handle (thread ${threadId}), and strictThreads forbids ` +
        `re-entering it outside a thread scope: two requests sharing the handle would look the same. ` +
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
