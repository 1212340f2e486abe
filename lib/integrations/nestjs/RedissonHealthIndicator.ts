import type { ConnectionState, RedissonClient } from '../../api';
import { atLeastMillis, MAX_TIMER_MS } from '../../util/duration';
import { inTime } from '../../util/timing';

/** What is told about the client under its key. */
export interface RedissonHealth {
  readonly status: 'up' | 'down';
  readonly state: ConnectionState;
  /** The round trip, in ms; where it is up. */
  readonly ms?: number;
  /** Why it is down. */
  readonly message?: string;
}

/** Options of a check. */
export interface RedissonHealthOptions {
  /**
   * How long Redis may take to answer, in ms: a probe of Kubernetes gives up after one second.
   * @default 1000
   */
  readonly timeout?: number | undefined;
}

const TIMEOUT_MS = 1_000;

/** Redis cannot be reached. `@nestjs/terminus` knows it for the result of a check, in all of its versions. */
export class RedissonHealthError extends Error {
  override readonly name = 'RedissonHealthError';
  /** What terminus looks for. */
  readonly isHealthCheckError = true;
  /** The result of the check. */
  readonly causes: Readonly<Record<string, RedissonHealth>>;

  constructor(message: string, causes: Readonly<Record<string, RedissonHealth>>, options?: ErrorOptions) {
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
   * Asks Redis, and waits no longer than `timeout` for its answer.
   *
   * @param key - what the result is called
   * @param options - `timeout`, in ms
   * @returns `{ [key]: { status: 'up', state, ms } }`
   * @throws RedissonHealthError with `causes` `{ [key]: { status: 'down', state, message } }`; RangeError for
   *   a `timeout` that is no time, or not positive
   */
  async check<K extends string = string>(
    key: K,
    options: RedissonHealthOptions = {},
  ): Promise<Record<K, RedissonHealth>> {
    const timeoutMs = atLeastMillis(options.timeout ?? TIMEOUT_MS, 'timeout', 1);
    try {
      const answered = await inTime(this.#redisson.ping(), Math.min(timeoutMs, MAX_TIMER_MS));
      if (answered === undefined) throw new Error(`Redis has not answered within ${timeoutMs} ms`);
      const up: RedissonHealth = { status: 'up', state: this.#redisson.state, ms: Math.round(answered.value) };
      return { [key]: up } as Record<K, RedissonHealth>;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const down: RedissonHealth = { status: 'down', state: this.#redisson.state, message };
      throw new RedissonHealthError(`${key} is down: ${message}`, { [key]: down }, { cause: error });
    }
  }
}
