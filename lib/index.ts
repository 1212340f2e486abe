/**
 * The package itself: the client {@link Redisson}, its settings, its errors, and the types of all locks and
 * synchronizers.
 * @module ioredisson
 */

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
  AcquireMessage,
  AcquireOptions,
  AcquireOutcome,
  AcquireSubject,
  BackOff,
  BackOffPolicy,
  ConnectionChange,
  ConnectionListener,
  ConnectionState,
  HoldMessage,
  HoldOutcome,
  LockHold,
  LockLostEvent,
  LockLostListener,
  LockOptions,
  ObjectKind,
  ObjectListener,
  RCountDownLatch,
  RFencedLock,
  RLock,
  RObject,
  RPermitExpirableSemaphore,
  RReadWriteLock,
  RSemaphore,
  RedissonClient,
  RenewalMessage,
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
  WatchdogThreadOption,
  WatchdogThreadSettings,
} from './config';
