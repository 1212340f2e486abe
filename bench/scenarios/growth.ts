import * as path from 'node:path';
import type * as library from '../../lib';
import { type Redisson, type RedissonOptions } from '../../lib';
import { monotonicMs, sleep } from '../harness/clock';
import { settledHeap } from '../harness/memory';
import { numberOf, type Task, type TaskContext, type TaskParameters, textOf } from '../harness/task';

// Worker side of `--only growth`: see bench/growth. It has clients of its own, made as the curve needs them.

/** As in library/ioredisson.ts: this file runs from bench/dist/scenarios. */
const builtPackage = path.resolve(__dirname, '..', 'package', 'index.js');
/** So many calls are under way at once while much is taken or given back. */
const ABREAST = 200;

/** What the waiters of one worker did. */
export interface PassLog {
  /** When each got in (ms, on the clock that all processes share), in that order. */
  readonly enteredAt: Float64Array;
  /** Commands that the worker sent, from the first call on. */
  readonly sent: number;
}

/** What `cycleNames` did. */
export interface NamesLog {
  /** Sent for each lock, once the connections were there. */
  readonly commands: number;
  /** So many locks were taken and given back, from the first on. */
  readonly cycles: number;
}

/** What `cycleValues` did. */
export interface ValuesLog {
  /** CPU time of the process for each value of each hold: acquired, renewed once and released, in us. */
  readonly cpuUs: number;
  /** The longest time for which the event loop was blocked, in ms. */
  readonly blockedMs: number;
}

async function clientOf({ options, memory }: TaskContext, parameters: TaskParameters = {}): Promise<Redisson> {
  const nodes = parameters['nodes'];
  const settings: RedissonOptions = { lockWatchdogTimeout: options.watchdogMs };
  let client = memory.get('client') as Redisson | undefined;
  if (client === undefined) {
    const { Redisson, Config } = (await import(builtPackage)) as typeof library;
    if (typeof nodes === 'string') {
      const config = new Config();
      config.useClusterServers().addNodeAddress(...nodes.split(' '));
      client = Redisson.create(config);
    } else client = Redisson.create({ url: options.url, ...settings });
    await client.getLock('bench:connected').isLocked();
    memory.set('client', client);
  }
  return client;
}

/** Runs `run(0)` to `run(count - 1)`, at most {@link ABREAST} at once. */
async function forAll(count: number, run: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: Math.min(ABREAST, count) }, one));
}

/** The lock that the waiters want: `plain` or `fair`. */
function lockOf(client: Redisson, parameters: TaskParameters): ReturnType<Redisson['getLock']> {
  const name = textOf(parameters, 'name');
  return textOf(parameters, 'kind') === 'fair' ? client.getFairLock(name) : client.getLock(name);
}

export const tasks: Record<string, Task> = {
  hold: async (context, parameters) => {
    const lock = lockOf(await clientOf(context), parameters);
    await lock.lock(-1, undefined, 1);
  },

  release: async (context, parameters) => {
    const lock = lockOf(await clientOf(context), parameters);
    await lock.unlock(1);
  },

  /** Lets so many threads wait for the lock, once each. Resolves to the heap that each takes (bytes) when they sleep. */
  queue: async (context, parameters) => {
    const { memory, counter, index } = context;
    const client = await clientOf(context);
    const waiters = numberOf(parameters, 'waiters');
    const lock = lockOf(client, parameters);
    await client.getLock('bench:warm').lock(-1, undefined, 1);
    await client.getLock('bench:warm').unlock(1);
    const enteredAt: number[] = [];
    const before = await settledHeap();
    const sentBefore = counter.sent;
    const pass = async (threadId: number): Promise<void> => {
      await lock.lock(-1, undefined, threadId);
      enteredAt.push(monotonicMs());
      await lock.unlock(threadId);
    };
    const all: Promise<void>[] = [];
    for (let i = 0; i < waiters; i++) all.push(pass(1_000 + index * waiters + i));
    memory.set('pass', {
      finished: Promise.all(all),
      log: (): PassLog => ({ enteredAt: Float64Array.from(enteredAt), sent: counter.sent - sentBefore }),
    });
    await sleep(numberOf(parameters, 'settleMs'));
    return ((await settledHeap()) - before) / waiters;
  },

  passed: async ({ memory }) => {
    const { finished, log } = memory.get('pass') as { finished: Promise<unknown>; log: () => PassLog };
    await finished;
    return log();
  },

  /** Holds so many locks; resolves to the heap that each takes, in bytes. */
  holdMany: async (context, parameters) => {
    const client = await clientOf(context);
    const name = textOf(parameters, 'name');
    const count = numberOf(parameters, 'count');
    await client.getLock(`${name}:first`).lock(-1, undefined, 1);
    const before = await settledHeap();
    await forAll(count, (index) => client.getLock(`${name}:${index}`).lock(-1, undefined, 1));
    return ((await settledHeap()) - before) / count;
  },

  /** Holds so many shares of one read lock, each by a thread of its own. */
  holdReads: async (context, parameters) => {
    const lock = (await clientOf(context)).getReadWriteLock(textOf(parameters, 'name')).readLock();
    await forAll(numberOf(parameters, 'count'), (index) => lock.lock(-1, undefined, index + 1));
  },

  /** Takes and gives back one more share, so often. */
  cycleReads: async (context, parameters) => {
    const lock = (await clientOf(context)).getReadWriteLock(textOf(parameters, 'name')).readLock();
    for (let i = 0; i < numberOf(parameters, 'times'); i++) {
      await lock.lock(-1, undefined, 1_000_000);
      await lock.unlock(1_000_000);
    }
  },

  /** Commands that are sent within so many ms. */
  watch: async ({ counter }, parameters) => {
    const before = counter.sent;
    await sleep(numberOf(parameters, 'ms'));
    return counter.sent - before;
  },

  /** Opens so many clients that have a waiter each. Resolves to the heap of each. */
  openMany: async ({ options }, parameters) => {
    const { Redisson } = (await import(builtPackage)) as typeof library;
    const name = textOf(parameters, 'name');
    const count = numberOf(parameters, 'count');
    const open = async (): Promise<void> => {
      const client = Redisson.create({ url: options.url });
      client
        .getLock(name)
        .lock(-1, undefined, 1)
        .catch(() => undefined);
      await client.getLock('bench:connected').isLocked();
    };
    await open();
    const before = await settledHeap();
    await forAll(count, open);
    await sleep(500);
    return ((await settledHeap()) - before) / count;
  },

  /**
   * One thread acquires `holds` sets of `values` values of a group, one inside the other, lets the watchdog renew them
   * and releases them. Each set begins `step` values after the one around it; 0: always the same set.
   */
  cycleValues: async (context, parameters) => {
    const client = await clientOf(context);
    const group = textOf(parameters, 'name');
    const count = numberOf(parameters, 'values');
    const holds = numberOf(parameters, 'holds');
    const step = numberOf(parameters, 'step');
    const all = Array.from({ length: count + holds * step }, (_, i) => `value ${i}`);
    const locks = Array.from({ length: holds }, (_, i) =>
      client.getMultiLock(group, all.slice(i * step, i * step + count)),
    );
    let last = monotonicMs();
    let blockedMs = 0;
    const beat = setInterval(() => {
      blockedMs = Math.max(blockedMs, monotonicMs() - last);
      last = monotonicMs();
    }, 1);
    const before = process.cpuUsage();
    for (const lock of locks) await lock.lock(-1, undefined, 1);
    await sleep(numberOf(parameters, 'renewalMs'));
    for (const lock of locks.reverse()) await lock.unlock(1);
    const { user, system } = process.cpuUsage(before);
    clearInterval(beat);
    return { cpuUs: (user + system) / (count * holds), blockedMs } satisfies ValuesLog;
  },

  /** Locks and unlocks so many names of a cluster. */
  cycleNames: async (context, parameters) => {
    const client = await clientOf(context, parameters);
    const name = textOf(parameters, 'name');
    const count = numberOf(parameters, 'count');
    const cycle = async (index: number): Promise<void> => {
      const lock = client.getLock(`${name}:${index}`);
      await lock.lock(-1, undefined, 1);
      await lock.unlock(1);
    };
    await forAll(ABREAST, cycle);
    const before = context.counter.sent;
    await forAll(count, cycle);
    return { commands: (context.counter.sent - before) / count, cycles: ABREAST + count } satisfies NamesLog;
  },
};
