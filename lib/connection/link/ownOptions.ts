import type { RedisOptions } from 'ioredis';
import type { CommonSettings } from '../../config/Settings';
import { jittered } from '../../util/timing';

/** The longest pause between two attempts to connect, in ms ... */
const MAX_RECONNECT_PAUSE_MS = 1_000;
/** ... and the part of the watchdog time-out that it does not exceed: no lease may end during a pause ... */
const RECONNECT_PART = 1 / 12;
/** ... unless that is less than this, in ms: no client may flood a server that is down. */
const MIN_LONGEST_PAUSE_MS = 100;
/** The longest pause before a server that loads its data is asked again, in ms. */
const MAX_LOADING_PAUSE_MS = 500;
/** How long we wait for a connection to close politely, in ms; then it is destroyed: the other side may be dead. */
export const DISCONNECT_MS = 100;

/** Options of a connection of ours. */
export type OwnRedisOptions = RedisOptions & { readonly replyMapping: 'legacy' };

/**
 * How the options of our connections differ from the user's, and why:
 *
 * - nothing is sent again by ioredis: a repeated acquisition counts twice, and only the executor knows which may be
 *   repeated; `maxRetriesPerRequest: 0` rejects what was under way when the connection closes, which ioredis otherwise
 *   leaves unsettled for ever when it does not resend;
 * - no time-outs by ioredis: the executor has its own, and knows what a late answer means;
 * - no offline queue: the executor keeps waiting commands, with limits on time and number;
 * - no resubscription by ioredis: ours notifies the waiters when it is done;
 * - no second round of the sentinels by ioredis: its pause cannot be ended; we have our own (`sentinelConnector`);
 * - no `keyPrefix`: scripts publish to prefixed channels that SUBSCRIBE does not prefix;
 * - the master, also where the user's own client reads from a replica;
 * - no reconnect by ioredis after an error: it would begin one for each `READONLY` of many callers. The link does it.
 */
export const ownOptions = Object.freeze({
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: undefined,
  socketTimeout: undefined,
  enableOfflineQueue: false,
  enableReadyCheck: true,
  maxLoadingRetryTime: MAX_LOADING_PAUSE_MS,
  disconnectTimeout: DISCONNECT_MS,
  autoResubscribe: false,
  enableAutoPipelining: false,
  lazyConnect: false,
  monitor: false,
  readOnly: false,
  role: 'master',
  stringNumbers: false,
  replyMapping: 'legacy',
  keyPrefix: '',
  retryStrategy: reconnectPauses(),
  sentinelRetryStrategy: () => null,
  reconnectOnError: null,
} as const) satisfies RedisOptions;

/** {@link ownOptions}, and those that depend on the settings of a client. */
export function ownOptionsOf({ lockWatchdogTimeout }: Pick<CommonSettings, 'lockWatchdogTimeout'>): typeof ownOptions {
  return { ...ownOptions, retryStrategy: reconnectPauses(lockWatchdogTimeout) };
}

/** The pauses between attempts to connect: they grow. @param watchdogMs - `lockWatchdogTimeout` */
function reconnectPauses(watchdogMs = Infinity): (times: number) => number {
  const longestMs = Math.min(MAX_RECONNECT_PAUSE_MS, Math.max(MIN_LONGEST_PAUSE_MS, watchdogMs * RECONNECT_PART));
  return (times) => jittered(Math.min(25 * 2 ** Math.min(times, 10), longestMs));
}
