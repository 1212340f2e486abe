import { EVERYWHERE } from './ignoredKeys';

/** Ignored settings of the sections (`BaseConfig`, `BaseMasterSlaveServersConfig` and their subclasses). */
export const IGNORED_SECTION_KEYS: ReadonlySet<string> = new Set([
  ...EVERYWHERE,
  // Pools of connections.
  ...['connectionMinimumIdleSize', 'connectionPoolSize', 'idleConnectionTimeout', 'loadBalancer'],
  ...['masterConnectionMinimumIdleSize', 'masterConnectionPoolSize'],
  ...['slaveConnectionMinimumIdleSize', 'slaveConnectionPoolSize'],
  ...['slaveSubscriptionConnectionMinimumIdleSize', 'slaveSubscriptionConnectionPoolSize'],
  ...['subscriptionConnectionMinimumIdleSize', 'subscriptionConnectionPoolSize', 'subscriptionsPerConnection'],
  // Reading from replicas.
  ...['fallbackLoadingToMaster', 'readMode', 'slaveNotUsed', 'subscriptionMode'],
  // When a server counts as failed, and trying again.
  ...['failedAttempts', 'failedSlaveCheckInterval', 'failedSlaveNodeDetector', 'failedSlaveReconnectionInterval'],
  ...['keepAlive', 'pingConnectionInterval', 'pingTimeout', 'reconnectionDelay', 'reconnectionTimeout'],
  ...['retryDelay', 'retryInterval'],
  // Finding servers, and checking what is found.
  ...['checkMasterLinkStatus', 'checkSentinelsList', 'checkSlaveStatusWithSyncing', 'checkSlotsCoverage'],
  ...['dnsMonitoring', 'dnsMonitoringInterval', 'dnsMonitoringTimes', 'monitorIPChanges', 'natMapper', 'scanInterval'],
  ...['clientAvailabilityZone', 'secretKey', 'sentinelsDiscovery', 'slots', 'topicSlots'],
]);

/** Sections of Redisson PRO. They cannot be ignored, since each is a way to find the servers. */
export const UNSUPPORTED_SECTIONS: ReadonlySet<string> = new Set([
  'multiClusterServersConfig',
  'multiSentinelServersConfig',
  'proxyServersConfig',
]);
