import { Config, Redisson } from '../../../../lib';
import type { PeerConfig } from '../Peer';

/** The client of this package for a configuration that a Java client can be made of, too. */
export function createNodeClient(config: PeerConfig): Redisson {
  const built = new Config();
  const servers = useServers(built, config);
  if (config.lockWatchdogTimeout !== undefined) built.setLockWatchdogTimeout(config.lockWatchdogTimeout);
  if (config.fairLockWaitTimeout !== undefined) built.setFairLockWaitTimeout(config.fairLockWaitTimeout);
  if (config.shardedSubscriptionMode !== undefined) built.setShardedSubscriptionMode(config.shardedSubscriptionMode);
  if (config.localHandOver !== undefined) built.setLocalHandOver(config.localHandOver);
  if (config.timeout !== undefined) servers.setTimeout(config.timeout);
  if (config.retryAttempts !== undefined) servers.setRetryAttempts(config.retryAttempts);
  const prefix = config.nameMapperPrefix;
  if (prefix !== undefined) {
    built.setNameMapper({ map: (name) => prefix + name, unmap: (name) => name.slice(prefix.length) });
  }
  return Redisson.create(built);
}

function useServers(built: Config, { mode = 'single', addresses, masterName = 'mymaster' }: PeerConfig) {
  switch (mode) {
    case 'single':
      return built.useSingleServer().setAddress(addresses[0] ?? '');
    case 'cluster':
      return built.useClusterServers().addNodeAddress(...addresses);
    case 'sentinel':
      return built
        .useSentinelServers()
        .setMasterName(masterName)
        .addSentinelAddress(...addresses);
  }
}
