import { RedissonError } from './RedissonError';

/**
 * The kind of object has no such operation, e.g. `getHoldCount()` of a MultiLock: it has no single hold count.
 *
 * Source: `java.lang.UnsupportedOperationException`, as Redisson throws it.
 */
export class UnsupportedOperationError extends RedissonError {
  readonly code = 'UNSUPPORTED_OPERATION';

  static {
    this.prototype.name = 'UnsupportedOperationError';
  }

  /**
   * @param kind - the kind of object, e.g. `MultiLock`
   * @param operation - the method, e.g. `getHoldCount`
   * @param instead - what to do instead, half a sentence (optional)
   */
  constructor(kind: string, operation: string, instead?: string) {
    super(`A ${kind} does not support ${operation}()` + (instead === undefined ? '' : `: ${instead}`));
  }
}
