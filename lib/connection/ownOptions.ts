import type { RedisOptions } from 'ioredis';

/** The longest pause between two attempts to connect, in ms. */
const MAX_RECONNECT_PAUSE_MS = 1_000;

/**
 * The options in which our connections differ from the user's, and why:
 *
 * - nothing is sent again by ioredis: a repeated acquisition counts twice, and only the executor knows which may be
 *   repeated; `maxRetriesPerRequest: 0` rejects what was under way when the connection closes, which ioredis otherwise
 *   leaves unsettled for ever when it does not resend;
 * - no offline queue: the executor keeps what waits, bounded in time and number;
 * - no resubscription by ioredis: ours tells the waiters when it is done;
 * - no `keyPrefix`: scripts publish to prefixed channels that SUBSCRIBE does not prefix;
 * - `READONLY` means that we are connected to a demoted master: connect again.
 */
export const ownOptions = Object.freeze({
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  enableReadyCheck: true,
  autoResubscribe: false,
  enableAutoPipelining: false,
  lazyConnect: false,
  monitor: false,
  readOnly: false,
  stringNumbers: false,
  keyPrefix: '',
  retryStrategy: (times: number): number => Math.min(25 * 2 ** Math.min(times, 10), MAX_RECONNECT_PAUSE_MS),
  reconnectOnError: (error: Error): boolean => error.message.startsWith('READONLY'),
}) satisfies RedisOptions;
