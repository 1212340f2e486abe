import { CommandTimeoutError } from './CommandTimeoutError';
import { RedissonError } from './RedissonError';

/**
 * `acquire` or `withLock` did not get the lock within its `waitTime`: somebody else held it, or Redis did not answer (the
 * `cause` is then a `CommandTimeoutError`). Nothing is held and nothing is left behind.
 * (`tryLock` answers `false` instead, `tryAcquireHold` `null`.)
 */
export class LockTimeoutError extends RedissonError {
  readonly code = 'LOCK_TIMEOUT';
  /** The name of the lock, as given by the user. */
  readonly lockName: string;
  /** How long was waited for, in ms. */
  readonly waitTime: number;

  static {
    this.prototype.name = 'LockTimeoutError';
  }

  /**
   * @param lockName - the lock's name as given by the user
   * @param waitTime - the time waited, in ms
   * @param options - `cause`: a `CommandTimeoutError` where Redis did not answer the last attempt
   */
  constructor(lockName: string, waitTime: number, options?: ErrorOptions) {
    const why =
      options?.cause instanceof CommandTimeoutError
        ? 'Redis did not answer. Check the load of the server and the network.'
        : 'somebody else holds it. Wait longer (waitTime), or use tryLock() or tryAcquireHold() when that is expected.';
    super(`Lock '${lockName}' was not acquired within ${waitTime} ms: ${why}`, options);
    this.lockName = lockName;
    this.waitTime = waitTime;
  }
}
