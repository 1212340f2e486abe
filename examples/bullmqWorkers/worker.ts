/** One process of `main.ts`: a worker that does four jobs at once, and of each customer one at a time. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redisson } from '../../lib';
import { connection, type Invoice, QUEUE, type Report } from './queue';

/** A hash: customer -> the jobs under the lock. */
const INSIDE = `${QUEUE}:inside`;

const redisson = Redisson.create(process.env['REDIS_URL']);
const redis = new Redis(process.env['REDIS_URL']!);

const worker = new Worker<Invoice>(
  QUEUE,
  async ({ data: { customer, number } }) => {
    await redisson.getFairLock(`${QUEUE}:customer:${customer}`).withLock(async (hold) => {
      report({ customer, number, event: 'begin', inside: await redis.hincrby(INSIDE, customer, 1) });
      await sleep(40, undefined, { signal: hold.signal }); // the invoice
      report({ customer, number, event: 'end', inside: await redis.hincrby(INSIDE, customer, -1) });
    });
  },
  { connection: connection(), concurrency: 4 },
);

/** The worker ends first: it waits for its jobs, which need the client. */
async function end(): Promise<void> {
  await worker.close();
  await redisson.shutdown({ drain: 5_000 });
  await redis.del(INSIDE);
  redis.disconnect();
}

function report(what: Report): void {
  process.send?.(what);
}

process.once('disconnect', () => void end());
void worker.waitUntilReady().then(() => process.send?.('ready'));
