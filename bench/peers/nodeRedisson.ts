import { type LockHandle, type LockSession, type SessionOptions } from '../harness/contestant';
import { loadPeer } from './loadPeer';

interface NodeRedisson {
  readonly Redisson: new (config: {
    redis: { options: { host: string; port: number } };
    lockWatchdogTimeout: bigint;
  }) => {
    readonly redis: { ping(): Promise<string> };
    getLock(name: string): LockHandle;
    quit(): Promise<unknown>;
  };
}

/** npm node-redisson, as its README shows it: a handle of `getLock` per waiter. */
export async function open(options: SessionOptions): Promise<LockSession> {
  const { Redisson } = loadPeer<NodeRedisson>('node-redisson');
  const { hostname, port } = new URL(options.url);
  const client = new Redisson({
    redis: { options: { host: hostname, port: Number(port) } },
    lockWatchdogTimeout: BigInt(options.watchdogMs),
  });
  await client.redis.ping();
  return {
    handle: (name) => client.getLock(name),
    close: async () => {
      await client.quit();
    },
  };
}
