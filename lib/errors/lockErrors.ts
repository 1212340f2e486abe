import { CommandError } from './connectionErrors';
import { nameErrors, RedissonError } from './RedissonError';

/**
 * A logical thread used a lock in a way that its state forbids: it released a lock that it does not hold, acquired it
 * twice at the same time, or re-entered it where that is not allowed.
 *
 * Source: `java.lang.IllegalMonitorStateException`, as Redisson throws it.
 */
export class IllegalMonitorStateError extends RedissonError {
  readonly code = 'ILLEGAL_MONITOR_STATE';
  /** The name of the lock, as given by the user. */
  readonly lockName: string;

  /**
   * @param message - what was tried, and why it is not possible
   * @param lockName - the lock's name as given by the user
   */
  constructor(message: string, lockName: string) {
    super(message);
    this.lockName = lockName;
  }

  /**
   * `unlock()` by a thread that does not hold the lock. The text is exactly Redisson's, since log rules match on it.
   *
   * @param clientId - the id of this client (`Redisson.getId()`)
   * @param threadId - the logical thread that tried
   * @param lockName - the lock's name as given by the user
   */
  static notOwner(clientId: string, threadId: number, lockName: string): IllegalMonitorStateError {
    return new this(
      `attempt to unlock lock, not locked by current thread by node id: ${clientId} thread-id: ${threadId}`,
      lockName,
    );
  }

  /**
   * A second acquisition of a lock by a thread while its first one is still pending.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the logical thread that has both acquisitions
   */
  static acquisitionPending(lockName: string, threadId: number): IllegalMonitorStateError {
    return new this(
      `Lock '${lockName}': thread ${threadId} is already acquiring it, and one thread can wait only once. ` +
        `Concurrent callers need a thread each: use acquire(), withLock(), runInThread() or a threadId.`,
      lockName,
    );
  }

  /**
   * `lock()` or `tryLock()` beside a running `withLock` callback of its own thread.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the thread that holds the lock for that callback
   */
  static besideSection(lockName: string, threadId: number): IllegalMonitorStateError {
    return new this(
      `Lock '${lockName}': thread ${threadId} holds it for a withLock() callback that runs beside this call, so lock() ` +
        `and tryLock() of that thread cannot take it now. Use withLock(), acquire() or runInThread() in each branch.`,
      lockName,
    );
  }

  /**
   * A re-entry through a handle outside any scope, or by `lock()` of a hold that `acquire()` took, with `strictThreads`
   * on.
   *
   * @param lockName - the lock's name as given by the user
   * @param threadId - the thread that holds it
   */
  static handleReentry(lockName: string, threadId: number): IllegalMonitorStateError {
    return new this(
      `Lock '${lockName}' is already held by thread ${threadId}, through this handle outside any scope or by acquire(), ` +
        `and strictThreads forbids re-entering it. Use withLock(), runInThread() or a threadId.`,
      lockName,
    );
  }

  /**
   * A re-entry of a lock that cannot be re-entered. The text is Redisson's.
   *
   * @param rawName - the lock's name in Redis (mapped)
   * @param threadId - the thread that holds it already
   * @param lockName - the lock's name as given by the user
   */
  static nonReentrant(rawName: string, threadId: number, lockName: string): IllegalMonitorStateError {
    return new this(`Lock '${rawName}' is non-reentrant and is already held by thread ${threadId}`, lockName);
  }
}

/**
 * A hold is gone, or may be gone, although its owner did not release it: the key expired or was deleted, the lease
 * could not be renewed in time, or the renewals reached `maxRenewTimes`. Another owner may hold the lock now.
 *
 * It is the `reason` of `LockHold.signal`, and the error with which `withLock` rejects if only the release failed
 * because of it.
 */
export class LockLostError extends RedissonError {
  readonly code = 'LOCK_LOST';
  /** The name of the lock, as given by the user. */
  readonly lockName: string;
  /** The logical thread whose hold it was. */
  readonly threadId: number;
  /** How the loss was noticed: a part of the message. */
  readonly why: string;

  /**
   * @param lockName - the lock's name as given by the user
   * @param threadId - the logical thread whose hold it was
   * @param why - how the loss was noticed, as a part of a sentence, e.g. `its lease of 30000 ms ran out before it could
   *   be renewed`
   * @param options - `cause`: the error that prevented the renewal, if there is one. `permits`: it is a hold of permits
   *   of a semaphore
   */
  constructor(
    lockName: string,
    threadId: number,
    why: string,
    options?: ErrorOptions & { readonly permits?: boolean },
  ) {
    const [what, after] =
      options?.permits === true
        ? [`A hold of permits of semaphore '${lockName}' by`, 'Others may have them']
        : [`Lock '${lockName}' of`, 'Another owner may hold it'];
    super(`${what} thread ${threadId} is lost: ${why}. ${after} now: stop the protected work.`, options);
    this.lockName = lockName;
    this.threadId = threadId;
    this.why = why;
  }
}

/**
 * `acquire` or `withLock` did not get the lock within its `waitTime`; `reason` says why. Nothing is held and nothing is
 * left behind. (`tryLock` returns `false` instead, `tryAcquireHold` `null`.)
 */
export class LockTimeoutError extends RedissonError {
  readonly code = 'LOCK_TIMEOUT';
  /** The name of the lock, as given by the user. */
  readonly lockName: string;
  /** The time waited, in ms. */
  readonly waitTime: number;
  /**
   * - `held`: Redis answered that another owner has it.
   * - `refused`: Redis answered, and refuses (`NOREPLICAS`, `READONLY`, `CLUSTERDOWN`, `LOADING`, `OOM`, ...). The
   *   `cause` is the `CommandError` with its last reply.
   * - `unanswered`: Redis did not answer. The `cause` is a `CommandTimeoutError` or a `ConnectionError`.
   */
  readonly reason: 'held' | 'refused' | 'unanswered';

  /**
   * @param lockName - the lock's name as given by the user
   * @param waitTime - the time waited, in ms
   * @param options - `cause`: the last refusal, or that Redis did not answer; none if another owner has it. `permits`:
   *   so many permits of a semaphore were to be acquired
   */
  constructor(lockName: string, waitTime: number, options?: ErrorOptions & { readonly permits?: number }) {
    const { cause, permits } = options ?? {};
    const refusal = cause instanceof CommandError ? cause : undefined;
    const reason = refusal !== undefined ? 'refused' : cause === undefined ? 'held' : 'unanswered';
    const why = {
      held:
        permits === undefined
          ? 'somebody else holds it. Wait longer (waitTime), or use tryLock() or tryAcquireHold() when that is expected.'
          : 'too few are free. Others hold them, or they were never set (trySetPermits). Wait longer (waitTime), or catch ' +
            'this error when that is expected.',
      refused: `Redis refuses it (${refusal?.reply}). The cause has its reply.`,
      unanswered: 'Redis did not answer. Check the load of the server and the network.',
    };
    const what =
      permits === undefined
        ? `Lock '${lockName}' was`
        : `${permits} permit${permits === 1 ? '' : 's'} of semaphore '${lockName}' ${permits === 1 ? 'was' : 'were'}`;
    super(`${what} not acquired within ${waitTime} ms: ${why[reason]}`, cause === undefined ? {} : { cause });
    this.lockName = lockName;
    this.waitTime = waitTime;
    this.reason = reason;
  }
}

/**
 * A permit of an `RPermitExpirableSemaphore` is not taken: it was released before, it expired, or it never existed.
 *
 * Source: the `IllegalArgumentException` of `org.redisson.RedissonPermitExpirableSemaphore`, with its texts.
 */
export class PermitNotFoundError extends RedissonError {
  readonly code = 'PERMIT_NOT_FOUND';
  /** The name of the semaphore, as given by the user. */
  readonly semaphoreName: string;
  /** The ids that were to be released or read. */
  readonly permitIds: readonly string[];

  /**
   * @param semaphoreName - the semaphore's name as given by the user
   * @param permitIds - the ids that were to be released or read, one or more
   */
  constructor(semaphoreName: string, permitIds: readonly string[]) {
    super(
      permitIds.length === 1
        ? `Permit with id ${permitIds[0]} has already been released or doesn't exist (semaphore '${semaphoreName}')`
        : `Permits with ids [${permitIds.join(', ')}] have already been released or don't exist (semaphore '${semaphoreName}')`,
    );
    this.semaphoreName = semaphoreName;
    this.permitIds = [...permitIds];
  }
}

nameErrors({ IllegalMonitorStateError, LockLostError, LockTimeoutError, PermitNotFoundError });
