export { Redisson } from './Redisson';
export { Config } from './config/Config';
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
  ThreadOptions,
} from './api';
export type { NameMapper } from './config/NameMapper';
export type { RedissonOptions } from './config/RedissonOptions';
export type { Settings } from './config/Settings';
