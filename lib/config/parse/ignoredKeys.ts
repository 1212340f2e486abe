/**
 * Settings of the Java client, versions 3.16 to 4.7, that have no effect here: thread pools, Netty, codecs, pools of
 * connections, reading from replicas. They are accepted so that the file of a Java service loads, and listed in one
 * warning.
 */
const EVERYWHERE = [
  'commandMapper',
  'sslKeyManagerFactory',
  'sslKeystoreType',
  'sslProvider',
  'sslTrustManagerFactory',
  'tcpKeepAlive',
  'tcpKeepAliveCount',
  'tcpKeepAliveIdle',
  'tcpKeepAliveInterval',
  'tcpNoDelay',
  'tcpUserTimeout',
] as const;

/** Ignored settings of the top level (`org.redisson.config.Config`). */
export const IGNORED_COMMON_KEYS: ReadonlySet<string> = new Set([
  ...EVERYWHERE,
  'addressResolverGroupFactory',
  'cleanUpKeysAmount',
  'clusterConfig',
  'codec',
  'connectionListener',
  'decodeInExecutor',
  'eventLoopGroup',
  'executor',
  'keepPubSubOrder',
  'lazyInitialization',
  'licenseKey',
  'maxCleanUpDelay',
  'meterMode',
  'meterRegistryProvider',
  'minCleanUpDelay',
  'nettyExecutor',
  'nettyHook',
  'nettyThreads',
  'performanceMode',
  'protocol',
  'redissonReferenceEnabled',
  'referenceCodecProvider',
  'referenceEnabled',
  'registrationKey',
  'reliableTopicWatchdogTimeout',
  'secretKey',
  'sentinelConfig',
  'singleConfig',
  'threads',
  'transportMode',
  'useLinuxNativeEpoll',
  'useScriptCache',
  'useThreadClassLoader',
  'valkeyCapabilities',
]);

/** Ignored settings of the sections (`BaseConfig`, `BaseMasterSlaveServersConfig` and their subclasses). */
export const IGNORED_SECTION_KEYS: ReadonlySet<string> = new Set([
  ...EVERYWHERE,
  'checkMasterLinkStatus',
  'checkSentinelsList',
  'checkSlaveStatusWithSyncing',
  'checkSlotsCoverage',
  'clientAvailabilityZone',
  'connectionMinimumIdleSize',
  'connectionPoolSize',
  'dnsMonitoring',
  'dnsMonitoringInterval',
  'dnsMonitoringTimes',
  'failedAttempts',
  'failedSlaveCheckInterval',
  'failedSlaveNodeDetector',
  'failedSlaveReconnectionInterval',
  'fallbackLoadingToMaster',
  'idleConnectionTimeout',
  'keepAlive',
  'loadBalancer',
  'masterConnectionMinimumIdleSize',
  'masterConnectionPoolSize',
  'monitorIPChanges',
  'natMapper',
  'pingConnectionInterval',
  'pingTimeout',
  'readMode',
  'reconnectionDelay',
  'reconnectionTimeout',
  'retryDelay',
  'retryInterval',
  'scanInterval',
  'secretKey',
  'sentinelsDiscovery',
  'slaveConnectionMinimumIdleSize',
  'slaveConnectionPoolSize',
  'slaveNotUsed',
  'slaveSubscriptionConnectionMinimumIdleSize',
  'slaveSubscriptionConnectionPoolSize',
  'slots',
  'subscriptionConnectionMinimumIdleSize',
  'subscriptionConnectionPoolSize',
  'subscriptionMode',
  'subscriptionsPerConnection',
  'topicSlots',
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
