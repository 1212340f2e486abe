import { inspect } from 'node:util';
import { ConfigError } from '../../errors/usageErrors';
import { describe } from '../../util/describe';
import { isUrl, parseAddress } from '../parse/address';
import { IGNORED_COMMON_KEYS, warnIgnored } from '../parse/ignoredKeys';
import { COMMON, type CommonValues } from '../parse/schema';
import type { RedissonOptions } from '../RedissonOptions';
import { Secret } from '../Secret';
import type { Settings } from '../Settings';
import type { ClientTopology, RedisClientLike } from '../Topology';
import { buildSettings, DEFAULT_URL, URL_VARIABLE } from './buildSettings';
import type { Config } from './Config';
import { Draft } from './Draft';

/** Settings of a connection, which cannot be changed for an existing client. */
const NOT_WITH_CLIENT = (Object.keys(COMMON) as (keyof typeof COMMON)[]).filter((key) =>
  /^(username|password|credentials|database|ssl.*)$/.test(key),
);

/**
 * Turns the argument of `Redisson.create` into settings.
 *
 * @param input - nothing (`REDIS_URL`, else `redis://127.0.0.1:6379`), a URL (text or object), a `Config`, or a plain
 *   object of options
 * @param environment - normally `process.env`
 * @returns complete, checked and frozen settings
 * @throws ConfigError if something is missing, unknown, or does not fit
 */
export function resolveConfig(
  input?: string | URL | Config | RedissonOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Settings {
  if (input === undefined || typeof input === 'string' || isUrl(input)) return fromUrl(input, {}, environment);
  if (isConfig(input)) return fromConfig(input);
  if (isClient(input)) throw new ConfigError('An ioredis client is given as an option: Redisson.create({ client })');
  if (!isPlainObject(input)) {
    throw new ConfigError(`The configuration must be a URL, a Config, or an object of options, got ${describe(input)}`);
  }
  return fromOptions(input, environment);
}

/**
 * Whether the value is a plain object, of any realm. Other objects (a Map, an Error) do not have their contents in
 * properties.
 */
export function isPlainObject(value: unknown): value is RedissonOptions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  const isNobodys = prototype === null || Object.getPrototypeOf(prototype) === null;
  return isNobodys && Object.prototype.toString.call(value) === '[object Object]';
}

/**
 * Whether it is a `Config`, of this copy of the package or of another one. By its members: a reference to the class
 * would bring the YAML library into every bundle.
 */
function isConfig(value: unknown): value is Config {
  const isInstance = typeof value === 'object' && value !== null && !isPlainObject(value);
  return isInstance && 'commonValues' in value && 'servers' in value;
}

function fromConfig(config: Config): Settings {
  const { servers, located } = config;
  if (servers === undefined || located === undefined) {
    throw new ConfigError('The Config names no servers: call useSingleServer(), useClusterServers(), … on it');
  }
  const { topology, addresses } = located;
  return buildSettings(topology, { ...servers.values, ...config.commonValues }, addresses, config.hidden);
}

function fromOptions(options: RedissonOptions, environment: NodeJS.ProcessEnv): Settings {
  const draft = new Draft(COMMON, IGNORED_COMMON_KEYS, '', ['client', 'url']);
  const { client, url, ...settings } = options;
  for (const [key, value] of Object.entries(settings)) {
    // The second are names of other libraries' options.
    if (/^(address|connection|host|port|redis|\w+Servers?Config)$/.test(key)) {
      throw new ConfigError(`No setting '${key}' here: give a url, a client, or a Config (setters, Config.fromJSON())`);
    }
    draft.set(key, value);
  }
  warnIgnored(draft.ignoredKeys);
  // `client: undefined` means "none", intended or not; null is refused as a mistake.
  if (client === undefined) return fromUrl(url, draft.values, environment);
  if (url !== undefined) throw new ConfigError('client and url exclude each other: give one of them');
  return fromClient(client, draft.values);
}

function fromClient(client: unknown, values: CommonValues): Settings {
  const misplaced = NOT_WITH_CLIENT.filter((key) => values[key] !== undefined);
  if (misplaced.length > 0) {
    throw new ConfigError(`${misplaced.join(', ')} cannot be set together with client: they are the client's own`);
  }
  const topology: ClientTopology = { kind: 'client', client: new Secret(checkClient(client)) };
  return buildSettings(topology, values, []);
}

function fromUrl(url: string | URL | undefined, values: CommonValues, environment: NodeJS.ProcessEnv): Settings {
  const variable = environment[URL_VARIABLE];
  if (url === undefined && variable?.trim() === '') {
    // A secret that was not filled in: an empty variable never means another server.
    throw new ConfigError(`The environment variable ${URL_VARIABLE} is empty. Set it, or unset it for ${DEFAULT_URL}.`);
  }
  const parsed =
    url === undefined && variable !== undefined
      ? parseAddress(variable, `The environment variable ${URL_VARIABLE}`)
      : parseAddress(url === undefined ? DEFAULT_URL : url, 'url');
  if (parsed.database !== undefined && values.database !== undefined && parsed.database !== values.database) {
    throw new ConfigError(
      `The url names database ${parsed.database}, the settings ${values.database}: give one of them`,
    );
  }
  const database = values.database ?? parsed.database;
  return buildSettings(
    { kind: 'single', address: parsed.address },
    { ...values, ...(database !== undefined && { database }) },
    [parsed],
  );
}

/**
 * @param value - anything
 * @returns whether it has the shape of an ioredis `Redis` or `Cluster`; ioredis itself is not loaded for this check
 */
export function isClient(value: unknown): value is RedisClientLike {
  if (typeof value !== 'object' || value === null) return false;
  const { duplicate, options } = value as { duplicate?: unknown; options?: unknown };
  return typeof duplicate === 'function' && typeof options === 'object' && options !== null;
}

/**
 * Checks the `client` option.
 *
 * @param value - as given by the user
 * @returns the client
 * @throws ConfigError if it is not an ioredis client, or has a `keyPrefix`
 */
export function checkClient(value: unknown): RedisClientLike {
  if (!isClient(value)) {
    throw new ConfigError(`client must be an ioredis Redis or Cluster, got ${describe(value)}`);
  }
  const { keyPrefix, redisOptions } = value.options as { keyPrefix?: unknown; redisOptions?: { keyPrefix?: unknown } };
  const prefix = [keyPrefix, redisOptions?.keyPrefix].find((one) => one !== undefined && one !== null && one !== '');
  if (prefix !== undefined) {
    // Scripts would publish to prefixed channels, but SUBSCRIBE is not prefixed, so no message would arrive.
    throw new ConfigError(
      `client has the keyPrefix ${inspect(prefix)}, which would keep waiters from being woken. ` +
        `Give a client without it, and { nameMapper: new PrefixNameMapper(${inspect(prefix)}) } instead.`,
    );
  }
  return value;
}
