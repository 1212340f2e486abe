import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

/** How long a worker thinks about a sale, in ms: a payment service, a fraud check. */
const THINK_MS = 4;

/** Where one sale keeps its goods. */
export interface ShopKeys {
  /** A number: what is left. */
  readonly stock: string;
  /** A hash: order id -> stock before it. */
  readonly orders: string;
  /** The lock's name. */
  readonly lock: string;
}

/**
 * The shop everybody has written once: read the stock, think, write the stock back. Correct for one seller at a time.
 * Each step may be repeated without selling twice, as an order has an id.
 */
export class Shop {
  readonly #redis: Redis;
  readonly #keys: ShopKeys;

  constructor(redis: Redis, keys: ShopKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Sells one piece.
   * @param orderId - unique
   * @param mayWrite - asked last thing before writing
   * @returns `sold`, `soldOut`, or `refused` by `mayWrite`
   */
  async sell(orderId: string, mayWrite: () => boolean = () => true): Promise<'sold' | 'soldOut' | 'refused'> {
    const stock = Number(await this.#redis.get(this.#keys.stock));
    if (stock <= 0) return 'soldOut';
    await sleep(THINK_MS);
    if (!mayWrite()) return 'refused';
    await this.#redis
      .multi()
      .set(this.#keys.stock, stock - 1)
      .hset(this.#keys.orders, orderId, stock)
      .exec();
    return 'sold';
  }

  /** What is left, and what was ordered. */
  async count(): Promise<{ stock: number; orders: number }> {
    const [stock, orders] = await Promise.all([this.#redis.get(this.#keys.stock), this.#redis.hlen(this.#keys.orders)]);
    return { stock: Number(stock), orders };
  }

  /** Opens with so many goods. */
  async open(stock: number): Promise<void> {
    await this.#redis.multi().set(this.#keys.stock, stock).del(this.#keys.orders).exec();
  }

  /** Leaves nothing behind. */
  async close(): Promise<void> {
    await this.#redis.del(this.#keys.stock, this.#keys.orders, this.#keys.lock);
  }
}
