import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

// What the lock and unlock scripts of Redisson's RLock do to Redis, and nothing else: the hash with the owner's hold
// count, its expiry, and the message to the waiters. Written for the bench; no part of the library is in here.

const lockScript = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
`;

const unlockScript = `
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1
`;

/** One ioredis connection with both scripts loaded. */
export class LockScripts {
  readonly #leaseMs: number;
  readonly #lockSha: string;
  readonly #unlockSha: string;

  private constructor(
    readonly redis: Redis,
    leaseMs: number,
    [lockSha, unlockSha]: readonly [string, string],
  ) {
    this.#leaseMs = leaseMs;
    this.#lockSha = lockSha;
    this.#unlockSha = unlockSha;
  }

  /** Connects and loads the scripts. `leaseMs`: life of a lock, in ms. */
  static async connect(url: string, leaseMs: number): Promise<LockScripts> {
    const redis = new Redis(url);
    const shas = await Promise.all([redis.script('LOAD', lockScript), redis.script('LOAD', unlockScript)]);
    return new LockScripts(redis, leaseMs, [String(shas[0]), String(shas[1])]);
  }

  /** One attempt: `null` when acquired, else the time to live of the lock in ms. */
  attempt(name: string, owner: string): Promise<number | null> {
    return this.redis.evalsha(this.#lockSha, 1, name, this.#leaseMs, owner) as Promise<number | null>;
  }

  /** Gives one hold back: 1 when that freed the lock, 0 when holds are left, `null` when the owner had none. */
  release(name: string, channel: string, owner: string): Promise<number | null> {
    return this.redis.evalsha(this.#unlockSha, 2, name, channel, this.#leaseMs, owner) as Promise<number | null>;
  }
}

/** The channel on which an unlock of that lock is told (Redisson's naming). */
export function channelOf(name: string): string {
  return `redisson_lock__channel:{${name}}`;
}

/** Numbers the owners of one process as Redisson does: `<client id>:<thread id>`. */
export function ownerNames(): () => string {
  const clientId = randomUUID();
  let last = 0;
  return () => `${clientId}:${(last += 1)}`;
}
