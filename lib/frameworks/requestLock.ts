import type { AcquireOptions, LockHold, RedissonClient } from '../api';

/** `withLock` of a request: as `getLock(name).withLock(fn, options)`, but waits no longer than its client does. */
export type RequestLock = <T>(
  name: string,
  fn: (hold: LockHold) => T | PromiseLike<T>,
  options?: AcquireOptions,
) => Promise<T>;

/** What is needed of Node's `ServerResponse`, of HTTP 1 and 2. */
export interface ResponseLike {
  readonly writableFinished: boolean;
  readonly destroyed?: boolean | undefined;
  readonly closed?: boolean | undefined;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

/**
 * Runs `fn` under a lock for a request. If the client disconnects while it waits, the wait is aborted: the promise
 * rejects with an `AbortError`, and `fn` does not run. Once it runs, a disconnect changes nothing: it is told by the
 * request itself, and only `fn` knows whether it may stop half-way.
 *
 * @throws what `RLock.withLock` does, and an `AbortError` (a DOMException)
 */
export async function lockForRequest<T>(
  redisson: RedissonClient,
  response: ResponseLike,
  name: string,
  fn: (hold: LockHold) => T | PromiseLike<T>,
  options: AcquireOptions = {},
): Promise<T> {
  const { signal } = options;
  const controller = new AbortController();
  const gone = (): void => {
    if (!response.writableFinished) {
      controller.abort(new DOMException(`The client has disconnected while it waited for '${name}'`, 'AbortError'));
    }
  };
  const aborted = (): void => controller.abort(signal?.reason);
  const stopListening = (): void => {
    response.removeListener('close', gone);
    signal?.removeEventListener('abort', aborted);
  };
  // The close of a response that is over is not told again.
  if (response.destroyed === true || response.closed === true) gone();
  if (signal?.aborted === true) aborted();
  response.once('close', gone);
  signal?.addEventListener('abort', aborted, { once: true });
  try {
    return await redisson.getLock(name).withLock(
      (hold) => {
        stopListening();
        return fn(hold);
      },
      { ...options, signal: controller.signal },
    );
  } finally {
    stopListening();
  }
}
