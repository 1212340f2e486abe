/**
 * `npm run demo`: a flash sale without the lock, with it, with a killed worker, and with a killed Redis. The table at the
 * end compares what was sold with what there was.
 */
import { randomUUID } from 'node:crypto';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { Redis } from 'ioredis';
import { RedisServer } from '../../tools/redisServer';
import { type Act, type Outcome, play } from './sale';

/** So many pieces, or as many as the command line says (`npm run demo -- 30`): a multiple of 3. */
const GOODS = Number(process.argv[2] ?? 150);
const WORKERS = 4;
/** Short, so that nobody waits 30 seconds for the killed worker's lock. */
const WATCHDOG_MS = 2_000;

const ACTS: readonly Act[] = [
  { title: 'without a lock', useLock: false },
  { title: 'with the lock', useLock: true },
  { title: 'with the lock, a worker killed', useLock: true, accident: 'killWorker' },
  { title: 'with the lock, Redis killed', useLock: true, accident: 'killRedis' },
];

async function main(): Promise<void> {
  const given = process.env['REDIS_URL'];
  // Every write on disk before it is answered, so that killing this server loses nothing.
  const server =
    given === undefined || given === ''
      ? await RedisServer.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
      : undefined;
  const url = server?.url ?? given!;
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  const run = `ioredisson-demo:{${randomUUID()}}`;
  const keys = { stock: `${run}:stock`, orders: `${run}:orders`, lock: `${run}:lock` };
  console.log(`Flash sale: ${GOODS} pieces, ${WORKERS} worker processes, Redis at ${new URL(url).host}`);
  try {
    const outcomes: Outcome[] = [];
    for (const act of ACTS) {
      if (act.accident === 'killRedis' && server === undefined) {
        console.log('\nRedis is not killed: REDIS_URL names yours.');
        continue;
      }
      console.log(`\n${act.title}`);
      const progress = showProgress();
      outcomes.push(
        await play(act, {
          url,
          redis,
          keys,
          goods: GOODS,
          workers: WORKERS,
          watchdogMs: WATCHDOG_MS,
          crashRedis: () => server!.restart(),
          onSale: progress.sold,
          say: progress.say,
        }),
      );
      progress.end();
    }
    console.log(`\n${table(outcomes)}`);
    process.exitCode = verdict(outcomes);
  } finally {
    await redis.del(keys.stock, keys.orders, keys.lock);
    redis.disconnect();
    await server?.stop();
  }
}

function isTerminal(): boolean {
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb';
}

/** A bar in a terminal, a line now and then elsewhere. */
function showProgress(): { sold: (count: number) => void; say: (line: string) => void; end: () => void } {
  if (!isTerminal()) {
    const step = GOODS / 3;
    return {
      sold: (count) => {
        if (count % step === 0) console.log(`  sold ${count} of ${GOODS}`);
      },
      say: (line) => console.log(line),
      end: () => undefined,
    };
  }
  const bar = new SingleBar({ format: '  {bar} sold {value} of {total}', stream: process.stdout, hideCursor: true });
  bar.start(GOODS, 0);
  return {
    // Without a lock more is sold than there is.
    sold: (count) => {
      if (count > bar.getTotal()) bar.setTotal(count);
      bar.update(count);
    },
    say: (line) => process.stdout.write(`\n${line}\n`),
    end: () => bar.stop(),
  };
}

/** For a file or a pipe: columns, and nothing but ASCII. */
const NO_BORDERS = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ mid: '', 'mid-mid': '', 'left-mid': '', 'right-mid': '' },
  ...{ left: '', middle: '  ', right: '' },
};

function table(outcomes: readonly Outcome[]): string {
  const result = new Table({
    head: ['flash sale', 'goods', 'sold', 'oversold', 'seconds', ''],
    // Its colours would come on every output, a file too.
    style: { head: [], border: [], ...(isTerminal() ? {} : { 'padding-left': 0, 'padding-right': 0 }) },
    chars: isTerminal() ? {} : NO_BORDERS,
  });
  for (const { act, orders, seconds, note } of outcomes) {
    result.push([act.title, GOODS, orders, orders - GOODS, seconds.toFixed(1), note]);
  }
  return result.toString();
}

/** The exit code: the lock must sell exactly what there is. */
function verdict(outcomes: readonly Outcome[]): number {
  const wrong = outcomes.filter(({ act, orders, stockLeft }) => act.useLock && (orders !== GOODS || stockLeft !== 0));
  if (wrong.length === 0) {
    console.log('With the lock every piece was sold exactly once.');
    return 0;
  }
  console.error(`Not sold exactly: ${wrong.map(({ act }) => act.title).join('; ')}`);
  return 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
