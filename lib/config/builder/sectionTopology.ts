import { ConfigError } from '../../errors/usageErrors';
import type { ParsedAddress } from '../parse/address';
import type { SectionName, SectionValues } from '../parse/sections';
import type { NodeAddress, SentinelTopology, Topology } from '../Topology';

/** How often to check for changes, in ms, for topologies that can change. Redisson's defaults. */
export const DEFAULT_SCAN_INTERVAL = Object.freeze({ cluster: 5_000, replicated: 1_000 });

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
