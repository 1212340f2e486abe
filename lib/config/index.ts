export { Config } from './Config';
export { IDENTITY_NAME_MAPPER, type NameMapper } from './NameMapper';
export type { Logger, LogLine } from './Logger';
export { PrefixNameMapper } from './PrefixNameMapper';
export type { RedissonOptions, SettingsInput } from './RedissonOptions';
export { resolveConfig } from './resolveConfig';
export { Secret } from './Secret';
export type {
  ClusterServersConfig,
  MasterSlaveServersConfig,
  ReplicatedServersConfig,
  SentinelServersConfig,
  ServersConfig,
  SingleServerConfig,
} from './serverConfigs';
export type { CommonSettings, Settings, ShardedSubscriptionMode } from './Settings';
export { tlsOptions } from './tlsOptions';
export type { TlsSettings, TlsVersion } from './TlsSettings';
export type {
  ClientTopology,
  ClusterTopology,
  MasterSlaveTopology,
  NatMapper,
  NodeAddress,
  RedisClientLike,
  ReplicatedTopology,
  SentinelTopology,
  SingleTopology,
  Topology,
} from './Topology';
export { mapName, validateName } from './validateName';
