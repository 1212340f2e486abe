import { type LockSession, type SessionOptions } from '../harness/contestant';
import { loadPeer } from './loadPeer';

interface NodeRedisClient {
  connect(): Promise<unknown>;
  close(): Promise<void>;
}

interface NodeRedis {
  createClient(options: { url: string }): NodeRedisClient;
}

interface SimpleRedisMutex {
  lock(client: NodeRedisClient, name: string, options: { timeout: number }): Promise<() => Promise<void>>;
}

/** npm simple-redis-mutex on the `redis` package, which it needs: its own defaults (a look every 10 s besides pub/sub). */
export async function open(options: SessionOptions): Promise<LockSession> {
  const client = loadPeer<NodeRedis>('redis').createClient({ url: options.url });
  await client.connect();
  const mutex = loadPeer<SimpleRedisMutex>('simple-redis-mutex');
  return {
    handle: (name) => {
      let release: (() => Promise<void>) | undefined;
      return {
        lock: async () => {
          release = await mutex.lock(client, name, { timeout: options.watchdogMs });
        },
        unlock: async () => {
          await release?.();
        },
      };
    },
    close: () => client.close(),
  };
}
