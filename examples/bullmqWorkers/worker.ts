/** One process of `main.ts`: a worker that does four jobs at once, and of each customer one at a time. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redisson } from '../../lib';
import { connection, type Invoice, QUEUE, type Report } from './queue';

const redisson = Redisson.create(process.env['REDIS_URL']);
const redis = new Redis(process.env['REDIS_URL']!);

const worker = new Worker<Invoice>(
  QUEUE,
  async ({ data: { customer, number } }) => {
    await redisson.getFairLock(`customer:${customer}`).withLock(async (hold) => {
      tell({ customer, number, event: 'begin', inside: await redis.incr(`inside:${customer}`) });
      await sleep(40, undefined, { signal: hold.signal }); // the invoice
      tell({ customer, number, event: 'end', inside: await redis.decr(`inside:${customer}`) });
    });
  },
  { connection: connection(), concurrency: 4 },
);

/** The worker ends first: it waits for its jobs, which need the client. */
async function end(): Promise<void> {
  await worker.close();
  await redisson.shutdown({ drain: 5_000 });
  redis.disconnect();
}

function tell(report: Report): void {
  process.send?.(report);
}

process.once('disconnect', () => void end());
void worker.waitUntilReady().then(() => process.send?.('ready'));
