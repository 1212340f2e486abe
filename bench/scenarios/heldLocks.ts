import { settledHeap } from '../harness/memory';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, valueOf } from '../harness/scenario';
import { manyNames, takeAll } from '../harness/takeAll';
import { type Task, textOf } from '../harness/task';
import { type WorkerGroup } from '../harness/WorkerGroup';

const locks = 10_000;
const warmUpLocks = 200;

/** Worker side: resolves to the heap bytes each of 10 000 held locks takes, its handle included, its name not. */
export const tasks: Record<string, Task> = {
  hold: async ({ session, memory }, parameters) => {
    const names = manyNames(textOf(parameters, 'name'), locks);
    const warm = await takeAll(
      session,
      names.slice(0, warmUpLocks).map((each) => `${each}.warm`),
    );
    await Promise.all(warm.map((handle) => handle.unlock()));
    const before = await settledHeap();
    memory.set('handles', await takeAll(session, names));
    return ((await settledHeap()) - before) / names.length;
  },
};

async function measure(group: WorkerGroup): Promise<Sample> {
  return { bytesPerLock: (await group.call(0, 'heldLocks', 'hold', { name: freshKey('heldLocks') })) as number };
}

/** What a held lock costs its process in memory. */
export const scenario: Scenario = {
  id: 'heldLocks',
  title: '10 000 held locks',
  about:
    'Heap of a process that holds 10 000 locks, after garbage collection, per lock: handle, bookkeeping and renewal. ' +
    'Ratio: to the bare handle of the floor (three strings and a connection).',
  metrics: [
    { id: 'bytesPerLock', label: 'heap per lock', unit: 'bytes', better: 'lower' },
    { id: 'ratio', label: 'heap / floor', unit: 'ratio', better: 'lower' },
  ],
  workers: 1,
  freshWorkers: true,
  watchdogMs: () => defaultWatchdogMs,
  rounds: (plan) => plan.longRounds,
  accepts: (contestant) => contestant.kind !== 'reference',
  measure,
  reference: { contestant: 'floor', workers: 1, measure },
  derive: (sample, reference) => ({
    bytesPerLock: valueOf(sample, 'bytesPerLock'),
    ratio: valueOf(sample, 'bytesPerLock') / valueOf(reference, 'bytesPerLock'),
  }),
};
