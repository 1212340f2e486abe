import type { ShardedSubscriptionMode } from '../Settings';
import type { NatMapper } from '../Topology';
import type { SharedSetters } from './SharedSetters';

/**
 * The setters of every way to find the servers. Each checks its value at once (`ConfigError`) and returns the builder;
 * `undefined` and `null` remove a value. Times in ms. The meanings and defaults of the settings are documented at
 * `CommonSettings`.
 *
 * Source: `org.redisson.config.BaseConfig`.
 */
export interface ServersConfig extends SharedSetters {
  /** @param timeout - how long to wait for the reply to a command. Default 3000 ms */
  setTimeout(timeout: number): this;
  /** @param connectTimeout - how long opening a connection may take. Default 10000 ms */
  setConnectTimeout(connectTimeout: number): this;
  /** @param retryAttempts - how often a command is retried. Default 4 */
  setRetryAttempts(retryAttempts: number): this;
  /** @param subscriptionTimeout - how long a waiter waits to become subscribed. Default 7500 ms */
  setSubscriptionTimeout(subscriptionTimeout: number): this;
  /** @param clientName - the name of the connections in `CLIENT LIST`. Default none */
  setClientName(clientName: string | null | undefined): this;
  /** @param database - the number of the database. Default 0 */
  setDatabase(database: number): this;
  /** @param enable - `false` means verification mode `NONE`; the older name of that setting */
  setSslEnableEndpointIdentification(enable: boolean): this;
}

/** One server. Source: `org.redisson.config.SingleServerConfig`. */
export interface SingleServerConfig extends ServersConfig {
  /** @param address - e.g. `redis://127.0.0.1:6379`; `rediss://` for TLS */
  setAddress(address: string | URL): this;
}

/** A master that sentinels watch. Source: `org.redisson.config.SentinelServersConfig`. */
export interface SentinelServersConfig extends ServersConfig {
  /** @param masterName - the name under which the sentinels know the master */
  setMasterName(masterName: string): this;
  /** @param addresses - more sentinels, e.g. `redis://127.0.0.1:26379` */
  addSentinelAddress(...addresses: readonly (string | URL)[]): this;
  /** @param username - the user for the sentinels themselves. Default none */
  setSentinelUsername(username: string | null | undefined): this;
  /** @param password - the password for the sentinels themselves. Default none */
  setSentinelPassword(password: string | null | undefined): this;
  /** @param natMapper - translates the announced addresses. Default none */
  setNatMapper(natMapper: NatMapper): this;
}

/** A Redis Cluster. Source: `org.redisson.config.ClusterServersConfig`. */
export interface ClusterServersConfig extends ServersConfig {
  /** @param addresses - more nodes, e.g. `redis://127.0.0.1:7000` */
  addNodeAddress(...addresses: readonly (string | URL)[]): this;
  /** @param scanInterval - how often to check for changes. Default 5000 ms */
  setScanInterval(scanInterval: number): this;
  /** @param natMapper - translates the announced addresses. Default none */
  setNatMapper(natMapper: NatMapper): this;
  /** @param mode - whether waiters are woken through sharded pub/sub. Default `AUTO` */
  setShardedSubscriptionMode(mode: ShardedSubscriptionMode): this;
}

/** A fixed master and its replicas. Source: `org.redisson.config.MasterSlaveServersConfig`. */
export interface MasterSlaveServersConfig extends ServersConfig {
  /** @param address - the master, e.g. `redis://127.0.0.1:6379` */
  setMasterAddress(address: string | URL): this;
  /** @param addresses - more replicas, e.g. `redis://127.0.0.1:6380` */
  addSlaveAddress(...addresses: readonly (string | URL)[]): this;
}

/** Several servers, one of which is the master. Source: `org.redisson.config.ReplicatedServersConfig`. */
export interface ReplicatedServersConfig extends ServersConfig {
  /** @param addresses - more servers, e.g. `redis://127.0.0.1:6379` */
  addNodeAddress(...addresses: readonly (string | URL)[]): this;
  /** @param scanInterval - how often to check which one is the master. Default 1000 ms */
  setScanInterval(scanInterval: number): this;
}
