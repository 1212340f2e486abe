import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { IDENTITY_NAME_MAPPER } from '../config/NameMapper';
import { Secret } from '../config/Secret';
import type { Settings } from '../config/Settings';
import type { Topology } from '../config/Topology';
import { ConfigError } from '../errors';
import { startupNodesOf } from './link/ioredisCompat';
import { ownOptions } from './link/ownOptions';

/** Settings that can be sent to another thread. They hold secrets, as plain text. */
export interface PackedSettings {
  readonly settings: unknown;
  /** How to make another client like the user's own one. */
  readonly client: PackedClient | undefined;
}

interface PackedClient {
  readonly isCluster: boolean;
  readonly startupNodes: readonly unknown[];
  readonly options: object;
}

/** Options of a client that its copies do not use, or set themselves. */
const UNUSED = new Set([
  ...Object.keys(ownOptions),
  'sentinelReconnectStrategy',
  'clusterRetryStrategy',
  'dnsLookup',
  'resolveSrv',
]);

/**
 * Packs the settings of a connection for another thread. Name mappers are left out: the thread is given keys. So are
 * `credentials`: the thread asks this one for logins (`portLogins`).
 *
 * @throws ConfigError if a setting is a function, which cannot be sent to another thread; it names the setting; or on
 *   a runtime whose threads cannot renew locks
 */
export function packSettings(settings: Settings): PackedSettings {
  refuseRuntime(process.versions);
  const { topology, nameMapper: _names, logger: _logger, credentials: _asked, ...common } = settings;
  if (topology.kind !== 'client') {
    return { settings: pack({ ...common, topology }, ''), client: undefined };
  }
  return {
    settings: pack(common, ''),
    client: packClient(topology.client.reveal() as unknown as Redis | Cluster),
  };
}

/**
 * Bun and Deno deliver a thread's messages only after a turn of the event loop (`receiveMessageOnPort`): after a long
 * turn every lock would be reported as lost, although the thread renewed it.
 *
 * @throws ConfigError there
 */
export function refuseRuntime({ bun, deno }: NodeJS.Dict<string>): void {
  if (bun === undefined && deno === undefined) return;
  throw new ConfigError(
    `watchdogThread does not work on ${bun === undefined ? 'Deno' : 'Bun'}: locks that it renewed would be reported as ` +
      'lost. Leave it off there: the main thread renews, and a lock is lost when that is blocked for longer than a lease.',
  );
}

/** The reverse of {@link packSettings}. */
export function unpackSettings({ settings, client }: PackedSettings): Settings {
  const common = unpack(settings) as Settings;
  const topology: Topology =
    client === undefined ? common.topology : { kind: 'client', client: new Secret(unpackClient(client)) };
  return { ...common, topology, nameMapper: IDENTITY_NAME_MAPPER, logger: undefined, credentials: undefined };
}

function packClient(client: Redis | Cluster): PackedClient {
  if (client.isCluster !== true) {
    const { options } = client as Redis;
    return { isCluster: false, startupNodes: [], options: used(options, 'client.options') };
  }
  const cluster = client as Cluster;
  const { redisOptions, ...options } = cluster.options;
  return {
    isCluster: true,
    startupNodes: pack(startupNodesOf(cluster), 'client.startupNodes') as unknown[],
    options: {
      ...used(options, 'client.options'),
      redisOptions: used(redisOptions ?? {}, 'client.options.redisOptions'),
    },
  };
}

/** A client with the same options that does not connect: it exists to be duplicated. */
function unpackClient({ isCluster, startupNodes, options }: PackedClient): Redis | Cluster {
  const own = unpack(options) as RedisOptions;
  if (!isCluster) return new Redis({ ...own, lazyConnect: true } as never);
  // Names are resolved when a connection is opened.
  const dnsLookup = (name: string, found: (error: null, address: string) => void): void => found(null, name);
  return new Cluster(startupNodes as never, { ...own, dnsLookup, lazyConnect: true } as never);
}

function used(options: object, where: string): object {
  return pack(Object.fromEntries(Object.entries(options).filter(([key]) => !UNUSED.has(key))), where) as object;
}

function pack(value: unknown, where: string): unknown {
  if (typeof value === 'function') throw uncloneable(where);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Secret) return { packedSecret: value.reveal() as unknown };
  if (Array.isArray(value)) return value.map((one, i) => pack(one, `${where}[${i}]`));
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (ArrayBuffer.isView(value)) return value;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw uncloneable(where);
  const entries = Object.entries(value).map(([key, one]) => [key, pack(one, where === '' ? key : `${where}.${key}`)]);
  return Object.fromEntries(entries) as object;
}

function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  if ('packedSecret' in value) {
    const { packedSecret } = value;
    return new Secret(ArrayBuffer.isView(packedSecret) ? bufferOf(packedSecret) : packedSecret);
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unpack(one)]));
}

/** Another thread receives a Buffer as a plain Uint8Array. */
function bufferOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function uncloneable(where: string): ConfigError {
  return new ConfigError(
    `watchdogThread cannot be used with ${where}: a function, or an object with methods, cannot be given to a thread. ` +
      'Configure the connection without it (for example by a Config instead of a client), or leave watchdogThread off.',
  );
}
