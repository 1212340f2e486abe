import { ConfigError } from '../errors/ConfigError';
import type { NameMapper } from './NameMapper';

/**
 * Puts a prefix in front of every name: what to use instead of ioredis' `keyPrefix`.
 *
 * A name that starts with the prefix already stays as it is, because the Java client does the same with the same setting.
 *
 * Source: `org.redisson.config.PrefixNameMapper`.
 */
export class PrefixNameMapper implements NameMapper {
  /** The prefix. */
  readonly prefix: string;

  /**
   * @param prefix - not empty, e.g. `orders:`
   * @throws ConfigError when it is empty or not a string
   */
  constructor(prefix: string) {
    if (typeof prefix !== 'string' || prefix === '') {
      throw new ConfigError('the prefix of a PrefixNameMapper must be a non-empty string');
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
