/**
 * Translates the names of locks to the keys in Redis and back, e.g. to put a prefix in front. The only way to have a
 * prefix: ioredis' `keyPrefix` does not reach the channels that wake waiters.
 *
 * Both are called synchronously, must give the same answer every time, and must undo each other.
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
