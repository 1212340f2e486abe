import { inspect } from 'node:util';
import { ConfigError } from '../errors/ConfigError';
import { describe } from '../util/describe';
import type { RedisClientLike } from './Topology';

/**
 * @param value - anything
 * @returns whether it looks like an ioredis `Redis` or `Cluster`; ioredis itself is not loaded for that
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
 * @throws ConfigError when it is no ioredis client, or has a `keyPrefix`
 */
export function checkClient(value: unknown): RedisClientLike {
  if (!isClient(value)) {
    throw new ConfigError(`client must be an ioredis Redis or Cluster, got ${describe(value)}`);
  }
  const { keyPrefix, redisOptions } = value.options as { keyPrefix?: unknown; redisOptions?: { keyPrefix?: unknown } };
  const prefix = [keyPrefix, redisOptions?.keyPrefix].find((one) => one !== undefined && one !== null && one !== '');
  if (prefix !== undefined) {
    // Scripts would publish to prefixed channels that SUBSCRIBE, which is not prefixed, never hears.
    throw new ConfigError(
      `client has the keyPrefix ${inspect(prefix)}, which would keep waiters from being woken. ` +
        `Give a client without it, and { nameMapper: new PrefixNameMapper(${inspect(prefix)}) } instead.`,
    );
  }
  return value;
}
