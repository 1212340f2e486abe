import { sleep } from '../harness/clock';
import { type LockHandle } from '../harness/contestant';
import { settledHeap } from '../harness/memory';
import { type Plan } from '../harness/plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, valueOf } from '../harness/scenario';
import { numberOf, type Task, textOf } from '../harness/task';
import { type WorkerGroup } from '../harness/WorkerGroup';

const waiters = 1000;
const contenders = 0;
const holder = 1;
/** Time for all waiters to subscribe and fall asleep, in ms. */
const settleMs = 1_000;
/** What a client sends once, because it has waited for long, has been sent after this time, in ms. */
const quietAfterMs = 5_500;

/** Worker side. `wait` resolves to the heap bytes per waiter, `watch` to the commands sent within so many ms. */
export const tasks: Record<string, Task> = {
  hold: async ({ session, memory }, parameters) => {
    const handle = session.handle(textOf(parameters, 'name'));
    memory.set('held', handle);
    await handle.lock();
  },
  wait: async ({ session, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    const handles = new Array<LockHandle>(waiters);
    const waiting = new Array<Promise<unknown>>(waiters);
    memory.set('waiting', [handles, waiting]);
    // The first waiter pays for the subscription and for code that is compiled on first use.
    memory.set('first', session.handle(name).lock());
    await sleep(settleMs);
    const before = await settledHeap();
    for (let index = 0; index < waiters; index += 1) {
      const handle = session.handle(name);
      handles[index] = handle;
      waiting[index] = handle.lock();
    }
    await sleep(settleMs);
    return ((await settledHeap()) - before) / waiters;
  },
  watch: async ({ counter }, parameters) => {
    const before = counter.sent;
    await sleep(numberOf(parameters, 'ms'));
    return counter.sent - before;
  },
};

async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const name = freshKey('idleWaiters');
  await group.call(holder, 'idleWaiters', 'hold', { name });
  const bytesPerWaiter = (await group.call(contenders, 'idleWaiters', 'wait', { name })) as number;
  await sleep(quietAfterMs - 2 * settleMs);
  const commands = (await group.call(contenders, 'idleWaiters', 'watch', { ms: plan.idleWaitersMs })) as number;
  return { bytesPerWaiter, commandsPerSecond: (commands / plan.idleWaitersMs) * 1000 };
}

/** What it costs to wait. */
export const scenario: Scenario = {
  id: 'idleWaiters',
  title: '1000 waiters on one held lock',
  about:
    'One process has 1000 waiters on a lock that another process holds. Commands they send while nothing happens, and ' +
    'heap per waiter after garbage collection (handle, promise and place in the queue). Ratio: to raw pub/sub waiting.',
  metrics: [
    { id: 'commandsPerSecond', label: 'commands per second', unit: 'commands', better: 'lower' },
    { id: 'bytesPerWaiter', label: 'heap per waiter', unit: 'bytes', better: 'lower', charted: true },
    { id: 'ratio', label: 'heap / raw pub/sub', unit: 'ratio', better: 'lower' },
  ],
  workers: 2,
  freshWorkers: true,
  watchdogMs: () => defaultWatchdogMs,
  rounds: (plan) => plan.longRounds,
  accepts: (contestant) => contestant.waits && contestant.kind !== 'reference',
  measure,
  reference: { contestant: 'raw-pubsub', workers: 2, measure },
  derive: (sample, reference) => ({
    commandsPerSecond: valueOf(sample, 'commandsPerSecond'),
    bytesPerWaiter: valueOf(sample, 'bytesPerWaiter'),
    ratio: valueOf(sample, 'bytesPerWaiter') / valueOf(reference, 'bytesPerWaiter'),
  }),
};
