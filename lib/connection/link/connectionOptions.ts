import type { Redis, RedisOptions } from 'ioredis';
import type { Settings } from '../../config/Settings';
import { tlsOptions } from '../../config/tls/tlsOptions';
import { loginOption, type LoginPlan } from './connectors';
import type { Logins } from './Logins';
import type { NatMapper, NodeAddress, SentinelTopology } from '../../config/Topology';
import { ownOptionsOf, type OwnRedisOptions } from './ownOptions';

/** The operating system probes an idle connection after this many ms. */
const KEEP_ALIVE_MS = 30_000;

/** The settings of connections. */
export interface ConnectionSettings extends Settings {
  /** How they are logged in, where passwords change. */
  readonly logins?: Logins | undefined;
}

/**
 * The options that all connections of a client share. They hold secrets.
 * @param roleOf - the role of a server, as far as it is known
 */
export function connectionOptions(
  settings: ConnectionSettings,
  roleOf: LoginPlan['roleOf'] = () => 'master',
): OwnRedisOptions {
  return {
    ...ownOptionsOf(settings),
    ...nameOption(settings),
    // For names with only IPv6 addresses; ioredis 5 resolves IPv4 alone.
    family: 0,
    // So that the operating system notices a peer that is gone; ioredis 5 would leave that for two hours.
    keepAlive: KEEP_ALIVE_MS,
    connectTimeout: settings.connectTimeout,
    db: settings.database,
    ...loginOption(settings.logins, roleOf),
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
    // The first once more: it may be the only one, and ask for a password only with its first reply.
    sentinels: [...sentinels, ...(sharesPassword(settings, topology) ? sentinels.slice(0, 1) : [])],
    sentinelCommandTimeout: settings.timeout,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword: sentinelPassword.reveal() }),
    ...(natMapper !== undefined && { natMap: (key: string) => natMapper.map(parseNodeKey(key)) }),
    ...(settings.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(settings.tls) }),
  };
}

/** Whether sentinels without a password of their own may get that of the servers. */
function sharesPassword(settings: Settings, topology: SentinelTopology): boolean {
  return settings.password !== undefined && topology.sentinelPassword === undefined;
}

/**
 * Gives the password of the servers to sentinels that ask for one, where they have none of their own. Not before they
 * ask: a sentinel without a password refuses every login. (Redisson: SentinelConnectionManager does the same.)
 *
 * @param redis - a connection with {@link sentinelOptions}, which ioredis reads anew for each sentinel
 */
export function sharePassword(redis: Redis, settings: Settings, topology: SentinelTopology): Redis {
  if (!sharesPassword(settings, topology)) return redis;
  redis.on('sentinelError', (error: Error) => {
    if (!error.message.includes('NOAUTH')) return;
    redis.options.sentinelPassword = settings.password!.reveal();
    if (settings.username !== undefined) redis.options.sentinelUsername = settings.username;
  });
  return redis;
}

/** A translation of addresses; the identity where none is configured. */
export function translator(mapper: NatMapper | undefined): (address: NodeAddress) => NodeAddress {
  return mapper === undefined ? (address) => address : (address) => mapper.map(address);
}

/** `host:port`, which identifies a server. */
export function nodeKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/** Reads `host:port`; the host may be an IPv6 address. */
export function parseNodeKey(key: string): NodeAddress {
  const colon = key.lastIndexOf(':');
  return { host: key.slice(0, colon), port: Number(key.slice(colon + 1)) };
}
