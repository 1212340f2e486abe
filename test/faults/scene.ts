import { Redis } from 'ioredis';
import { Redisson, type RedissonOptions } from '../../lib';
import { redisUrl, sleepUntil, TcpProxy, trackClient } from '../support';

/** What most tests of faults play with. */
export interface Scene {
  readonly url: string;
  /** Before the server; its faults are for those who go through it. */
  readonly proxy: TcpProxy;
  /** A bare connection past the proxy. */
  readonly direct: Redis;
}

/** A lease no test waits for: who gets in after less was woken, and who is gone after less was undone. */
export const LONG_LEASE_MS = 30_000;
/** Far less than {@link LONG_LEASE_MS}, and generous for a loaded machine with a reconnect in between. */
export const SOON_MS = 8_000;

/** A proxy and a bare connection; all closed after the test. */
export async function openScene(url = redisUrl()): Promise<Scene> {
  const proxy = trackClient(await TcpProxy.start(url));
  return { url, proxy, direct: connection(url) };
}

/** A bare connection. */
export function connection(url = redisUrl()): Redis {
  const direct = trackClient(new Redis(url));
  direct.on('error', () => undefined);
  return direct;
}

/** A client; short time-outs make a lost reply show soon. */
export function client(url: string, settings: RedissonOptions = {}): Redisson {
  return trackClient(Redisson.create({ url, timeout: 1_000, ...settings }));
}

/** Has the scripts of a lock cached, so that the next command is the script itself and not its text. */
export async function warmUp(lock: { lock(): Promise<void>; unlock(): Promise<void> }): Promise<void> {
  await lock.lock();
  await lock.unlock();
}

/** Waits until nobody has the key any more. */
export async function gone(direct: Redis, ...keys: string[]): Promise<void> {
  const message = `${keys.join(', ')} gone`;
  await sleepUntil(async () => (await direct.exists(...keys)) === 0, { timeout: SOON_MS, interval: 20, message });
}

/** Waits until so many listen to channels that contain the name. */
export async function listening(direct: Redis, name: string, count = 1): Promise<void> {
  await sleepUntil(async () => (await subscribers(direct, name)) >= count, {
    message: `${count} subscribed to ${name}`,
  });
}

/** How many subscriptions there are to channels that contain the name. */
export async function subscribers(direct: Redis, name: string): Promise<number> {
  const channels = (await direct.pubsub('CHANNELS', `*${name}*`)) as string[];
  if (channels.length === 0) return 0;
  const counts = (await direct.pubsub('NUMSUB', ...channels)) as (string | number)[];
  return counts.reduce<number>((sum, one, i) => sum + (i % 2 === 1 ? Number(one) : 0), 0);
}

/** Rejects unless the promise settles within so many ms: a hang is told by what hangs, not by mocha's time-out. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
