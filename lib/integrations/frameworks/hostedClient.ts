import type { RedissonClient } from '../../api';
import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { isInMemory } from '../../config/serverIdentity';
import { ConfigError } from '../../errors';
import { Redisson } from '../../Redisson';
import { atLeastMillis } from '../../util/duration';

/** What a framework is given: where Redis is, or a client, and how long its locks may take at the end. */
export type HostOptions = RedissonOptions & {
  /**
   * A client that exists already; then there are no other settings. It is shut down with the application, too, unless it
   * is one of `ioredisson/testing`, which tests share.
   */
  readonly redisson?: RedissonClient | undefined;
  /** A configuration in Redisson's words; then there are no other settings. */
  readonly config?: Config | undefined;
  /**
   * How long locks that are held when the application ends may take to be given back, in ms. Meanwhile the watchdog
   * renews them. `false`: the client is left as it is; whoever made it shuts it down.
   * @default 10 000; `false` for a client of `ioredisson/testing`
   */
  readonly shutdownDrain?: number | false | undefined;
};

const SHUTDOWN_DRAIN_MS = 10_000;

/** A client and the end of it. */
export interface HostedClient {
  readonly redisson: RedissonClient;
  /** Rejects the waiters at once, and waits for what is held. The same promise at each call. */
  readonly shutdown: () => Promise<void>;
}

/** @throws ConfigError, RangeError for options that it does not understand */
export function hostedClient(options: HostOptions | string | URL | undefined): HostedClient {
  const given: HostOptions = typeof options === 'object' && !(options instanceof URL) ? options : {};
  const { redisson: existing, config, shutdownDrain = drainOf(existing), ...settings } = given;
  const drain = shutdownDrain === false ? undefined : atLeastMillis(shutdownDrain, 'shutdownDrain');
  const besides = Object.keys(settings)[0] ?? (existing !== undefined && config !== undefined ? 'config' : undefined);
  if ((existing !== undefined || config !== undefined) && besides !== undefined) {
    throw new ConfigError(`${besides} cannot be set together with ${existing === undefined ? 'config' : 'redisson'}`);
  }
  const redisson = existing ?? Redisson.create(config ?? (options === given ? settings : options));
  let end: Promise<void> | undefined;
  return {
    redisson,
    shutdown: () => (end ??= drain === undefined ? Promise.resolve() : redisson.shutdown({ drain })),
  };
}

/** What is done with a client where nothing is said. */
function drainOf(existing: RedissonClient | undefined): number | false {
  // A stub of a test may have no configuration.
  const topology = (existing as Partial<RedissonClient> | undefined)?.getConfig?.().topology;
  return topology !== undefined && isInMemory(topology) ? false : SHUTDOWN_DRAIN_MS;
}
