import type { LockHold, RedissonClient, RLock, RunOptions } from '../../api';
import {
  CommandTimeoutError,
  ConnectionError,
  LockTimeoutError,
  ShutdownError,
  SubscriptionTimeoutError,
} from '../../errors';

/**
 * `withLock` of a request: like `getLock(name).withLock(fn, options)`, or `withLock` of a given lock, but it stops
 * waiting when the client of the request disconnects. If the lock is not acquired, the error has a `statusCode`: 409
 * if others hold the lock (`LockTimeoutError`); 503 for `ShutdownError`, `ConnectionError`, and if Redis refused or
 * did not answer.
 */
export type RequestLock = <T>(
  nameOrLock: string | RLock,
  fn: (hold: LockHold) => T | PromiseLike<T>,
  options?: RunOptions,
) => Promise<T>;

/** The part of Node's `ServerResponse` that is used, in HTTP/1 and HTTP/2. */
export interface ResponseLike {
  /** Whether the handler has ended its answer. (In HTTP/2, `writableFinished` is also true if the client has gone.) */
  readonly writableEnded: boolean;
  readonly destroyed?: boolean | undefined;
  readonly closed?: boolean | undefined;
  /** HTTP/2 only. */
  readonly stream?: { readonly destroyed: boolean } | null | undefined;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

/**
 * `withLock` for the request that a response answers. If the client disconnects during the wait, the wait is aborted:
 * the promise rejects with an `AbortError`, and `fn` does not run. Once `fn` runs, a disconnect changes nothing: the
 * request itself reports it, and only `fn` knows whether it may stop half-way.
 *
 * @returns a function that throws what `RLock.withLock` does, and an `AbortError` (a DOMException)
 */
export function requestLock(redisson: RedissonClient, response: ResponseLike): RequestLock {
  return async (nameOrLock, fn, options = {}) => {
    const isLock = typeof (nameOrLock as Partial<RLock> | null)?.withLock === 'function';
    const lock = isLock ? (nameOrLock as RLock) : redisson.getLock(nameOrLock as string);
    const { signal } = Object(options) as RunOptions;
    const isSignal = typeof (Object(signal) as Partial<AbortSignal>).addEventListener === 'function';
    // The lock rejects what does not fit. Nothing may listen to the response by then.
    if (typeof fn !== 'function' || Object(options) !== options || (signal !== undefined && !isSignal))
      return lock.withLock(fn, options);
    const controller = new AbortController();
    const gone = (): void => {
      if (!response.writableEnded) {
        controller.abort(
          new DOMException(`The client has disconnected while it waited for '${lock.name}'`, 'AbortError'),
        );
      }
    };
    const aborted = (): void => controller.abort(signal?.reason);
    const stopListening = (): void => {
      response.removeListener('close', gone);
      signal?.removeEventListener('abort', aborted);
    };
    // A response that is already closed does not emit `close` again.
    if (response.destroyed === true || response.closed === true || response.stream?.destroyed === true) gone();
    if (signal?.aborted === true) aborted();
    response.once('close', gone);
    signal?.addEventListener('abort', aborted, { once: true });
    let entered = false;
    try {
      return await lock.withLock(
        (hold) => {
          entered = true;
          stopListening();
          return fn(hold);
        },
        { ...options, signal: controller.signal },
      );
    } catch (error) {
      // Fastify and Express answer with this status. Errors of `fn` pass through unchanged.
      const statusCode = entered ? undefined : httpStatusOf(error);
      if (statusCode !== undefined) {
        Object.defineProperty(error, 'statusCode', { value: statusCode, configurable: true, writable: true });
      }
      throw error;
    } finally {
      stopListening();
    }
  };
}

/** Another process may serve the request, or this one a little later. */
const UNAVAILABLE = [ShutdownError, ConnectionError, CommandTimeoutError, SubscriptionTimeoutError];

/**
 * The HTTP status that gives the reason why a request's lock was not acquired.
 *
 * @returns 409: others hold it; 503: we shut down, or Redis refuses or does not answer; `undefined`: another error
 */
export function httpStatusOf(error: unknown): 409 | 503 | undefined {
  if (error instanceof LockTimeoutError) return error.reason === 'held' ? 409 : 503;
  return UNAVAILABLE.some((kind) => error instanceof kind) ? 503 : undefined;
}
