import {
  CommandTimeoutError,
  ConnectionError,
  LockTimeoutError,
  ShutdownError,
  SubscriptionTimeoutError,
} from '../../errors';

/** Another process may serve the request, or this one a little later. */
const UNAVAILABLE = [ShutdownError, ConnectionError, CommandTimeoutError, SubscriptionTimeoutError];

/**
 * The HTTP status that tells the client of a request why its lock was not acquired.
 *
 * @returns 409: others hold it; 503: we shut down, or Redis refuses or does not answer; `undefined`: another error
 */
export function httpStatusOf(error: unknown): 409 | 503 | undefined {
  if (error instanceof LockTimeoutError) return error.reason === 'held' ? 409 : 503;
  return UNAVAILABLE.some((kind) => error instanceof kind) ? 503 : undefined;
}
