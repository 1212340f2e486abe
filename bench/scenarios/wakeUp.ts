import { Redis } from 'ioredis';
import { monotonicMs, sleep } from '../harness/clock';
import { type Contestant, type LockHandle } from '../harness/contestant';
import { type Plan } from '../harness/plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from '../harness/scenario';
import { percentile } from '../harness/statistics';
import { type Task, textOf } from '../harness/task';
import { type WorkerGroup } from '../harness/WorkerGroup';
import { channelOf, LockScripts } from '../references/lockScripts';

const holder = 0;
const waiter = 1;
/** The waiter sleeps this long before it is woken, in ms, and so many round trips: enough to have subscribed, ... */
const asleepMs = 6;
const asleepRoundTrips = 4;
/** ... and up to this, or the pause of one that polls, more: its wake-ups are spread evenly over its pauses. */
const phaseMs = 4;
/** In a warm-up it is only to have subscribed. */
const warmUpAsleepMs = 1;
/** A round has at least so many hand-offs. */
const fewestWakeUps = 3;

/** The raw hand-off's own connections, opened once per worker. */
interface Raw {
  readonly scripts: LockScripts;
  readonly subscriber: Redis;
}

async function rawOf(url: string, memory: Map<string, unknown>): Promise<Raw> {
  let raw = memory.get('raw') as Raw | undefined;
  if (raw === undefined) {
    raw = { scripts: await LockScripts.connect(url, defaultWatchdogMs), subscriber: new Redis(url) };
    memory.set('raw', raw);
  }
  return raw;
}

/**
 * Worker side. `hold`, `wait`, `release`, `entered` use the contestant; `rawWait`, `rawPublish` are the reference: a
 * PUBLISH, its message, and one EVALSHA that takes the free lock. Moments in ms on the shared monotonic clock.
 */
export const tasks: Record<string, Task> = {
  hold: async ({ session, memory }, parameters) => {
    const handle = session.handle(textOf(parameters, 'name'));
    memory.set('handle', handle);
    await handle.lock();
  },
  wait: async ({ session, memory }, parameters) => {
    const handle = session.handle(textOf(parameters, 'name'));
    memory.set('handle', handle);
    memory.set('entered', handle.lock().then(monotonicMs));
  },
  release: async ({ memory }) => {
    const releasedAt = monotonicMs();
    await (memory.get('handle') as LockHandle).unlock();
    return releasedAt;
  },
  entered: async ({ memory }) => {
    const enteredAt = await Promise.race([memory.get('entered') as Promise<number>, sleep(5_000)]);
    if (enteredAt === undefined) return Infinity;
    await (memory.get('handle') as LockHandle).unlock();
    return enteredAt;
  },
  rawWait: async ({ options, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    const { scripts, subscriber } = await rawOf(options.url, memory);
    const message = new Promise((resolve) => subscriber.once('message', resolve));
    await subscriber.subscribe(channelOf(name));
    const take = async (): Promise<number> => {
      await message;
      if ((await scripts.attempt(name, 'raw')) !== null) throw new Error(`${name} is held`);
      return monotonicMs();
    };
    memory.set('entered', take());
  },
  rawPublish: async ({ options, memory }, parameters) => {
    const { scripts } = await rawOf(options.url, memory);
    const publishedAt = monotonicMs();
    await scripts.redis.publish(channelOf(textOf(parameters, 'name')), '0');
    return publishedAt;
  },
  rawEntered: async ({ options, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    const enteredAt = (await memory.get('entered')) as number;
    const { scripts, subscriber } = await rawOf(options.url, memory);
    await subscriber.unsubscribe(channelOf(name));
    await scripts.redis.del(name);
    return enteredAt;
  },
};

function latencies(values: readonly number[]): Sample {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99), max: Math.max(...values) };
}

function fallAsleep(contestant: Contestant, { name, distanceMs }: Plan): Promise<void> {
  if (name === 'warm-up') return sleep(warmUpAsleepMs + asleepRoundTrips * distanceMs);
  return sleep(asleepMs + asleepRoundTrips * distanceMs + Math.random() * Math.max(phaseMs, contestant.pollMs));
}

function enough(done: number, plan: Plan, startedAt: number): boolean {
  return done >= plan.wakeUps || (done >= fewestWakeUps && monotonicMs() - startedAt > plan.wakeUpMs);
}

async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const values: number[] = [];
  const startedAt = monotonicMs();
  while (!enough(values.length, plan, startedAt)) {
    const name = freshKey('wakeUp');
    await group.call(holder, 'wakeUp', 'hold', { name });
    await group.call(waiter, 'wakeUp', 'wait', { name });
    await fallAsleep(group.contestant, plan);
    const releasedAt = (await group.call(holder, 'wakeUp', 'release')) as number;
    values.push(((await group.call(waiter, 'wakeUp', 'entered')) as number) - releasedAt);
    if (values.at(-1) === Infinity) {
      await group.restart();
      break;
    }
  }
  return latencies(values);
}

async function measureRaw(group: WorkerGroup, plan: Plan, beside: Contestant): Promise<Sample> {
  const values: number[] = [];
  const startedAt = monotonicMs();
  while (!enough(values.length, plan, startedAt)) {
    const name = freshKey('wakeUp');
    await group.call(waiter, 'wakeUp', 'rawWait', { name });
    await fallAsleep(beside, plan);
    const publishedAt = (await group.call(holder, 'wakeUp', 'rawPublish', { name })) as number;
    values.push(((await group.call(waiter, 'wakeUp', 'rawEntered', { name })) as number) - publishedAt);
  }
  return latencies(values);
}

/** How long after an unlock in one process the waiter in another one is inside. */
export const scenario: Scenario = {
  id: 'wakeUp',
  title: 'Wake-up between two processes',
  about:
    'One process unlocks, the waiter in another one gets in. Ratio: time from before the call of unlock until lock() ' +
    'has resolved to that of a raw hand-off (PUBLISH, its message, one EVALSHA).',
  metrics: [
    { id: 'p50', label: 'p50 / raw hand-off', unit: 'ratio', better: 'lower' },
    { id: 'p99', label: 'p99 / raw hand-off', unit: 'ratio', better: 'lower', charted: true },
    { id: 'max', label: 'max / raw hand-off', unit: 'ratio', better: 'lower' },
  ],
  workers: 2,
  freshWorkers: false,
  watchdogMs: () => defaultWatchdogMs,
  rounds: usualRounds,
  accepts: (contestant) => contestant.waits,
  measure,
  reference: { contestant: 'floor', workers: 2, steady: 'p50', measure: measureRaw },
  derive: (sample, reference) => ({
    p50: valueOf(sample, 'p50') / valueOf(reference, 'p50'),
    p99: valueOf(sample, 'p99') / valueOf(reference, 'p99'),
    max: valueOf(sample, 'max') / valueOf(reference, 'max'),
  }),
};
