/** One worker process of the flash sale. Its orders come in the environment, its news go to the parent by IPC. */
import { Redis } from 'ioredis';
import { ConnectionError, CommandTimeoutError, IllegalMonitorStateError, LockLostError, Redisson } from '../../lib';
import { Shop, type ShopKeys } from './Shop';

/** What a worker is told. */
export interface WorkerOrders {
  readonly url: string;
  readonly keys: ShopKeys;
  /** `false`: sells without asking anybody. */
  readonly useLock: boolean;
  /** The watchdog time-out, in ms: how long a dead worker's lock lives. */
  readonly watchdogMs: number;
  /** Stops inside its critical section after so many sales, to be killed there. */
  readonly freezeAfter?: number;
}

/** What a worker says. */
export type WorkerNews = 'ready' | 'sold' | 'frozen';

const orders = JSON.parse(process.env['FLASH_SALE'] ?? '{}') as WorkerOrders;
const tell = (news: WorkerNews): void => void process.send?.(news);

/** Errors after which the lock is simply asked for again: the work is repeatable. */
const passes = (error: unknown): boolean =>
  [ConnectionError, CommandTimeoutError, LockLostError, IllegalMonitorStateError].some((kind) => error instanceof kind);

async function main(): Promise<void> {
  const redis = new Redis(orders.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  const redisson = Redisson.create({ url: orders.url, lockWatchdogTimeout: orders.watchdogMs });
  const shop = new Shop(redis, orders.keys);
  const lock = redisson.getLock(orders.keys.lock);
  await redis.ping();
  tell('ready');
  await new Promise((resolve) => process.once('message', resolve));

  for (let sold = 0; ;) {
    const orderId = `${process.pid}-${sold}`;
    try {
      const outcome = orders.useLock
        ? await lock.withLock(async (hold) => {
            if (sold === orders.freezeAfter) return freeze();
            return shop.sell(orderId, () => hold.isHeld);
          })
        : await shop.sell(orderId);
      if (outcome === 'soldOut') break;
      if (outcome === 'sold') {
        sold++;
        tell('sold');
      }
    } catch (error) {
      if (!passes(error)) throw error;
    }
  }
  await redisson.shutdown();
  redis.disconnect();
  process.disconnect();
}

/** Holds the lock and does nothing more; the parent kills the process here. */
function freeze(): Promise<never> {
  tell('frozen');
  return new Promise(() => undefined);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
