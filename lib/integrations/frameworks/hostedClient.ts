import type { RedissonClient } from '../../api';
import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { isInMemory } from '../../config/serverIdentity';
import { ConfigError } from '../../errors';
import { Redisson } from '../../Redisson';
import { describe } from '../../util/describe';
import { atLeastMillis } from '../../util/duration';

/** What a framework is given: where Redis is, or a client, and how long the shutdown waits for releases. */
export type HostOptions = RedissonOptions & {
  /**
   * An existing client; no other settings are allowed then. It is shut down with the application, too, unless it is
   * one of `ioredisson/testing`, which tests share.
   */
  readonly redisson?: RedissonClient | undefined;
  /** A configuration in Redisson's terms; no other settings are allowed then. */
  readonly config?: Config | undefined;
  /**
   * How long the shutdown waits for held locks to be released, in ms. Meanwhile the watchdog renews them. `false`:
   * the client is not shut down; whoever made it does that.
   * @default 10 000; `false` for a client of `ioredisson/testing`
   */
  readonly shutdownDrain?: number | false | undefined;
};

const SHUTDOWN_DRAIN_MS = 10_000;

/** A client and its shutdown. */
export interface HostedClient {
  readonly redisson: RedissonClient;
  /** Rejects the waiters at once, and waits for held locks. Every call returns the same promise. */
  readonly shutdown: () => Promise<void>;
}

/** @throws ConfigError, RangeError for unknown or invalid options */
export function hostedClient(options: HostOptions | string | URL | undefined): HostedClient {
  const given: HostOptions = Object(options) === options && !(options instanceof URL) ? (options as HostOptions) : {};
  const { redisson: existing, config, shutdownDrain = drainOf(existing), ...settings } = given;
  const drain = shutdownDrain === false ? undefined : atLeastMillis(shutdownDrain, 'shutdownDrain');
  const besides = Object.keys(settings)[0] ?? (existing !== undefined && config !== undefined ? 'config' : undefined);
  if ((existing !== undefined || config !== undefined) && besides !== undefined) {
    throw new ConfigError(`${besides} cannot be set together with ${existing === undefined ? 'config' : 'redisson'}`);
  }
  // Nothing falls back to another server: `redisson: null` is a mistake of whoever made it.
  if (existing !== undefined && Object(existing) !== existing) {
    throw new ConfigError(`redisson must be a client of Redisson.create, got ${describe(existing)}`);
  }
  const redisson = existing ?? Redisson.create(config ?? (options === given ? settings : options));
  let end: Promise<void> | undefined;
  return {
    redisson,
    shutdown: () => (end ??= drain === undefined ? Promise.resolve() : redisson.shutdown({ drain })),
  };
}

/** The default of `shutdownDrain`. */
function drainOf(existing: RedissonClient | undefined): number | false {
  // A stub of a test may have no configuration.
  const topology = (existing as Partial<RedissonClient> | undefined)?.getConfig?.().topology;
  return topology !== undefined && isInMemory(topology) ? false : SHUTDOWN_DRAIN_MS;
}
