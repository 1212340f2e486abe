export {
  CommandError,
  CommandTimeoutError,
  ConnectionError,
  NoSyncedReplicasError,
  SubscriptionTimeoutError,
} from './connectionErrors';
export { ConfigError, ShutdownError, UnsupportedOperationError } from './usageErrors';
export { IllegalMonitorStateError, LockLostError, LockTimeoutError, PermitNotFoundError } from './lockErrors';
export { RedissonError, type RedissonErrorCode } from './RedissonError';
