import type { RedisOptions } from 'ioredis';
import type { Settings } from '../config/Settings';
import { tlsOptions } from '../config/tlsOptions';
import type { NatMapper, NodeAddress, SentinelTopology } from '../config/Topology';
import { ownOptions, type OwnRedisOptions } from './ownOptions';

/** An idle connection is tested by the operating system after so many ms. */
const KEEP_ALIVE_MS = 30_000;

/** What all connections of a client have in common. It holds secrets. */
export function connectionOptions(settings: Settings): OwnRedisOptions {
  return {
    ...ownOptions,
    ...nameOption(settings),
    // Names that have only IPv6 addresses; ioredis 5 looks for IPv4 alone.
    family: 0,
    // So that the operating system finds out about a peer that is gone; ioredis 5 would leave it two hours.
    keepAlive: KEEP_ALIVE_MS,
    connectTimeout: settings.connectTimeout,
    db: settings.database,
    ...(settings.username !== undefined && { username: settings.username }),
    ...(settings.password !== undefined && { password: settings.password.reveal() }),
    ...(settings.tls !== undefined && { tls: tlsOptions(settings.tls) }),
  };
}

/** The connection's name in `CLIENT LIST`, if one is set. */
export function nameOption(settings: Settings): { connectionName?: string } {
  return settings.clientName === undefined ? {} : { connectionName: settings.clientName };
}

/** What ioredis needs to ask sentinels for the master. It holds secrets. */
export function sentinelOptions(settings: Settings, topology: SentinelTopology): Omit<RedisOptions, 'replyMapping'> {
  const { masterName, sentinels, sentinelUsername, sentinelPassword, natMapper } = topology;
  return {
    name: masterName,
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    sentinelCommandTimeout: settings.timeout,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword: sentinelPassword.reveal() }),
    ...(natMapper !== undefined && { natMap: (key: string) => natMapper.map(parseNodeKey(key)) }),
    ...(settings.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(settings.tls) }),
  };
}

/** A translation of addresses; the identity where there is none. */
export function translator(mapper: NatMapper | undefined): (address: NodeAddress) => NodeAddress {
  return mapper === undefined ? (address) => address : (address) => mapper.map(address);
}

/** `host:port`, which tells servers apart. */
export function nodeKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/** Reads `host:port`; the host may be an IPv6 address. */
export function parseNodeKey(key: string): NodeAddress {
  const colon = key.lastIndexOf(':');
  return { host: key.slice(0, colon), port: Number(key.slice(colon + 1)) };
}
