import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { sleepUntil } from '../../support/sleepUntil';
import { MessageRecording } from './MessageRecording';
import type { Side } from './Stage';

/** A key as {@link Probe.snapshot} reads it: names of owners replaced, times rounded. */
export interface KeySnapshot {
  readonly type: string;
  readonly value: unknown;
  /** `none`, or the time to live in ms, rounded up to a multiple of the class. */
  readonly ttl: number | 'none';
}

/** Every key of a server. */
export type Snapshot = Readonly<Record<string, KeySnapshot>>;

/** How {@link Probe.snapshot} makes two runs comparable. */
export interface SnapshotOptions {
  /** Text (owner names, client ids) and what to write instead, in this order. */
  readonly names?: readonly (readonly [from: string, to: string])[];
  /** Times are rounded up to a multiple of this, in ms. Default 5000. */
  readonly ttlClassMs?: number;
}

/**
 * Java listens, attempts once more, and only then sleeps. A message of a read/write lock that comes just before it
 * sleeps wakes nobody there (Redisson: `LockPubSub` wakes as many as are queued at its latch), so tests leave it this
 * time.
 */
export const JAVA_FALLS_ASLEEP_MS = 100;

/** Looks at a server from outside of both clients. */
export class Probe {
  readonly redis: Redis;
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
    this.redis = new Redis(url);
  }

  static async open(url: string): Promise<Probe> {
    const probe = new Probe(url);
    await probe.redis.ping();
    return probe;
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }

  /** Resolves as soon as `channel` has that many subscribed connections: its waiters have made their first attempt. */
  async untilSubscribed(channel: string, connections = 1): Promise<void> {
    await sleepUntil(async () => (await this.subscribers(channel)) >= connections, {
      message: `${connections} subscribers of ${channel}`,
      timeout: 20_000,
      interval: 2,
    });
    await sleep(JAVA_FALLS_ASLEEP_MS);
  }

  /** How many connections are subscribed to the channel, sharded or not. */
  async subscribers(channel: string): Promise<number> {
    const [plain, sharded] = await Promise.all([
      this.redis.pubsub('NUMSUB', channel) as Promise<[string, number]>,
      this.redis.call('PUBSUB', 'SHARDNUMSUB', channel) as Promise<[string, number]>,
    ]);
    return plain[1] + sharded[1];
  }

  /** Resolves as soon as nobody is subscribed to `channel` any more. */
  async untilUnsubscribed(channel: string): Promise<void> {
    await sleepUntil(async () => (await this.subscribers(channel)) === 0, { message: `nobody on ${channel}` });
  }

  /** The keys whose name contains `name`, sorted. */
  async keysOf(name: string): Promise<string[]> {
    return (await this.keys()).filter((key) => key.includes(name));
  }

  /**
   * {@link keysOf}; if the last one was Java, without a claim of a fair lock's queue that expires by itself: Java knows
   * no claims, so one is left where Java, as the head, was slower than our first check after the unlock (300 ms).
   */
  async keysLeft(name: string, last: Side): Promise<string[]> {
    const keys = await this.keysOf(name);
    const claims = `redisson_lock_claim:{${name}}`;
    if (last === 'node' || !keys.includes(claims)) return keys;
    const ttl = await this.redis.pttl(claims);
    return keys.filter((key) => key !== claims || ttl === -1 || ttl > 10_000);
  }

  /** Resolves as soon as {@link keysOf} are these, sorted. */
  async untilKeysOf(name: string, keys: readonly string[]): Promise<void> {
    await sleepUntil(async () => JSON.stringify(await this.keysOf(name)) === JSON.stringify(keys), {
      message: `only ${JSON.stringify(keys)} of ${name}`,
    });
  }

  /** Resolves as soon as there is a key that matches. */
  async untilKey(pattern: RegExp): Promise<void> {
    await sleepUntil(async () => (await this.keys()).some((key) => pattern.test(key)), { message: `key ${pattern}` });
  }

  /** Resolves as soon as the key is gone. */
  async untilGone(key: string): Promise<void> {
    await sleepUntil(async () => (await this.redis.exists(key)) === 0, { message: `no ${key}`, timeout: 20_000 });
  }

  /** Records every message published from now on. */
  record(): Promise<MessageRecording> {
    return MessageRecording.start(this.#url);
  }

  /** How often the server has run each command so far; scripts count as `evalsha`, `eval` and what they call. */
  async commandCounts(): Promise<Readonly<Record<string, number>>> {
    const info = await this.redis.info('commandstats');
    const counts = [...info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)];
    return Object.fromEntries(counts.map(([, command = '', calls]): [string, number] => [command, Number(calls)]));
  }

  /** Keys that are neither unlock-latch keys of Java (they live for an instant) nor named in `except`. */
  async keys(): Promise<string[]> {
    const keys = await this.redis.keys('*');
    return keys.filter((key) => !key.startsWith('redisson_unlock_latch:')).sort();
  }

  /** Every key with its type, value and time to live, comparable between runs. */
  async snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const entries: [string, KeySnapshot][] = [];
    for (const key of await this.keys()) {
      const [type, ttl] = await Promise.all([this.redis.type(key), this.redis.pttl(key)]);
      const value = rename(await this.#value(key, type, options), options);
      entries.push([rename(key, options) as string, { type, value, ttl: ttl < 0 ? 'none' : ceil(ttl, options) }]);
    }
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  async #value(key: string, type: string, options: SnapshotOptions): Promise<unknown> {
    switch (type) {
      case 'hash':
        return this.redis.hgetall(key);
      case 'list':
        return this.redis.lrange(key, 0, -1);
      case 'zset':
        return this.#scores(key, options);
      default:
        return this.redis.get(key);
    }
  }

  /**
   * Scores are times, from now on. Members that are 16 raw bytes are ids of permits: random, so only their form counts.
   */
  async #scores(key: string, options: SnapshotOptions): Promise<string[]> {
    const now = Date.now();
    // RESP3 answers with pairs, RESP2 with a flat list.
    const reply = (await this.redis.callBuffer('ZRANGE', key, '0', '-1', 'WITHSCORES')) as unknown[];
    const flat = reply.flat() as (Buffer | number)[];
    const members: (readonly [string, number | string])[] = [];
    for (let i = 0; i < flat.length; i += 2) {
      const member = flat[i] as Buffer;
      const score = Number(String(flat[i + 1]));
      const name = member.length === 16 ? '<16 bytes>' : member.toString();
      members.push([name, score === 922337203685477 ? 'never' : ceil(score - now, options)]);
    }
    return members.map((member) => JSON.stringify(member)).sort();
  }
}

/** A little more than a multiple is that multiple: a lease may have been rounded up, and clocks are not one. */
function ceil(ms: number, { ttlClassMs = 5000 }: SnapshotOptions): number {
  return Math.ceil((ms - 50) / ttlClassMs) * ttlClassMs;
}

function rename(value: unknown, { names = [] }: SnapshotOptions): unknown {
  let text = JSON.stringify(value);
  for (const [from, to] of names) text = text.replaceAll(from, to);
  return JSON.parse(text);
}
