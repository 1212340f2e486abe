import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { ownerNames } from '../references/lockScripts';
import { compareAndDelete, pollUntil } from './polling';

const pollMs = 50;

/** Seed: SET NX PX to lock, compare-and-delete to unlock, no renewal. Polled every 50 ms. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  const unlockSha = String(await redis.script('LOAD', compareAndDelete));
  const nextOwner = ownerNames();
  return {
    handle: (name) => {
      const owner = nextOwner();
      const attempt = async (): Promise<boolean> =>
        (await redis.set(name, owner, 'PX', options.watchdogMs, 'NX')) === 'OK';
      return {
        lock: () => pollUntil(attempt, pollMs),
        unlock: () => redis.evalsha(unlockSha, 1, name, owner),
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
