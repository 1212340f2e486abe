import { nameErrors, RedissonError } from './RedissonError';

/**
 * A setting, an address or a name cannot be used. Thrown when the configuration is read, before any connection. The
 * message names the setting and the value, except for secrets.
 */
export class ConfigError extends RedissonError {
  readonly code = 'CONFIG';
}

/**
 * The client was shut down, or is being shut down: before the call, or while it waited.
 *
 * Source: `org.redisson.RedissonShutdownException`.
 */
export class ShutdownError extends RedissonError {
  readonly code = 'SHUTDOWN';

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'` (optional)
   * @param draining - whether the client is not closed yet: holders may still release their locks. @default false
   */
  constructor(what?: string, draining = false) {
    const state = draining ? 'is shutting down (draining), and only gives back what it holds' : 'is shut down';
    super(`This Redisson client ${state}${what === undefined ? '' : ` (${what})`}; create a new one.`);
  }
}

/**
 * The kind of object has no such operation, e.g. `getHoldCount()` of a MultiLock: it has no single hold count.
 *
 * Source: `java.lang.UnsupportedOperationException`, as Redisson throws it.
 */
export class UnsupportedOperationError extends RedissonError {
  readonly code = 'UNSUPPORTED_OPERATION';

  /**
   * @param kind - the kind of object, e.g. `MultiLock`
   * @param operation - the method, e.g. `getHoldCount`
   * @param instead - what to do instead, as a part of a sentence (optional)
   */
  constructor(kind: string, operation: string, instead?: string) {
    super(`A ${kind} does not support ${operation}()` + (instead === undefined ? '' : `: ${instead}`));
  }
}

nameErrors({ ConfigError, ShutdownError, UnsupportedOperationError });
