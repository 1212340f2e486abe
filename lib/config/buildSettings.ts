import { ConfigError } from '../errors/ConfigError';
import type { ParsedAddress } from './address';
import { DEFAULTS } from './defaults';
import type { Hidden } from './Filled';
import { readTls } from './readTls';
import type { CommonValues } from './schema';
import type { Settings } from './Settings';
import type { Topology } from './Topology';

/**
 * Puts the settings together: what was given, what the addresses say, and the defaults.
 *
 * User and password of an address count before the settings, as in Redisson. Whether to encrypt is what the addresses
 * say; the `ssl*` settings only say how.
 *
 * @param topology - how the servers are found
 * @param values - the checked settings
 * @param addresses - all addresses given; none for an existing client
 * @param hidden - what errors shall not show
 * @throws ConfigError when they contradict each other
 */
export function buildSettings(
  topology: Topology,
  values: CommonValues,
  addresses: readonly ParsedAddress[],
  hidden?: Hidden,
): Settings {
  const encrypted = addresses.filter(({ tls }) => tls).length;
  if (encrypted !== 0 && encrypted !== addresses.length) {
    throw new ConfigError('Either all addresses are rediss:// (TLS) or none is');
  }
  const authority = addresses.find(({ password }) => password !== undefined);
  const database = values.database ?? DEFAULTS.database;
  if (topology.kind === 'cluster' && database !== 0) {
    throw new ConfigError(`database ${hidden?.(database) ?? database} cannot be used: a cluster has only database 0`);
  }
  const pick = <K extends keyof typeof DEFAULTS>(key: K): (typeof DEFAULTS)[K] =>
    (values[key] as (typeof DEFAULTS)[K] | undefined) ?? DEFAULTS[key];
  return Object.freeze({
    topology: Object.freeze(topology),
    lockWatchdogTimeout: pick('lockWatchdogTimeout'),
    lockWatchdogBatchSize: pick('lockWatchdogBatchSize'),
    fairLockWaitTimeout: pick('fairLockWaitTimeout'),
    checkLockSyncedSlaves: pick('checkLockSyncedSlaves'),
    slavesSyncTimeout: pick('slavesSyncTimeout'),
    nameMapper: pick('nameMapper'),
    maxRenewTimes: pick('maxRenewTimes'),
    strictThreads: pick('strictThreads'),
    maxHandOvers: pick('maxHandOvers'),
    shardedSubscriptionMode: pick('shardedSubscriptionMode'),
    timeout: pick('timeout'),
    connectTimeout: pick('connectTimeout'),
    retryAttempts: pick('retryAttempts'),
    subscriptionTimeout: pick('subscriptionTimeout'),
    username: authority?.username ?? values.username,
    password: authority?.password ?? values.password,
    clientName: values.clientName,
    logger: values.logger,
    database,
    tls: encrypted === 0 ? undefined : readTls(values, hidden),
  });
}
