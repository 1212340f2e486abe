import type { Redis } from 'ioredis';
import type { Redisson } from '../../../lib';
import { sleepUntil, type TcpProxy } from '../../support';
import { newClient } from './support';

/**
 * A client behind the proxy, with a short time-out unless another is given. It is connected and its scripts are loaded,
 * so that the next command is the script itself: what the proxy swallows or delays is an acquisition or a release, and
 * nothing before it.
 */
export async function farClient(proxy: TcpProxy, name: string, timeout = 500): Promise<Redisson> {
  const client = newClient({ url: proxy.url, timeout, retryAttempts: 2 });
  const [plain, leased] = [client.getSemaphore(`${name}:1`), client.getPermitExpirableSemaphore(`${name}:2`)];
  await plain.releaseIfExists();
  await plain.addPermits(1);
  await plain.release();
  await plain.acquire();
  await plain.drainPermits();
  await leased.trySetPermits(2);
  await leased.releaseMany([await leased.acquire()]);
  await leased.release(await leased.acquire());
  await Promise.all([plain.delete(), leased.delete()]);
  return client;
}

/**
 * Resolves when a semaphore of either kind has so many permits left, as Redis sees it: what was in doubt is given back.
 */
export async function untilPermitsOf(redis: Redis, name: string, permits: number): Promise<void> {
  await sleepUntil(async () => (await redis.get(name)) === String(permits), { message: `${permits} permits` });
}
