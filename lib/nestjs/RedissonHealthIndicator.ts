import type { ConnectionState, RedissonClient } from '../api';

/** What is told about the client under its key. */
export interface RedissonHealth {
  readonly status: 'up' | 'down';
  readonly state: ConnectionState;
  /** The round trip, in ms; where it is up. */
  readonly ms?: number;
  /** Why it is down. */
  readonly message?: string;
}

/** Redis cannot be reached. `@nestjs/terminus` knows it for the result of a check, in all of its versions. */
export class RedissonHealthError extends Error {
  override readonly name = 'RedissonHealthError';
  /** What terminus looks for. */
  readonly isHealthCheckError = true;
  /** The result of the check. */
  readonly causes: Readonly<Record<string, RedissonHealth>>;

  constructor(
    message: string,
    causes: Readonly<Record<string, RedissonHealth>>,
    options?: { readonly cause: unknown },
  ) {
    super(message, options);
    this.causes = causes;
  }
}

/**
 * Whether Redis answers, for `@nestjs/terminus` or for a controller of your own.
 *
 * ```ts
 * health.check([() => indicator.check('redis')]);
 * ```
 */
export class RedissonHealthIndicator {
  readonly #redisson: RedissonClient;

  constructor(redisson: RedissonClient) {
    this.#redisson = redisson;
  }

  /**
   * Asks Redis.
   *
   * @param key - what the result is called
   * @returns `{ [key]: { status: 'up', state, ms } }`
   * @throws RedissonHealthError with `causes` `{ [key]: { status: 'down', state, message } }`
   */
  async check<K extends string = string>(key: K): Promise<Record<K, RedissonHealth>> {
    try {
      const ms = Math.round(await this.#redisson.ping());
      return this.#result(key, { status: 'up', state: this.#redisson.state, ms });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const down = this.#result(key, { status: 'down', state: this.#redisson.state, message });
      throw new RedissonHealthError(`${key} is down: ${message}`, down, { cause: error });
    }
  }

  #result<K extends string>(key: K, health: RedissonHealth): Record<K, RedissonHealth> {
    return { [key]: health } as Record<K, RedissonHealth>;
  }
}
