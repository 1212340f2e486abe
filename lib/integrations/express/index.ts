/**
 * The middleware for Express and anything connect-style.
 * @module ioredisson/express
 */

import type { RedissonClient } from '../../api';
import { requestLock, type RequestLock, type ResponseLike } from '../frameworks/requestLock';

export type { RequestLock, ResponseLike } from '../frameworks/requestLock';

declare global {
  // The namespace that the types of Express merge into its requests.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      /**
       * Like `getLock(name).withLock(fn, options)`, or `withLock` of a given lock. The wait is aborted when the
       * client disconnects.
       */
      withLock: RequestLock;
    }
  }
}

/**
 * A middleware of Express, or of anything connect-style, that adds `req.withLock(nameOrLock, fn, options?)`.
 *
 * ```ts
 * app.use(redissonMiddleware(redisson));
 * app.post('/orders/:id', async (req, res) => {
 *   res.json(await req.withLock(`order:${req.params.id}`, () => pay(req.params.id)));
 * });
 * ```
 *
 * It rejects as `RLock.withLock` does, and with an `AbortError` if the client disconnects during the wait. If the
 * lock was not acquired, the error has a `statusCode`, which Express answers with: 409 if others hold the lock
 * (`LockTimeoutError` with `reason` `held`), or 503 (`ShutdownError`, `ConnectionError`, and if Redis refused or did
 * not answer). The Redisson stays yours: shut it down after the server has closed.
 *
 * @param redisson - the client that takes the locks
 */
export function redissonMiddleware(
  redisson: RedissonClient,
): (request: object, response: ResponseLike, next: () => void) => void {
  if (typeof redisson?.getLock !== 'function') throw new TypeError('redissonMiddleware needs a Redisson');
  return (request, response, next) => {
    (request as { withLock?: RequestLock }).withLock = requestLock(redisson, response);
    next();
  };
}
