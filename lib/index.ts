// For projects whose `lib` is older: the declarations name `Symbol.asyncDispose` and ErrorOptions.
/// <reference lib="es2022.error" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
export { Redisson } from './Redisson';
export { Config } from './config/builder/Config';
export { DisLock, type DisLockKey, type DisLockOptions } from './decorators/disLock';
export { ConstantBackOff, ExponentialBackOff } from './util/backOff';
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
  type RedissonErrorCode,
} from './errors';
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
export { PrefixNameMapper } from './config/NameMapper';
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
