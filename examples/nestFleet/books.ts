import type { Redis } from 'ioredis';

/** What the counts say. */
export interface Balance {
  readonly begun: number;
  readonly finished: number;
  /** The most imports that ever ran at the same time. */
  readonly mostAtOnce: number;
  readonly ordersPaid: number;
  readonly ordersPaidTwice: number;
}

/** What the processes of the fleet have done, counted in Redis: a lock that fails shows here. */
export class Books {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#key = `${prefix}books`;
  }

  async beginImport(): Promise<void> {
    const replies = await this.#redis
      .multi()
      .hincrby(this.#key, 'begun', 1)
      .hincrby(this.#key, 'inside', 1)
      .hget(this.#key, 'most')
      .exec();
    const [inside, most] = [replies?.[1]?.[1], replies?.[2]?.[1]].map(Number) as [number, number];
    if (inside > most) await this.#redis.hset(this.#key, 'most', inside);
  }

  async finishImport(): Promise<void> {
    await this.#redis.multi().hincrby(this.#key, 'finished', 1).hincrby(this.#key, 'inside', -1).exec();
  }

  async isPaid(order: string): Promise<boolean> {
    return (await this.#redis.hexists(this.#key, `order:${order}`)) === 1;
  }

  async pay(order: string): Promise<void> {
    await this.#redis.hincrby(this.#key, `order:${order}`, 1);
  }

  async balance(): Promise<Balance> {
    const fields = await this.#redis.hgetall(this.#key);
    const paid = Object.entries(fields).filter(([field]) => field.startsWith('order:'));
    return {
      begun: Number(fields['begun'] ?? 0),
      finished: Number(fields['finished'] ?? 0),
      mostAtOnce: Number(fields['most'] ?? 0),
      ordersPaid: paid.length,
      ordersPaidTwice: paid.filter(([, times]) => Number(times) > 1).length,
    };
  }

  async burn(): Promise<void> {
    await this.#redis.del(this.#key);
  }
}
