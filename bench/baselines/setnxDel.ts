import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { pollUntil } from './polling';

const pollMs = 50;

/** Seed: SETNX to lock, DEL to unlock, whoever's lock it is; nothing expires. Polled every 50 ms. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  await redis.ping();
  return {
    handle: (name) => ({
      lock: () => pollUntil(async () => (await redis.setnx(name, '1')) === 1, pollMs),
      unlock: () => redis.del(name),
    }),
    close: async () => {
      await redis.quit();
    },
  };
}
