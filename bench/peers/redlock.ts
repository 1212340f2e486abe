import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { loadPeer } from './loadPeer';

interface Held {
  unlock(): PromiseLike<unknown>;
}

type Redlock = new (
  clients: readonly Redis[],
  options: { retryCount: number },
) => { lock(resource: string, ttl: number): PromiseLike<Held> };

/** npm redlock on one Redis: its own defaults (200 ms +- 100 between attempts), but as many attempts as it takes. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  await redis.ping();
  const redlock = new (loadPeer<Redlock>('redlock'))([redis], { retryCount: -1 });
  return {
    handle: (name) => {
      let held: Held | undefined;
      return {
        lock: async () => {
          held = await redlock.lock(name, options.watchdogMs);
        },
        unlock: async () => {
          await held?.unlock();
        },
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
