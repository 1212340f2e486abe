import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Redisson } from '../lib';
import { ensureBuilt, projectRoot } from '../tools/buildOutput';
import { RedisServer } from '../tools/redisServer';

/**
 * What it costs that a dropped hold is noticed (`IOREDISSON_ABANDONED_HOLD`): `acquire()` and `unlock()` of one free lock,
 * by the built package as it is, and by the same package whose FinalizationRegistry does nothing. Both run in this
 * process, in turns, and each turn is compared with the two beside it. `lock()` makes no object, and registers nothing.
 *
 *     node tools/bootstrap.cjs ts bench/abandonment.ts
 */
const ROUNDS = 121;
const ROUND_MS = 100;

type Library = { readonly Redisson: typeof Redisson };

/** Loads the package anew. */
function load(registers: boolean): Library {
  const dist = fs.realpathSync(path.join(projectRoot, 'dist')) + path.sep;
  for (const file of Object.keys(require.cache)) if (file.startsWith(dist)) delete require.cache[file];
  const real = globalThis.FinalizationRegistry;
  if (!registers) {
    globalThis.FinalizationRegistry = class {
      register(): void {}
    } as unknown as typeof FinalizationRegistry;
  }
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require(`${dist}index.js`) as Library;
  } finally {
    globalThis.FinalizationRegistry = real;
  }
}

/** @returns pairs of acquire and unlock per second, and CPU time of the process per pair, in us */
async function round(client: Redisson, name: string): Promise<readonly [perSecond: number, cpuUs: number]> {
  const lock = client.getLock(name);
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  let pairs = 0;
  while (performance.now() - startedAt < ROUND_MS) {
    const hold = await lock.acquire();
    await hold.unlock();
    pairs++;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return [(pairs / (performance.now() - startedAt)) * 1_000, (user + system) / pairs];
}

function shown(ratios: readonly number[]): string {
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (part: number): string => sorted[Math.round(part * (sorted.length - 1))]!.toFixed(3);
  return `${at(0.5)} (half of the rounds: ${at(0.25)} to ${at(0.75)})`;
}

async function main(): Promise<void> {
  ensureBuilt();
  const server = await RedisServer.start();
  const clients = [false, true].map((registers) => load(registers).Redisson.create(server.url));
  const results: (readonly [number, number])[] = [];
  for (let i = -4; i < 2 * ROUNDS + 1; i++) {
    const result = await round(clients[Math.abs(i) % 2]!, 'bench:abandonment');
    if (i >= 0) results.push(result);
  }
  for (const [at, what] of ['throughput', 'CPU time'].entries()) {
    const ratios: number[] = [];
    for (let i = 1; i < results.length; i += 2) {
      ratios.push((2 * results[i]![at]!) / (results[i - 1]![at]! + results[i + 1]![at]!));
    }
    console.log(`${what}, noticed / not noticed: ${shown(ratios)}`);
  }
  await Promise.all(clients.map((client) => client.shutdown()));
  await server.stop();
}

void main();
