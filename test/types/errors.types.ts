import {
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
  TimeUnit,
  UnsupportedOperationError,
  type RedissonErrorCode,
} from '../../lib';
import { exactly } from './exactly';

// The errors, and the units. Never run.

/** A literal is taken only by its own type. */
function code<C extends RedissonErrorCode>(_code: C): void {}

export function telling(error: unknown): string {
  if (error instanceof LockTimeoutError) {
    code<'LOCK_TIMEOUT'>(error.code);
    exactly<number>()(error.waitTime);
    return error.lockName;
  }
  if (error instanceof LockLostError) {
    code<'LOCK_LOST'>(error.code);
    return `${error.lockName} ${error.threadId}`;
  }
  if (error instanceof IllegalMonitorStateError) code<'ILLEGAL_MONITOR_STATE'>(error.code);
  if (error instanceof SubscriptionTimeoutError) code<'SUBSCRIPTION_TIMEOUT'>(error.code);
  if (error instanceof CommandTimeoutError) code<'COMMAND_TIMEOUT'>(error.code);
  if (error instanceof ConnectionError) code<'CONNECTION'>(error.code);
  if (error instanceof NoSyncedReplicasError) code<'NO_SYNCED_REPLICAS'>(error.code);
  if (error instanceof PermitNotFoundError) code<'PERMIT_NOT_FOUND'>(error.code);
  if (error instanceof UnsupportedOperationError) code<'UNSUPPORTED_OPERATION'>(error.code);
  if (error instanceof ConfigError) code<'CONFIG'>(error.code);
  if (error instanceof ShutdownError) code<'SHUTDOWN'>(error.code);
  if (error instanceof CommandError) code<'COMMAND'>(error.code);
  if (error instanceof RedissonError) {
    exactly<RedissonErrorCode>()(error.code);
    exactly<unknown>()(error.cause);
    return error.name + error.message;
  }
  return 'somebody else’s';
}

export function everyCode(code: RedissonErrorCode): boolean {
  switch (code) {
    case 'ILLEGAL_MONITOR_STATE':
    case 'LOCK_TIMEOUT':
    case 'LOCK_LOST':
    case 'SUBSCRIPTION_TIMEOUT':
    case 'COMMAND_TIMEOUT':
    case 'COMMAND':
    case 'CONNECTION':
    case 'NO_SYNCED_REPLICAS':
    case 'PERMIT_NOT_FOUND':
    case 'UNSUPPORTED_OPERATION':
    case 'CONFIG':
    case 'SHUTDOWN':
      return true;
  }
}

export function units(): TimeUnit[] {
  // @ts-expect-error there are seven, and no more
  void new TimeUnit('WEEKS', 1);
  return [
    TimeUnit.NANOSECONDS,
    TimeUnit.MICROSECONDS,
    TimeUnit.MILLISECONDS,
    TimeUnit.SECONDS,
    TimeUnit.MINUTES,
    TimeUnit.HOURS,
    TimeUnit.DAYS,
  ];
}
