import { ConfigError } from '../../errors/usageErrors';
import { IDENTITY_NAME_MAPPER } from '../NameMapper';
import type { ParsedAddress } from '../parse/address';
import type { Hidden } from '../parse/Filled';
import type { CommonValues } from '../parse/schema';
import type { CommonSettings, Settings } from '../Settings';
import { readTls } from '../tls/tlsOptions';
import type { Topology } from '../Topology';

/**
 * Builds the settings from the given ones, the addresses, and the defaults.
 *
 * User and password of an address take precedence over the settings, as in Redisson. The addresses decide whether to
 * encrypt; the `ssl*` settings only decide how.
 *
 * @param topology - how the servers are found
 * @param values - the checked settings
 * @param addresses - all addresses given; none for an existing client
 * @param hidden - which values errors must not show
 * @throws ConfigError if they contradict each other
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
  if (values.credentials !== undefined) {
    const others = (['username', 'password'] as const).filter((key) => (authority ?? values)[key] !== undefined);
    if (others.length > 0) {
      const where = authority === undefined ? '' : ' in the address';
      throw new ConfigError(
        `credentials cannot be used together with ${others.join(' and ')}${where}: give one of them`,
      );
    }
  }
  const database = values.database ?? DEFAULTS.database;
  if (topology.kind === 'cluster' && database !== 0) {
    throw new ConfigError(`database ${hidden?.(database) ?? database} cannot be used: a cluster has only database 0`);
  }
  const given = (key: string): unknown => values[key as keyof Defaulted] ?? DEFAULTS[key as keyof Defaulted];
  return Object.freeze({
    topology: Object.freeze(topology),
    ...(Object.fromEntries(Object.keys(DEFAULTS).map((key) => [key, given(key)])) as unknown as Defaulted),
    username: authority?.username ?? values.username,
    password: authority?.password ?? values.password,
    credentials: values.credentials,
    clientName: values.clientName,
    logger: values.logger,
    tls: encrypted === 0 ? undefined : readTls(values, hidden),
  });
}

/** The settings that have a default; each default is explained at its field of `CommonSettings`. */
type Defaulted = Omit<CommonSettings, 'username' | 'password' | 'credentials' | 'clientName' | 'logger' | 'tls'>;

/** Every default, in this one place. */
export const DEFAULTS: Defaulted = Object.freeze({
  lockWatchdogTimeout: 30_000,
  lockWatchdogBatchSize: 100,
  fairLockWaitTimeout: 300_000,
  checkLockSyncedSlaves: true,
  slavesSyncTimeout: 1_000,
  nameMapper: IDENTITY_NAME_MAPPER,
  maxRenewTimes: 0,
  watchdogThread: false,
  trackHolds: false,
  strictThreads: false,
  maxHandOvers: 64,
  localHandOver: false,
  introspection: Object.freeze({ callSites: false }),
  shardedSubscriptionMode: 'AUTO',
  timeout: 3_000,
  connectTimeout: 10_000,
  retryAttempts: 4,
  subscriptionTimeout: 7_500,
  database: 0,
});

/** The address of Redis if none is given. */
export const DEFAULT_URL = 'redis://127.0.0.1:6379';

/** The environment variable with the address of Redis, used if no configuration is given. */
export const URL_VARIABLE = 'REDIS_URL';
