import { Redis } from 'ioredis';
import type { RLock } from '../../../../lib';
import type { BenchKind, BenchParameters, BenchResults } from '../benchTypes';
import type { Path } from '../paths';
import { NodeHotLock } from './NodeHotLock';
import type { NodeDriver } from './NodeDriver';

/** The benchmarks of `java/…/Bench.java`, with the same parameters and results. */
export async function runNodeBench(
  driver: NodeDriver,
  client: string,
  kind: BenchKind,
  parameters: unknown,
): Promise<unknown> {
  switch (kind) {
    case 'sequential':
      return sequential(driver, client, parameters as BenchParameters['sequential']);
    case 'hot':
      return hot(driver, client, parameters as BenchParameters['hot']);
    case 'wakeup':
      return wakeup(driver, client, parameters as BenchParameters['wakeup']);
    case 'drain':
      return drain(driver, client, parameters as BenchParameters['drain']);
  }
}

/** The lock of the request; `%d` in its name becomes `index`. */
function lockOf(driver: NodeDriver, client: string, path: Path, index: number): RLock {
  const steps = path.map((step) =>
    step.map((part) => (typeof part === 'string' ? part.replace('%d', `${index}`) : part)),
  );
  return driver.resolve(client, steps as unknown as Path) as RLock;
}

async function sequential(
  driver: NodeDriver,
  client: string,
  { object, n, warmup = 0 }: BenchParameters['sequential'],
): Promise<BenchResults['sequential']> {
  const lock = lockOf(driver, client, object, 0);
  let start = performance.now();
  for (let i = -warmup; i < n; i++) {
    if (i === 0) start = performance.now();
    await lock.lock();
    await lock.unlock();
  }
  const elapsedMs = performance.now() - start;
  return { n, elapsedMs, perSecond: (n * 1000) / elapsedMs };
}

async function hot(
  driver: NodeDriver,
  client: string,
  parameters: BenchParameters['hot'],
): Promise<BenchResults['hot']> {
  const { redisson } = driver.client(client);
  const { check } = parameters;
  const address = check === undefined ? undefined : driver.client(check.client).config.addresses[0];
  const checker = address === undefined ? undefined : new Redis(address);
  try {
    return await new NodeHotLock(redisson, (index) => lockOf(driver, client, parameters.object, index), {
      ...parameters,
      checker,
    }).run();
  } finally {
    checker?.disconnect();
  }
}

async function wakeup(
  driver: NodeDriver,
  client: string,
  { object, rounds, warmup = 0, settleMs = 10, waiterClient = client }: BenchParameters['wakeup'],
): Promise<BenchResults['wakeup']> {
  const held = lockOf(driver, client, object, 0);
  const awaited = lockOf(driver, waiterClient, object, 0);
  const latencies: number[] = [];
  for (let i = -warmup; i < rounds; i++) {
    await held.lock();
    const inside = awaited.lock().then(async () => {
      const at = performance.now();
      await awaited.unlock();
      return at;
    });
    // Long enough for the waiter's two attempts and its subscription.
    await sleep(settleMs);
    const from = performance.now();
    await held.unlock();
    const took = (await inside) - from;
    if (i >= 0) latencies.push(took);
  }
  return percentiles(latencies);
}

async function drain(
  driver: NodeDriver,
  client: string,
  { object, waiters, rounds = 1, settleMs = 1000 }: BenchParameters['drain'],
): Promise<BenchResults['drain']> {
  const roundsMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const gate = lockOf(driver, client, object, 0);
    await gate.lock();
    const passed = Promise.all(
      Array.from({ length: waiters }, async () => {
        const lock = lockOf(driver, client, object, 0);
        await lock.lock();
        await lock.unlock();
      }),
    );
    await sleep(settleMs);
    const start = performance.now();
    await gate.unlock();
    await passed;
    roundsMs.push(performance.now() - start);
  }
  return { waiters, roundsMs };
}

function percentiles(values: number[]): BenchResults['wakeup'] {
  values.sort((a, b) => a - b);
  const at = (p: number): number => values[Math.min(values.length - 1, Math.floor((values.length * p) / 100))] ?? NaN;
  return { n: values.length, p50: at(50), p90: at(90), p99: at(99), max: at(100) };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
