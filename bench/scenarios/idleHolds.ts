import { Redis } from 'ioredis';
import { monotonicMs, sleep } from '../harness/clock';
import { type Plan } from '../harness/plan';
import { freshKey, type Sample, type Scenario, valueOf } from '../harness/scenario';
import { numberOf, type Task, textOf } from '../harness/task';
import { takeAll } from '../harness/takeAll';
import { type WorkerGroup } from '../harness/WorkerGroup';

const holds = 1000;

/** Worker side: takes the locks, counts the commands of the renewal, then counts the locks that are still there. */
export const tasks: Record<string, Task> = {
  hold: async ({ session, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    memory.set(
      'handles',
      await takeAll(
        session,
        Array.from({ length: holds }, (_, hold) => `${name}.${hold}`),
      ),
    );
  },
  watch: async ({ counter }, parameters) => {
    const periodMs = numberOf(parameters, 'periodMs');
    // The window begins half a period after a renewal, so that none of them falls on one of its ends.
    const idle = counter.sent;
    const giveUpAt = monotonicMs() + 1.5 * periodMs;
    while (counter.sent === idle && monotonicMs() < giveUpAt) await sleep(periodMs / 50);
    await sleep(periodMs / 2);
    const before = counter.sent;
    await sleep(periodMs * numberOf(parameters, 'periods'));
    return counter.sent - before;
  },
  alive: async ({ options }, parameters) => {
    const redis = new Redis(options.url);
    // Some libraries put a prefix before the name.
    const alive = (await redis.keys(`*${textOf(parameters, 'name')}.*`)).length;
    await redis.quit();
    return alive;
  },
};

async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const name = freshKey('idleHolds');
  await group.call(0, 'idleHolds', 'hold', { name });
  const parameters = { periodMs: plan.idleHoldMs / 3, periods: plan.idlePeriods };
  const commands = (await group.call(0, 'idleHolds', 'watch', parameters)) as number;
  const alive = (await group.call(0, 'idleHolds', 'alive', { name })) as number;
  return { commandsPerPeriod: commands / plan.idlePeriods, alive };
}

/** What it costs to keep locks that nobody touches. */
export const scenario: Scenario = {
  id: 'idleHolds',
  title: '1000 idle holds under the watchdog',
  about:
    'One process holds 1000 locks without a lease. Commands sent per renewal period (a third of the life of a lock), ' +
    'also as a share of one command per hold, and how many locks are still there after more than one life.',
  metrics: [
    { id: 'commandsPerPeriod', label: 'renewal commands per period', unit: 'commands', better: 'lower' },
    { id: 'perHold', label: 'per hold and period', unit: 'share', better: 'lower' },
    { id: 'alive', label: 'locks still held', unit: 'count', better: 'higher' },
  ],
  workers: 1,
  freshWorkers: true,
  watchdogMs: (plan) => plan.idleHoldMs,
  rounds: (plan) => plan.longRounds,
  accepts: (contestant) => contestant.renews,
  measure,
  derive: (sample) => ({
    commandsPerPeriod: valueOf(sample, 'commandsPerPeriod'),
    perHold: valueOf(sample, 'commandsPerPeriod') / holds,
    alive: valueOf(sample, 'alive'),
  }),
};
