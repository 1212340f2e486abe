/**
 * Settings of the Java client, versions 3.16 to 4.7, that have no effect here: thread pools, Netty, codecs, pools of
 * connections, reading from replicas. They are accepted so that the file of a Java service loads, and listed in one
 * warning.
 */
export const EVERYWHERE = [
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

/**
 * Warns, once per configuration, which of its settings have no effect here.
 *
 * @param keys - the ignored settings
 */
export function warnIgnored(keys: readonly string[]): void {
  if (keys.length === 0) return;
  process.emitWarning(`Ignored settings, which only the Java client uses: ${[...new Set(keys)].join(', ')}`, {
    type: 'IoredissonWarning',
    code: 'IOREDISSON_IGNORED_SETTINGS',
  });
}
