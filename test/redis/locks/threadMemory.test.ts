import { expect } from 'chai';
import { AsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Redisson } from '../../../lib';
import { uniqueName } from '../../support';
import { newClient } from '../synchronizers/support';

const JOBS = 12_000;
const CHAINS = 20;
/** Jobs before the heap is looked at first: compilers and caches are warm by then. */
const WARM = 4_000;
/** So much (bytes) is no growth: a scope that is kept alive has more than a hundred. */
const NOISE = 400_000;

/** The size of the heap in bytes, garbage not counted. */
async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  return process.memoryUsage().heapUsed;
}

/** It calls `inside` in its innermost scope. */
type Job = (client: Redisson, name: string, inside: () => void) => Promise<unknown>;

const KINDS: readonly Job[] = [
  (client, name, inside) => client.getLock(name).withLock(inside),
  (client, name, inside) =>
    client.runInThread(async () => {
      const lock = client.getLock(name);
      await lock.lock();
      await lock.withLock(inside);
      await lock.unlock();
    }),
  (client, name, inside) => {
    const lock = client.getLock(name);
    return lock.withLock(() =>
      Promise.all([lock.withLock(inside), lock.withLock(() => lock.lock())]).finally(() => lock.unlock()),
    );
  },
  // The section has a thread of its own, and leaves to the scope around it what it took.
  (client, name, inside) =>
    client.runInThread(async () => {
      const lock = client.getLock(name);
      const beside = client.getLock(`${name}:beside`).withLock(() => undefined);
      await client.getLock(`${name}:section`).withLock(async () => {
        await lock.lock();
        inside();
      });
      await lock.unlock();
      await beside;
    }),
];

/**
 * Runs jobs that start one another inside their scopes. None waits for the one that it starts.
 * @returns what keeps the scope of the last one alive
 */
function chain(client: Redisson, work: Job, prefix: string, jobs: number): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const job = (left: number): void => {
      if (left === 0) return resolve(AsyncResource.bind(() => undefined));
      work(client, `${prefix}:${left % 50}`, () => job(left - 1)).catch(reject);
    };
    job(jobs);
  });
}

/** A10, docs/threads.md, "What it costs": what scopes cost a service that never ends. */
describe('the memory of scopes', () => {
  it(`A10: the heap stays flat over ${JOBS} jobs that start one another inside their scopes`, async () => {
    const client = newClient();
    const run = async (jobs: number): Promise<number> => {
      const chains = Array.from({ length: CHAINS }, (_, i) =>
        chain(client, KINDS[i % KINDS.length]!, uniqueName(), jobs / CHAINS),
      );
      const ends = await Promise.all(chains);
      const used = await heapUsed();
      for (const end of ends) end();
      return used;
    };
    const before = await run(WARM);
    const after = await run(JOBS - WARM);
    expect(after - before, 'bytes').to.be.lessThan(NOISE);
  }).timeout(60_000);
});
