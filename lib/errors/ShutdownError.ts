import { RedissonError } from './RedissonError';

/**
 * The client was shut down: before the call, or while it waited.
 *
 * Source: `org.redisson.RedissonShutdownException`.
 */
export class ShutdownError extends RedissonError {
  readonly code = 'SHUTDOWN';

  static {
    this.prototype.name = 'ShutdownError';
  }

  /** @param what - what was being done, e.g. `acquire lock 'a'` (optional) */
  constructor(what?: string) {
    super(`This Redisson client is shut down${what === undefined ? '' : ` (${what})`}; create a new one.`);
  }
}
