import { RedisCluster, RedisServer, ReplicatedRedis, trackClient } from '../support';
import { FakeProvider } from '../support/FakeProvider';
import { PROVIDERS, type ProviderProfile } from '../support/providers';
import type { Topology } from './axes';

/** The servers, and the YAML that says to a client or to the command where they are. */
export interface Place {
  readonly yaml: string;
  /** Those that take writes. */
  readonly masters: readonly RedisServer[];
  readonly cluster?: RedisCluster;
}

/** A place, and how it is made. */
export interface NamedPlace {
  readonly name: string;
  open(): Promise<Place>;
}

/** The topology of the cell that runs. */
export const topology = (process.env['IOREDISSON_TEST_TOPOLOGY'] ?? 'single') as Topology;

/** The places of a topology. */
export function placesOf(kind: Topology): readonly NamedPlace[] {
  if (kind !== 'managed') return [{ name: kind, open: { single, sentinel, cluster }[kind] }];
  return PROVIDERS.map((profile) => ({ name: profile.name, open: () => managed(profile) }));
}

async function single(): Promise<Place> {
  const server = trackClient(await RedisServer.start());
  return { yaml: `singleServerConfig:\n  address: "${server.url}"\n`, masters: [server] };
}

async function sentinel(): Promise<Place> {
  // No failover because the machine has other things to do.
  const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 1, downAfterMs: 600_000 }));
  const addresses = group.sentinels.map(({ url }) => `    - "${url}"\n`).join('');
  const yaml = `sentinelServersConfig:\n  masterName: ${group.masterName}\n  sentinelAddresses:\n${addresses}`;
  return { yaml, masters: [group.master] };
}

async function cluster(): Promise<Place> {
  const servers = trackClient(await RedisCluster.start());
  const yaml = `clusterServersConfig:\n  nodeAddresses:\n    - "${servers.urls[0]}"\n`;
  return { yaml, masters: servers.masters, cluster: servers };
}

/** As a service of the profile. */
async function managed(profile: ProviderProfile): Promise<Place> {
  const server = trackClient(await RedisServer.start());
  const provider = trackClient(await FakeProvider.start(profile, server.url));
  const yaml =
    profile.virtualCluster === undefined
      ? `singleServerConfig:\n  address: "${provider.url}"\n`
      : `clusterServersConfig:\n  nodeAddresses:\n    - "${provider.url}"\n`;
  return { yaml, masters: [server] };
}
