export { Config } from './builder/Config';
export type {
  BasicAuth,
  Credentials,
  CredentialsFunction,
  CredentialsRequest,
  IssuedCredentials,
  StreamingCredentialsListener,
  StreamingCredentialsProvider,
} from './Credentials';
export { IDENTITY_NAME_MAPPER, type NameMapper, PrefixNameMapper } from './NameMapper';
export type {
  Logger,
  LogLine,
  CommonSettings,
  Settings,
  ShardedSubscriptionMode,
  TlsSettings,
  TlsVersion,
  IntrospectionOption,
  IntrospectionSettings,
  WatchdogThreadOption,
  WatchdogThreadSettings,
} from './Settings';
export type { RedissonOptions, SettingsInput } from './RedissonOptions';
export { resolveConfig } from './builder/resolveConfig';
export { Secret } from './Secret';
export type {
  ClusterServersConfig,
  MasterSlaveServersConfig,
  ReplicatedServersConfig,
  SentinelServersConfig,
  ServersConfig,
  SingleServerConfig,
} from './builder/serverConfigs';
export { tlsOptions } from './tls/tlsOptions';
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
