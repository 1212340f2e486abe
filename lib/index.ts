// For projects whose `lib` is older: the declarations name `Symbol.asyncDispose` and ErrorOptions.
/// <reference lib="es2022.error" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
export { Redisson } from './Redisson';
export { Config } from './config/Config';
export { DisLock } from './decorators/disLock';
export type { DisLockKey, DisLockOptions } from './decorators/disLockOptions';
export { ConstantBackOff } from './util/ConstantBackOff';
export { ExponentialBackOff } from './util/ExponentialBackOff';
export { TimeUnit } from './util/TimeUnit';
export {
  CommandError,
  CommandTimeoutError,
  ConfigError,
  ConnectionError,
  IllegalMonitorStateError,
  LockLostError,
  LockTimeoutError,
  NoSyncedReplicasError,
  PermitNotFoundError,
  RedissonError,
  ShutdownError,
  SubscriptionTimeoutError,
  UnsupportedOperationError,
} from './errors';
export type { RedissonErrorCode } from './errors';
export type {
  AcquireOptions,
  BackOff,
  BackOffPolicy,
  ConnectionChange,
  ConnectionListener,
  ConnectionState,
  LockHold,
  LockLostEvent,
  LockLostListener,
  LockOptions,
  RCountDownLatch,
  RFencedLock,
  RLock,
  RObject,
  RPermitExpirableSemaphore,
  RReadWriteLock,
  RSemaphore,
  RedissonClient,
  ShutdownOptions,
  ThreadOptions,
} from './api';
export { PrefixNameMapper } from './config/PrefixNameMapper';
export type {
  ClientTopology,
  ClusterServersConfig,
  ClusterTopology,
  CommonSettings,
  Logger,
  LogLine,
  MasterSlaveServersConfig,
  MasterSlaveTopology,
  NameMapper,
  NatMapper,
  NodeAddress,
  RedisClientLike,
  RedissonOptions,
  ReplicatedServersConfig,
  ReplicatedTopology,
  Secret,
  SentinelServersConfig,
  SentinelTopology,
  ServersConfig,
  Settings,
  SettingsInput,
  ShardedSubscriptionMode,
  SingleServerConfig,
  SingleTopology,
  TlsSettings,
  TlsVersion,
  Topology,
} from './config';
