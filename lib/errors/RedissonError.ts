// For projects whose `lib` is older than this: it stays in the declarations.
/// <reference lib="es2022.error" preserve="true" />
/**
 * The stable codes of the errors of this package, one per class.
 * Compare `error.code` where `instanceof` does not work: two copies of the package, or an error that crossed a worker.
 */
export type RedissonErrorCode =
  | 'ILLEGAL_MONITOR_STATE'
  | 'LOCK_TIMEOUT'
  | 'LOCK_LOST'
  | 'SUBSCRIPTION_TIMEOUT'
  | 'COMMAND_TIMEOUT'
  | 'COMMAND'
  | 'CONNECTION'
  | 'NO_SYNCED_REPLICAS'
  | 'PERMIT_NOT_FOUND'
  | 'UNSUPPORTED_OPERATION'
  | 'CONFIG'
  | 'SHUTDOWN';

/**
 * Base of every error this package makes itself, so that one `instanceof RedissonError` tells them apart from the
 * errors of the user's own code. Argument errors (`RangeError`, `TypeError`) stay the native ones.
 *
 * `cause` is the error that led to this one (an error reply of Redis, a socket error), where there is one.
 *
 * Source: `org.redisson.client.RedisException`.
 */
export abstract class RedissonError extends Error {
  /** Stable, machine-readable code; never changes between versions, unlike the message. */
  abstract readonly code: RedissonErrorCode;

  static {
    // On the prototype and before any instance exists: V8 writes the name into the stack when the error is made.
    this.prototype.name = 'RedissonError';
  }
}
