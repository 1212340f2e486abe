import type { Logger } from '../config/Settings';
import type { ConnectionMonitor } from '../connection/ConnectionMonitor';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import { runOutside } from '../util/outside';
import { logSafely } from '../util/warn';
import type { Renewal } from '../watchdog/Ownership';

/** Time without a connection after which the client logs an error, once, in ms. */
const UNREACHED_MS = 5_000;

/** Logs the events of a client. @returns a function that wraps a renewal to log its errors, too */
export function logClient(
  logger: Logger | undefined,
  clientId: string,
  monitor: ConnectionMonitor,
  ownerships: OwnershipTable,
): (renewal: Renewal) => Renewal {
  if (logger === undefined) return (renewal) => renewal;
  const log = (level: keyof Logger, fields: object, message: string): void =>
    logSafely(logger, level, { clientId, ...fields }, message);
  let unreached: NodeJS.Timeout | undefined;
  const awaitConnection = (): void => {
    unreached = runOutside(() =>
      setTimeout(() => {
        const { state, lastError: err } = monitor;
        const why = err === undefined ? 'no answer yet' : err.message;
        log('error', { state, err }, `Redis could not be reached for ${UNREACHED_MS / 1000} s: ${why}`);
      }, UNREACHED_MS),
    ).unref();
  };
  awaitConnection();
  monitor.onChange(({ state, cause }) => {
    clearTimeout(unreached);
    if (state === 'reconnecting') awaitConnection();
    const level = state === 'reconnecting' ? 'warn' : 'info';
    log(level, cause === undefined ? { state } : { state, err: cause }, `Redis connection is ${state}`);
  });
  monitor.onRefused = (err) => log('error', { err }, `Redis refuses the connection: ${err.message}`);
  ownerships.onLost(({ name, threadId, cause }) => log('error', { lock: name, threadId, err: cause }, cause.message));
  return (renewal) => ({
    batchOf: (one) => renewal.batchOf(one),
    renew: (batch, watchdogMs) =>
      renewal.renew(batch, watchdogMs).catch((error: unknown) => {
        log('warn', { locks: batch.length, err: error }, 'Locks could not be renewed; trying again');
        throw error;
      }),
  });
}
