import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import type { Redis } from 'ioredis';
import { Shop, type ShopKeys } from './Shop';
import type { WorkerNews, WorkerOrders } from './worker';

/** One act of the demo. */
export interface Act {
  readonly title: string;
  readonly useLock: boolean;
  /** What happens in the middle. */
  readonly accident?: 'killWorker' | 'killRedis';
}

/** What came of an act. */
export interface Outcome {
  readonly act: Act;
  readonly stockLeft: number;
  readonly orders: number;
  readonly seconds: number;
  /** What the accident did, in words. */
  readonly note: string;
}

/** Where an act plays. */
export interface Stage {
  readonly url: string;
  readonly redis: Redis;
  readonly keys: ShopKeys;
  readonly goods: number;
  readonly workers: number;
  readonly watchdogMs: number;
  /** Kills Redis and starts it again. */
  readonly crashRedis: () => Promise<void>;
  /** Told after each sale. */
  readonly onSale: (sold: number) => void;
  /** Told what happens. */
  readonly say: (line: string) => void;
}

/** After so many sales the accident happens. */
const ACCIDENT_AFTER = 3;

/** Plays one act: opens the shop, lets the workers sell it empty, counts. */
export async function play(act: Act, stage: Stage): Promise<Outcome> {
  const shop = new Shop(stage.redis, stage.keys);
  await shop.open(stage.goods);
  const workers = Array.from({ length: stage.workers }, (_, i) =>
    start(stage, act, act.accident === 'killWorker' && i === 0),
  );
  await Promise.all(workers.map((worker) => heard(worker, 'ready')));
  const startedAt = performance.now();
  let sold = 0;
  let note = '';
  let accident: Promise<void> | undefined;
  for (const worker of workers) {
    worker.on('message', (news: WorkerNews) => {
      if (news === 'sold') stage.onSale(++sold);
      if (news === 'frozen') note = killInside(worker, stage);
      if (act.accident === 'killRedis' && sold === Math.floor(stage.goods / 2)) accident ??= crash();
    });
  }
  const crash = async (): Promise<void> => {
    stage.say('  Redis is killed (SIGKILL) in the middle of a sale, and started again ...');
    await stage.crashRedis();
    note = 'Redis killed and restarted';
  };
  const ends = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.send('go');
  await Promise.all(ends);
  await accident;
  const seconds = (performance.now() - startedAt) / 1000;
  const { stock, orders } = await shop.count();
  return { act, stockLeft: stock, orders, seconds, note };
}

function start(stage: Stage, act: Act, victim: boolean): ChildProcess {
  const orders: WorkerOrders = {
    url: stage.url,
    keys: stage.keys,
    useLock: act.useLock,
    watchdogMs: stage.watchdogMs,
    ...(victim ? { freezeAfter: ACCIDENT_AFTER } : {}),
  };
  return fork(path.join(__dirname, 'worker.ts'), {
    env: { ...process.env, FLASH_SALE: JSON.stringify(orders) },
    execArgv: ['--require', path.resolve(__dirname, '..', '..', 'tools', 'register.cjs')],
  });
}

function killInside(worker: ChildProcess, stage: Stage): string {
  stage.say(`  worker ${worker.pid} is killed (SIGKILL) while it holds the lock; the others wait for its lease ...`);
  worker.kill('SIGKILL');
  return 'a worker killed inside';
}

async function heard(worker: ChildProcess, news: WorkerNews): Promise<void> {
  for (;;) {
    const [said] = (await once(worker, 'message')) as [WorkerNews];
    if (said === news) return;
  }
}
