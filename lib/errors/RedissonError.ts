// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="es2022.error" preserve="true" />
/**
 * The stable codes of the errors of this package, one per class. Compare `error.code` if `instanceof` does not work:
 * with two copies of the package, or an error from a worker.
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
 * Base class of the errors of this package, so that `instanceof RedissonError` distinguishes them from errors of the
 * user's code. Argument errors are native ones (`RangeError`, `TypeError`).
 *
 * `cause` is the error that led to this one (an error reply of Redis, a socket error), if there is one.
 *
 * Source: `org.redisson.client.RedisException`.
 */
export abstract class RedissonError extends Error {
  /** Stable, machine-readable code; never changes between versions, unlike the message. */
  abstract readonly code: RedissonErrorCode;
}

/**
 * Names classes of errors, in words that a minifier leaves alone. The names are on the prototypes, before any instance
 * exists: V8 writes the name into the stack when the error is made.
 */
export function nameErrors(classes: Readonly<Record<string, { readonly prototype: Error }>>): void {
  for (const [name, { prototype }] of Object.entries(classes)) prototype.name = name;
}

nameErrors({ RedissonError });
