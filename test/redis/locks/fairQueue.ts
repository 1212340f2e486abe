import type { Redis } from 'ioredis';
import type { Redisson } from '../../../lib';
import { prefixName } from '../../../lib/util/names';
import { client, connection } from '../../faults/scene';
import { redisUrl, sleepUntil, uniqueName } from '../../support';

/** What most tests of the fair lock work with. */
export interface FairScene {
  readonly name: string;
  readonly redis: Redis;
  /** The queue of the lock of that name. */
  readonly queue: FairQueue;
  /** A client; tests that need several make the others. */
  readonly one: Redisson;
}

/** A name nobody else uses, its queue, a bare connection and a client; both are closed after the test. */
export function openFairScene(): FairScene {
  const name = uniqueName('fair');
  const redis = connection();
  return { name, redis, queue: new FairQueue(redis, name), one: client(redisUrl()) };
}

/** The queue of a fair lock, seen from outside. */
export class FairQueue {
  readonly #redis: Redis;
  readonly #queue: string;
  readonly #timeouts: string;

  /** @param rawName - the lock's key */
  constructor(redis: Redis, rawName: string) {
    this.#redis = redis;
    this.#queue = prefixName('redisson_lock_queue', rawName);
    this.#timeouts = prefixName('redisson_lock_timeout', rawName);
  }

  /** The thread ids of those who wait, in their order. */
  async threads(): Promise<number[]> {
    return (await this.owners()).map((owner) => Number(owner.split(':')[1]));
  }

  owners(): Promise<string[]> {
    return this.#redis.lrange(this.#queue, 0, -1);
  }

  /** Owner -> ms until it counts as dead. */
  async deadlines(): Promise<Map<string, number>> {
    const pairs = (await this.#redis.call('zrange', this.#timeouts, 0, -1, 'WITHSCORES')) as string[];
    const now = Date.now();
    const deadlines = new Map<string, number>();
    for (let i = 0; i < pairs.length; i += 2) deadlines.set(pairs[i]!, Number(pairs[i + 1]) - now);
    return deadlines;
  }

  /** The deadline of one thread, in ms from now. */
  async deadlineOf(threadId: number): Promise<number> {
    const found = [...(await this.deadlines())].find(([owner]) => owner.endsWith(`:${threadId}`));
    if (found === undefined) throw new Error(`thread ${threadId} is not queued`);
    return found[1];
  }

  /** Puts somebody in it who will never come: a waiter that was killed. @param waitMs - what it may cost the others */
  async addDead(owner: string, waitMs: number): Promise<void> {
    await this.#redis.rpush(this.#queue, owner);
    await this.#redis.zadd(this.#timeouts, Date.now() + waitMs, owner);
  }

  /** Resolves when so many wait. */
  async untilLength(length: number): Promise<void> {
    await sleepUntil(async () => (await this.#redis.llen(this.#queue)) === length, { message: `${length} queued` });
  }

  /** Whether nothing is left of it. */
  async isEmpty(): Promise<boolean> {
    return (await this.#redis.exists(this.#queue, this.#timeouts)) === 0;
  }
}
