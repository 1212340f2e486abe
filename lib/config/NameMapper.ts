import { ConfigError } from '../errors/usageErrors';
import { describe } from '../util/describe';

/**
 * Translates the names of locks to the keys in Redis and back, e.g. to add a prefix. This is the only way to have a
 * prefix: ioredis' `keyPrefix` does not apply to the channels that wake waiters.
 *
 * Both functions are called synchronously. Each must always return the same result, and one must be the inverse of the
 * other.
 *
 * Source: `org.redisson.config.NameMapper` (`org.redisson.api.NameMapper` before 4.0).
 */
export interface NameMapper {
  /**
   * @param name - the name as given to `getLock`
   * @returns the key in Redis, not empty
   */
  map(name: string): string;
  /**
   * @param name - the key in Redis
   * @returns the name as given to `getLock`
   */
  unmap(name: string): string;
}

/** The mapper that changes nothing: the default. Source: `org.redisson.config.DefaultNameMapper`. */
export const IDENTITY_NAME_MAPPER: NameMapper = Object.freeze({
  map: (name: string): string => name,
  unmap: (name: string): string => name,
});

/**
 * Puts a prefix in front of every name. Use it instead of ioredis' `keyPrefix`.
 *
 * A name that already starts with the prefix is not changed, as in the Java client with the same setting.
 *
 * Source: `org.redisson.config.PrefixNameMapper`.
 */
export class PrefixNameMapper implements NameMapper {
  /** The prefix. */
  readonly prefix: string;

  /**
   * @param prefix - not empty, e.g. `orders:`
   * @throws ConfigError if it is empty or not a string
   */
  constructor(prefix: string) {
    if (typeof prefix !== 'string' || prefix === '') {
      throw new ConfigError(`the prefix of a PrefixNameMapper must be a non-empty string, got ${describe(prefix)}`);
    }
    this.prefix = prefix;
    Object.freeze(this);
  }

  /** @param name - the name as given to `getLock` @returns the key in Redis */
  map(name: string): string {
    return name.startsWith(this.prefix) ? name : this.prefix + name;
  }

  /** @param name - the key in Redis @returns the name without the prefix */
  unmap(name: string): string {
    return name.startsWith(this.prefix) ? name.slice(this.prefix.length) : name;
  }
}
