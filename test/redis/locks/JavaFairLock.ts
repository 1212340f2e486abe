import type { Cluster, Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { prefixName } from '../../../lib/util/names';

/** What every script of Redisson's fair lock does first: it drops the heads whose scores have passed. */
const PURGE = `
local function purge(now)
  while true do
    local head = redis.call('lindex', KEYS[2], 0)
    if head == false then break end
    local score = redis.call('zscore', KEYS[3], head)
    if score == false or tonumber(score) > tonumber(now) then break end
    redis.call('zrem', KEYS[3], head)
    redis.call('lpop', KEYS[2])
  end
end
`;

// KEYS: name, queue, timeouts. ARGV: lease, owner, wait, now.
const ACQUIRE = `${PURGE}
purge(ARGV[4])
if redis.call('exists', KEYS[1]) == 0 and
  (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for _, member in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), member)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('zscore', KEYS[3], ARGV[2]) ~= false then return math.max(0, redis.call('pttl', KEYS[1])) end
local last, ttl = redis.call('lindex', KEYS[2], -1), nil
local score = last and redis.call('zscore', KEYS[3], last)
if score then ttl = tonumber(score) - tonumber(ARGV[4]) else ttl = redis.call('pttl', KEYS[1]) end
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl
`;

// KEYS: name, queue, timeouts, channelBase. ARGV: message, owner, now, publish.
const UNLOCK = `${PURGE}
purge(ARGV[3])
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then return 0 end
redis.call('del', KEYS[1])
local head = redis.call('lindex', KEYS[2], 0)
if head ~= false then redis.call(ARGV[4], KEYS[4] .. ':' .. head, ARGV[1]) end
return 1
`;

// KEYS: queue, timeouts. ARGV: owner, wait.
const LEAVE = `
local queue, i = redis.call('lrange', KEYS[1], 0, -1), 1
while queue[i] and queue[i] ~= ARGV[1] do i = i + 1 end
for j = i + 1, #queue do redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), queue[j]) end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
`;

/**
 * One JVM that has a fair lock, as far as others see it: what the scripts of Redisson write and publish. Nothing of it
 * listens, so each of its waiters that is not called is a dead one.
 */
export class JavaFairLock {
  readonly clientId = randomUUID();
  readonly #redis: Redis | Cluster;
  readonly #name: string;
  readonly #publish: string;

  /** @param publish - `SPUBLISH` on a cluster with sharded pub/sub */
  constructor(redis: Redis | Cluster, name: string, publish = 'PUBLISH') {
    this.#redis = redis;
    this.#name = name;
    this.#publish = publish;
  }

  /** An attempt that queues. @returns whether it got the lock */
  async acquire(thread: number, leaseMs = 30_000, waitMs = 300_000): Promise<boolean> {
    const reply = await this.#redis.eval(
      ACQUIRE,
      3,
      ...this.#keys,
      leaseMs,
      `${this.clientId}:${thread}`,
      waitMs,
      Date.now(),
    );
    return reply === null;
  }

  /** @throws when that thread does not hold it */
  async unlock(thread: number): Promise<void> {
    const channel = prefixName('redisson_lock__channel', this.#name);
    const owner = `${this.clientId}:${thread}`;
    const reply = await this.#redis.eval(UNLOCK, 4, ...this.#keys, channel, '0', owner, Date.now(), this.#publish);
    if (reply === null) throw new Error(`thread ${thread} does not hold ${this.#name}`);
  }

  /** A waiter whose time is up. */
  async leave(thread: number, waitMs = 300_000): Promise<void> {
    await this.#redis.eval(LEAVE, 2, ...this.#keys.slice(1), `${this.clientId}:${thread}`, waitMs);
  }

  get #keys(): [string, string, string] {
    const name = this.#name;
    return [name, prefixName('redisson_lock_queue', name), prefixName('redisson_lock_timeout', name)];
  }
}
