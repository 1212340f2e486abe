import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

const ACQUIRE = `return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])`;
const RELEASE = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1`;

const LEASE_MS = 30_000;

/** What the benchmarks need of a lock. */
export interface RawLock {
  lock(): Promise<void>;
  unlock(): Promise<void>;
}

interface Commands {
  rawAcquire(key: string, owner: string, leaseMs: number): Promise<string | null>;
  rawRelease(key: string, channel: string, owner: string): Promise<number>;
}

/**
 * The floor: what ioredis alone can do. One script to take, one to release, a message to the next in the queue; no
 * re-entrance, no watchdog, no time-outs, no recovery from anything. Nothing correct can be much faster.
 */
export class RawLocks {
  readonly #redis: Redis & Commands;
  readonly #subscriber: Redis;
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(url: string) {
    const redis = new Redis(url);
    redis.defineCommand('rawAcquire', { numberOfKeys: 1, lua: ACQUIRE });
    redis.defineCommand('rawRelease', { numberOfKeys: 2, lua: RELEASE });
    this.#redis = redis as Redis & Commands;
    this.#subscriber = new Redis(url);
    this.#subscriber.on('message', (channel: string) => this.#waiting.get(channel)?.shift()?.());
  }

  lock(name: string): RawLock {
    const key = `raw:{${name}}`;
    const channel = `raw-channel:{${name}}`;
    const owner = randomUUID();
    return {
      lock: async () => {
        const acquire = async (): Promise<boolean> => (await this.#redis.rawAcquire(key, owner, LEASE_MS)) !== null;
        if (await acquire()) return;
        const line = await this.#line(channel);
        for (;;) {
          // In the queue before the attempt, or a release in between would go unnoticed.
          let turn = (): void => undefined;
          const woken = new Promise<void>((resolve) => line.push((turn = resolve)));
          if (await acquire()) {
            // A wake-up that came all the same belongs to the next.
            const place = line.indexOf(turn);
            if (place >= 0) line.splice(place, 1);
            else line.shift()?.();
            return;
          }
          await woken;
        }
      },
      unlock: async () => {
        await this.#redis.rawRelease(key, channel, owner);
      },
    };
  }

  close(): void {
    this.#redis.disconnect();
    this.#subscriber.disconnect();
  }

  /** Those who wait for a message of the channel; subscribed. */
  async #line(channel: string): Promise<(() => void)[]> {
    let line = this.#waiting.get(channel);
    if (line === undefined) {
      line = [];
      this.#waiting.set(channel, line);
    }
    await this.#subscriber.subscribe(channel);
    return line;
  }
}
