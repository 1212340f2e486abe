import { IDENTITY_NAME_MAPPER } from './NameMapper';
import type { CommonSettings } from './Settings';

/** The settings that have a default; each is explained at its field of `CommonSettings`. */
type Defaulted = Omit<CommonSettings, 'username' | 'password' | 'clientName' | 'logger' | 'tls'>;

/** Every default, in this one place. */
export const DEFAULTS: Defaulted = Object.freeze({
  lockWatchdogTimeout: 30_000,
  lockWatchdogBatchSize: 100,
  fairLockWaitTimeout: 300_000,
  checkLockSyncedSlaves: true,
  slavesSyncTimeout: 1_000,
  nameMapper: IDENTITY_NAME_MAPPER,
  maxRenewTimes: 0,
  strictThreads: false,
  maxHandOvers: 64,
  shardedSubscriptionMode: 'AUTO',
  timeout: 3_000,
  connectTimeout: 10_000,
  retryAttempts: 4,
  subscriptionTimeout: 7_500,
  database: 0,
});

/** How often to look for changes, in ms, where the topology has to be asked. Redisson's. */
export const DEFAULT_SCAN_INTERVAL = Object.freeze({ cluster: 5_000, replicated: 1_000 });

/** Where Redis is when nothing says so. */
export const DEFAULT_URL = 'redis://127.0.0.1:6379';

/** The environment variable that says where Redis is when no configuration is given. */
export const URL_VARIABLE = 'REDIS_URL';
