/**
 * Settings of the Java client, versions 3.16 to 4.7, that have no effect here: thread pools, Netty, codecs, pools of
 * connections, reading from replicas. They are accepted so that the file of a Java service loads, and listed in one
 * warning.
 */
const EVERYWHERE = [
  'commandMapper',
  ...['sslKeyManagerFactory', 'sslKeystoreType', 'sslProvider', 'sslTrustManagerFactory'],
  ...['tcpKeepAlive', 'tcpKeepAliveCount', 'tcpKeepAliveIdle', 'tcpKeepAliveInterval', 'tcpNoDelay', 'tcpUserTimeout'],
];

/** Ignored settings of the top level (`org.redisson.config.Config`). */
export const IGNORED_COMMON_KEYS: ReadonlySet<string> = new Set([
  ...EVERYWHERE,
  // Threads, and Netty.
  ...['addressResolverGroupFactory', 'decodeInExecutor', 'eventLoopGroup', 'executor', 'performanceMode', 'threads'],
  ...['nettyExecutor', 'nettyHook', 'nettyThreads', 'transportMode', 'useLinuxNativeEpoll', 'useThreadClassLoader'],
  // Values, and objects that are no locks.
  ...['cleanUpKeysAmount', 'codec', 'maxCleanUpDelay', 'minCleanUpDelay', 'reliableTopicWatchdogTimeout'],
  ...['redissonReferenceEnabled', 'referenceCodecProvider', 'referenceEnabled'],
  // How it speaks with the server.
  ...['connectionListener', 'keepPubSubOrder', 'lazyInitialization'],
  ...['protocol', 'useScriptCache', 'valkeyCapabilities'],
  // Redisson PRO.
  ...['licenseKey', 'meterMode', 'meterRegistryProvider', 'registrationKey', 'secretKey'],
  // Sections as old files name them.
  ...['clusterConfig', 'sentinelConfig', 'singleConfig'],
]);

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

/**
 * Warns, once per configuration, which of its settings have no effect here.
 *
 * @param keys - the ignored settings
 */
export function warnIgnored(keys: readonly string[]): void {
  if (keys.length === 0) return;
  process.emitWarning(`Settings of the Java client without effect here: ${[...new Set(keys)].join(', ')}`, {
    type: 'IoredissonWarning',
    code: 'IOREDISSON_IGNORED_SETTINGS',
  });
}
