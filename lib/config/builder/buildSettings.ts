import { ConfigError } from '../../errors/usageErrors';
import { IDENTITY_NAME_MAPPER } from '../NameMapper';
import type { ParsedAddress } from '../parse/address';
import type { Hidden } from '../parse/Filled';
import type { CommonValues, SectionName, SectionValues } from '../parse/schema';
import type { CommonSettings, Settings } from '../Settings';
import { readTls } from '../tls/tlsOptions';
import type { NodeAddress, SentinelTopology, Topology } from '../Topology';

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

/** A topology and its addresses, which may also contain user, password and encryption. */
export interface Located {
  readonly topology: Topology;
  readonly addresses: readonly ParsedAddress[];
}

/**
 * @param section - the way to find the servers
 * @param values - its checked settings
 * @param secret - whether some values may come from the environment, so that errors must not show them
 * @returns the topology they describe
 * @throws ConfigError if an address or a name is missing, or if an address names another database than the settings
 */
export function sectionTopology(section: SectionName, values: SectionValues, secret = false): Located {
  const located = READERS[section](values);
  for (const { database } of located.addresses) {
    // The Java client ignores the database of an address, and would use another database for the same locks.
    if (database !== undefined && database !== (values.database ?? 0)) {
      const which = secret ? ['another database', ''] : [`database ${database}`, database];
      throw new ConfigError(`${section}: an address names ${which[0]}; use setDatabase(${which[1]}) instead`);
    }
  }
  return located;
}

const READERS: { readonly [N in SectionName]: (values: SectionValues<N>) => Located } = {
  singleServerConfig(values) {
    const address = required(values.address, 'singleServerConfig.address');
    return { topology: { kind: 'single', address: address.address }, addresses: [address] };
  },
  sentinelServersConfig(values) {
    const addresses = required(values.sentinelAddresses, 'sentinelServersConfig.sentinelAddresses');
    const topology: Topology = {
      kind: 'sentinel',
      masterName: required(values.masterName, 'sentinelServersConfig.masterName'),
      sentinels: hosts(addresses),
      ...sentinelLogin(values, addresses),
      natMapper: values.natMapper,
    };
    // User and password in the address of a sentinel are for the sentinel, not for the master.
    const bare = addresses.map((address) => ({ ...address, username: undefined, password: undefined }));
    return { topology, addresses: bare };
  },
  clusterServersConfig(values) {
    const addresses = required(values.nodeAddresses, 'clusterServersConfig.nodeAddresses');
    const scanInterval = values.scanInterval ?? DEFAULT_SCAN_INTERVAL.cluster;
    return {
      topology: { kind: 'cluster', nodes: hosts(addresses), scanInterval, natMapper: values.natMapper },
      addresses,
    };
  },
  masterSlaveServersConfig(values) {
    const master = required(values.masterAddress, 'masterSlaveServersConfig.masterAddress');
    const slaves = values.slaveAddresses ?? [];
    return {
      topology: { kind: 'masterSlave', master: master.address, slaves: hosts(slaves) },
      addresses: [master, ...slaves],
    };
  },
  replicatedServersConfig(values) {
    const addresses = required(values.nodeAddresses, 'replicatedServersConfig.nodeAddresses');
    const scanInterval = values.scanInterval ?? DEFAULT_SCAN_INTERVAL.replicated;
    return { topology: { kind: 'replicated', nodes: hosts(addresses), scanInterval }, addresses };
  },
};

/** User and password for the sentinels: those in the settings, else those in their addresses. */
function sentinelLogin(
  values: SectionValues<'sentinelServersConfig'>,
  addresses: readonly ParsedAddress[],
): Pick<SentinelTopology, 'sentinelUsername' | 'sentinelPassword'> {
  const { sentinelUsername, sentinelPassword } = values;
  if (sentinelPassword !== undefined) return { sentinelUsername, sentinelPassword };
  const logins = addresses.filter(({ password }) => password !== undefined);
  const [first] = logins;
  const differ = logins.some(
    ({ username, password }) => username !== first?.username || password?.reveal() !== first?.password?.reveal(),
  );
  if (differ) {
    throw new ConfigError('sentinelServersConfig: the addresses name different users or passwords; give them one');
  }
  return { sentinelUsername: sentinelUsername ?? first?.username, sentinelPassword: first?.password };
}

function required<T>(value: T | undefined, key: string): T {
  if (value !== undefined) return value;
  throw new ConfigError(`${key} is missing`);
}

function hosts(addresses: readonly ParsedAddress[]): readonly NodeAddress[] {
  return Object.freeze(addresses.map(({ address }) => address));
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

/** How often to check for changes, in ms, for topologies that can change. Redisson's defaults. */
export const DEFAULT_SCAN_INTERVAL = Object.freeze({ cluster: 5_000, replicated: 1_000 });

/** The address of Redis if none is given. */
export const DEFAULT_URL = 'redis://127.0.0.1:6379';

/** The environment variable with the address of Redis, used if no configuration is given. */
export const URL_VARIABLE = 'REDIS_URL';
