import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { loadPeer } from './loadPeer';

interface RedlockUniversal {
  readonly IoredisAdapter: new (redis: Redis) => object;
  createLock(config: { adapter: object; key: string; ttl: number; retryAttempts: number }): {
    acquire(): Promise<object>;
    release(handle: object): Promise<boolean>;
  };
}

/** npm redlock-universal on one Redis: its own defaults (100 ms between attempts), but as many attempts as it takes. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  await redis.ping();
  const { IoredisAdapter, createLock } = loadPeer<RedlockUniversal>('redlock-universal');
  const adapter = new IoredisAdapter(redis);
  return {
    handle: (name) => {
      const lock = createLock({
        adapter,
        key: name,
        ttl: options.watchdogMs,
        retryAttempts: Number.MAX_SAFE_INTEGER,
      });
      let held: object | undefined;
      return {
        lock: async () => {
          held = await lock.acquire();
        },
        unlock: async () => {
          if (held !== undefined) await lock.release(held);
        },
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
