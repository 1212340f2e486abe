import { RedissonError } from './RedissonError';

/**
 * A permit of an `RPermitExpirableSemaphore` is not out: it was released before, it expired, or it never existed.
 *
 * Source: the `IllegalArgumentException` of `org.redisson.RedissonPermitExpirableSemaphore`, with its texts.
 */
export class PermitNotFoundError extends RedissonError {
  readonly code = 'PERMIT_NOT_FOUND';
  /** The name of the semaphore, as given by the user. */
  readonly semaphoreName: string;
  /** The ids that were to be released or read. */
  readonly permitIds: readonly string[];

  static {
    this.prototype.name = 'PermitNotFoundError';
  }

  /**
   * @param semaphoreName - the semaphore's name as given by the user
   * @param permitIds - the ids asked for, one or more
   */
  constructor(semaphoreName: string, permitIds: readonly string[]) {
    const [first = ''] = permitIds;
    super(
      permitIds.length === 1
        ? `Permit with id ${first} has already been released or doesn't exist (semaphore '${semaphoreName}')`
        : `Permits with ids [${permitIds.join(', ')}] have already been released or don't exist (semaphore '${semaphoreName}')`,
    );
    this.semaphoreName = semaphoreName;
    this.permitIds = [...permitIds];
  }
}
