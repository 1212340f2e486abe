import { Redis } from 'ioredis';
import { Redisson, type RLock } from '../../../lib';
import type { Report, Task } from './LockProcess';

// One process with locks: does what its parent asks for, and answers with what came of it and when.
const [url = '', watchdog = '30000', local = 'false'] = process.argv.slice(2);
const client = Redisson.create({ url, lockWatchdogTimeout: Number(watchdog), localHandOver: local === 'true' });
const redis = new Redis(url);

/** Nanoseconds of the machine's monotonic clock, which all its processes share. */
function now(): string {
  return process.hrtime.bigint().toString();
}

async function perform(task: Task): Promise<unknown> {
  const lock = client.getLock(task.name);
  switch (task.kind) {
    case 'lock':
      await lock.lock(task.leaseMs ?? -1, undefined, 1);
      return undefined;
    case 'unlock':
      await lock.unlock(1);
      return undefined;
    case 'contend':
      return contend(task);
    case 'loop':
      return loop(task);
    case 'wait':
      for (let i = 0; i < task.waiters; i++) void lock.lock(-1, undefined, i).catch(() => undefined);
      return undefined;
    case 'queue':
      return queue(task);
  }
}

/** Returns as soon as all have asked, in the order of their threads. */
function queue({ name, reentrant, firstThread, waiters, insideMs }: Task & { kind: 'queue' }): void {
  const lock = reentrant ? client.getFairLock(name) : client.getNonReentrantFairLock(name);
  for (let threadId = firstThread; threadId < firstThread + waiters; threadId++) {
    const pass = async (): Promise<void> => {
      await lock.lock(-1, undefined, threadId);
      const enteredAt = now();
      await redis.rpush(`${name}:order`, threadId);
      await new Promise((resolve) => setTimeout(resolve, insideMs));
      await lock.unlock(threadId);
      await redis.rpush(`${name}:stays`, `${threadId} ${enteredAt} ${now()}`);
    };
    pass().catch(() => undefined);
  }
}

function lockOf(name: string, values?: readonly string[]): RLock {
  return values === undefined ? client.getLock(name) : client.getMultiLock(name, values);
}

/** Waiters that take turns until the counter has reached its end. @returns the turns of each */
async function contend({ name, values, waiters, insideMs, until }: Task & { kind: 'contend' }): Promise<number[]> {
  const turns = new Array<number>(waiters).fill(0);
  let over = false;
  await Promise.all(
    turns.map(async (_, waiter) => {
      while (!over) {
        const lock = lockOf(name, values);
        await lock.lock(-1, undefined, waiter);
        // Read, thought about, written back: two inside lose an update.
        const count = Number(await redis.get(`${name}:count`));
        if (insideMs > 0) await new Promise((resolve) => setTimeout(resolve, insideMs));
        if (count < until) {
          await redis.set(`${name}:count`, count + 1);
          turns[waiter]! += 1;
        } else {
          over = true;
        }
        await lock.unlock(waiter);
      }
    }),
  );
  return turns;
}

/** Waiters that take turns with nothing inside until the time is up. @returns the turns of all */
async function loop({ name, values, waiters, ms }: Task & { kind: 'loop' }): Promise<number> {
  const until = performance.now() + ms;
  let turns = 0;
  await Promise.all(
    Array.from({ length: waiters }, async (_, waiter) => {
      const lock = lockOf(name, values);
      while (performance.now() < until) {
        await lock.lock(-1, undefined, waiter);
        turns++;
        await lock.unlock(waiter);
      }
    }),
  );
  return turns;
}

process.on('message', (task: Task & { id: number }) => {
  const startedAt = now();
  const report = (outcome: Pick<Report, 'value' | 'error'>): void => {
    process.send?.({ id: task.id, startedAt, endedAt: now(), ...outcome } satisfies Report);
  };
  perform(task).then(
    (value) => report({ value }),
    (error: unknown) => report({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
void client
  .getLock('warm-up')
  .isLocked()
  .then(() => process.send?.({ id: 0, startedAt: now(), endedAt: now() } satisfies Report));
