import { Config } from '../../lib/config/builder/Config';
import type { ShardedSubscriptionMode } from '../../lib/config/Settings';
import type { RedisCluster } from './RedisCluster';
import type { ReplicatedRedis } from './ReplicatedRedis';

/** The configuration of a client of that cluster, which is told of one node only. */
export function clusterConfig(cluster: RedisCluster, mode: ShardedSubscriptionMode = 'AUTO'): Config {
  const config = new Config().setShardedSubscriptionMode(mode);
  const told = cluster.nodes.find((node) => node.isRunning) ?? cluster.nodes[0]!;
  config.useClusterServers().addNodeAddress(told.url);
  return config;
}

/** The configuration of a client that asks the sentinels of that group for the master. */
export function sentinelConfig(group: ReplicatedRedis, { timeout = 3_000 } = {}): Config {
  const config = new Config();
  const servers = config.useSentinelServers().setMasterName(group.masterName).setTimeout(timeout);
  for (const sentinel of group.sentinels) servers.addSentinelAddress(sentinel.url);
  return config;
}

/** The configuration of a client that is told who the master is. */
export function masterSlaveConfig(group: ReplicatedRedis): Config {
  const config = new Config();
  const servers = config.useMasterSlaveServers().setMasterAddress(group.master.url);
  for (const replica of group.replicas) servers.addSlaveAddress(replica.url);
  return config;
}

/** The configuration of a client that finds the master by its role. */
export function replicatedConfig(group: ReplicatedRedis): Config {
  const config = new Config();
  const servers = config.useReplicatedServers().setScanInterval(200);
  // The master last: its place says nothing.
  for (const server of [...group.replicas, group.master]) servers.addNodeAddress(server.url);
  return config;
}
