import { RedissonError } from './RedissonError';

/**
 * A hold is gone, or may be gone, although its owner did not release it: the key expired or was deleted, the lease
 * could not be renewed in time, or the renewals reached `maxRenewTimes`. Somebody else may be in the section.
 *
 * It is the `reason` of `LockHold.signal`, and what `withLock` rejects with when only the release failed because of it.
 */
export class LockLostError extends RedissonError {
  readonly code = 'LOCK_LOST';
  /** The name of the lock, as given by the user. */
  readonly lockName: string;
  /** The logical thread whose hold it was. */
  readonly threadId: number;
  /** How it was noticed, half a sentence of the message. */
  readonly why: string;

  static {
    this.prototype.name = 'LockLostError';
  }

  /**
   * @param lockName - the lock's name as given by the user
   * @param threadId - the logical thread whose hold it was
   * @param why - half a sentence on how it was noticed, e.g. `its lease of 30000 ms ran out before it could be renewed`
   * @param options - `cause`: the error that kept the lease from being renewed, where there is one
   */
  constructor(lockName: string, threadId: number, why: string, options?: ErrorOptions) {
    super(
      `Lock '${lockName}' of thread ${threadId} is lost: ${why}. Another owner may hold it now: stop the protected work.`,
      options,
    );
    this.lockName = lockName;
    this.threadId = threadId;
    this.why = why;
  }
}
