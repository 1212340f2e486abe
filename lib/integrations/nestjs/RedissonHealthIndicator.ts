import type { ConnectionState, RedissonClient } from '../../api';
import { atLeastMillis } from '../../util/duration';

/** The report about the client, under its key. */
export interface RedissonHealth {
  readonly status: 'up' | 'down';
  readonly state: ConnectionState;
  /** The round trip, in ms; only while it is up. */
  readonly ms?: number;
  /** Why it is down. */
  readonly message?: string;
}

/** Options of a check. */
export interface RedissonHealthOptions {
  /**
   * How long Redis may take to answer, in ms. A probe of Kubernetes gives up after one second: stay below that.
   * @default 800
   */
  readonly timeout?: number | undefined;
}

const TIMEOUT_MS = 800;

/** Redis cannot be reached. All versions of `@nestjs/terminus` recognize it as the result of a check. */
export class RedissonHealthError extends Error {
  override readonly name = 'RedissonHealthError';
  /** The property by which terminus recognizes the error. */
  readonly isHealthCheckError = true;
  /** The result of the check. */
  readonly causes: Readonly<Record<string, RedissonHealth>>;

  constructor(message: string, causes: Readonly<Record<string, RedissonHealth>>, options?: ErrorOptions) {
    super(message, options);
    this.causes = causes;
  }
}

/**
 * Checks whether Redis answers, for `@nestjs/terminus` or for a controller of your own.
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
   * Sends a PING, and waits no longer than `timeout` for the answer.
   *
   * @param key - the key of the result
   * @param options - `timeout`, in ms
   * @returns `{ [key]: { status: 'up', state, ms } }`
   * @throws RedissonHealthError with `causes` `{ [key]: { status: 'down', state, message } }`; RangeError for a
   *   `timeout` that is not a positive time
   */
  async check<K extends string = string>(
    key: K,
    options: RedissonHealthOptions = {},
  ): Promise<Record<K, RedissonHealth>> {
    const timeoutMs = atLeastMillis(options.timeout ?? TIMEOUT_MS, 'timeout', 1);
    try {
      const ms = Math.round(await this.#redisson.ping({ timeout: timeoutMs }));
      const up: RedissonHealth = { status: 'up', state: this.#redisson.state, ms };
      return { [key]: up } as Record<K, RedissonHealth>;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const down: RedissonHealth = { status: 'down', state: this.#redisson.state, message };
      throw new RedissonHealthError(`${key} is down: ${message}`, { [key]: down }, { cause: error });
    }
  }
}
