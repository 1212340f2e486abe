import { Redis } from 'ioredis';
import { type LockSession, type SessionOptions } from '../harness/contestant';
import { loadPeer } from './loadPeer';

interface RedisSemaphore {
  readonly Mutex: new (
    client: Redis,
    key: string,
    options: { lockTimeout: number; acquireTimeout: number; refreshInterval: number },
  ) => { acquire(): Promise<void>; release(): Promise<void> };
}

/** npm redis-semaphore's Mutex: its own defaults (10 ms between attempts), waiting without limit, renewed at a third. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const redis = new Redis(options.url);
  await redis.ping();
  const { Mutex } = loadPeer<RedisSemaphore>('redis-semaphore');
  const settings = {
    lockTimeout: options.watchdogMs,
    acquireTimeout: Number.POSITIVE_INFINITY,
    refreshInterval: options.watchdogMs / 3,
  };
  return {
    handle: (name) => {
      const mutex = new Mutex(redis, name, settings);
      return { lock: () => mutex.acquire(), unlock: () => mutex.release() };
    },
    close: async () => {
      await redis.quit();
    },
  };
}
