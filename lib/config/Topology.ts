import type { Secret } from './Secret';

/** Where one server listens. */
export interface NodeAddress {
  /** A host name or an IP address; IPv6 without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
}

/**
 * Translates the addresses that a cluster or sentinels announce to ones that this process can reach (containers, NAT).
 *
 * Source: `org.redisson.config.NatMapper`.
 */
export interface NatMapper {
  /**
   * @param address - as announced
   * @returns where to connect; the same address if there is nothing to translate
   */
  map(address: NodeAddress): NodeAddress;
}

/** The part of an ioredis `Redis` or `Cluster` that the configuration reads; `lib/connection` knows the rest. */
export interface RedisClientLike {
  /** Makes an independent connection with the same options. */
  duplicate(...args: never[]): unknown;
  /** The options it was made with. */
  readonly options: object;
}

/** One server, or a proxy in front of several. Source: `SingleServerConfig`. */
export interface SingleTopology {
  readonly kind: 'single';
  readonly address: NodeAddress;
}

/** A master that sentinels watch and announce. Source: `SentinelServersConfig`. */
export interface SentinelTopology {
  readonly kind: 'sentinel';
  /** The name under which the sentinels know the master. */
  readonly masterName: string;
  /** At least one sentinel. */
  readonly sentinels: readonly NodeAddress[];
  /** The user for the sentinels themselves. @default undefined: none */
  readonly sentinelUsername: string | undefined;
  /** The password for the sentinels themselves. @default undefined: none */
  readonly sentinelPassword: Secret | undefined;
  /** @default undefined: addresses are used as announced */
  readonly natMapper: NatMapper | undefined;
}

/** A Redis Cluster. Source: `ClusterServersConfig`. */
export interface ClusterTopology {
  readonly kind: 'cluster';
  /** At least one node; the others are discovered. */
  readonly nodes: readonly NodeAddress[];
  /** How often to check the cluster for changes, in ms. @default 5000, Redisson's since 3.14 */
  readonly scanInterval: number;
  /** @default undefined: addresses are used as announced */
  readonly natMapper: NatMapper | undefined;
}

/** A fixed master with fixed replicas; locks use the master only. Source: `MasterSlaveServersConfig`. */
export interface MasterSlaveTopology {
  readonly kind: 'masterSlave';
  readonly master: NodeAddress;
  /** May be empty. */
  readonly slaves: readonly NodeAddress[];
}

/** Several servers, one of which is the master; it is found by its role. Source: `ReplicatedServersConfig`. */
export interface ReplicatedTopology {
  readonly kind: 'replicated';
  /** At least one server. */
  readonly nodes: readonly NodeAddress[];
  /** How often to check which one is the master, in ms. @default 1000, Redisson's */
  readonly scanInterval: number;
}

/** An ioredis instance of the user. It is duplicated, and itself never used, changed or closed. */
export interface ClientTopology {
  readonly kind: 'client';
  /** A secret, since its options contain its password. */
  readonly client: Secret<RedisClientLike>;
}

/** How the servers are found; `kind` says which way. */
export type Topology =
  SingleTopology | SentinelTopology | ClusterTopology | MasterSlaveTopology | ReplicatedTopology | ClientTopology;
