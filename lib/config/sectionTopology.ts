import { ConfigError } from '../errors/ConfigError';
import type { ParsedAddress } from './address';
import { DEFAULT_SCAN_INTERVAL } from './defaults';
import type { SectionName, SectionValues } from './schema';
import type { NodeAddress, Topology } from './Topology';

/** A topology and the addresses it was made of, which may also say user, password and encryption. */
export interface Located {
  readonly topology: Topology;
  readonly addresses: readonly ParsedAddress[];
}

/**
 * @param section - the way to find the servers
 * @param values - its checked settings
 * @returns the topology they describe
 * @throws ConfigError when an address or a name is missing, or an address names another database than the settings
 */
export function sectionTopology(section: SectionName, values: SectionValues): Located {
  const located = READERS[section](values);
  for (const { database } of located.addresses) {
    // The Java client ignores it, and would look for the same locks elsewhere.
    if (database !== undefined && database !== (values.database ?? 0)) {
      throw new ConfigError(`${section}: an address names database ${database}; use setDatabase(${database}) instead`);
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
      sentinelUsername: values.sentinelUsername,
      sentinelPassword: values.sentinelPassword,
      natMapper: values.natMapper,
    };
    return { topology, addresses };
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

function required<T>(value: T | undefined, key: string): T {
  if (value !== undefined) return value;
  throw new ConfigError(`${key} is missing`);
}

function hosts(addresses: readonly ParsedAddress[]): readonly NodeAddress[] {
  return Object.freeze(addresses.map(({ address }) => address));
}
