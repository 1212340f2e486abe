import { Redisson } from '../../lib';

/*
 * Runs the same work again and again, and tells the size of the heap after each run. Run by limits.test.ts with
 * --expose-gc.
 */

const RUNS = 6;
const WAITERS = 150;

async function run(clients: readonly Redisson[], prefix: string): Promise<void> {
  const work: Promise<unknown>[] = [];
  for (let i = 0; i < WAITERS; i++) {
    const redisson = clients[i % clients.length]!;
    const controller = new AbortController();
    work.push(
      redisson.getLock(`${prefix}:lock`).withLock(() => undefined),
      redisson.getFairLock(`${prefix}:fair:${i % 20}`).withLock(() => undefined),
      redisson
        .getReadWriteLock(`${prefix}:rw`)
        .readLock()
        .withLock(() => undefined),
      redisson.getLock(`${prefix}:own:${i}`).tryLock(1, 100),
      redisson
        .getLock(`${prefix}:lock`)
        .acquire({ signal: controller.signal })
        .then(
          (hold) => hold.unlock(),
          () => undefined,
        ),
    );
    if (i % 3 === 0) setImmediate(() => controller.abort());
  }
  await Promise.all(work);
  // The leases of those that nobody unlocks run out.
  await new Promise((resolve) => setTimeout(resolve, 150));
}

async function main(url: string, prefix: string): Promise<void> {
  const clients = [Redisson.create(url), Redisson.create(url)];
  const heaps: number[] = [];
  await Promise.all(clients.map((one) => one.getLock(prefix).isLocked()));
  // The first runs warm the compiler and the caches up.
  for (let i = -2; i < RUNS; i++) {
    await run(clients, prefix);
    global.gc?.();
    global.gc?.();
    if (i >= 0) heaps.push(process.memoryUsage().heapUsed);
  }
  process.stdout.write(`${JSON.stringify(heaps)}\n`);
  for (const one of clients) await one.shutdown();
}

const [url = '', prefix = ''] = process.argv.slice(2);
void main(url, prefix);
