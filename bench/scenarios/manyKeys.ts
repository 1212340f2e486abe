import { monotonicMs, untilMonotonic } from '../harness/clock';
import { type Plan } from '../harness/plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from '../harness/scenario';
import { numberOf, type Task, textOf } from '../harness/task';
import { type WorkerGroup } from '../harness/WorkerGroup';

const keys = 100;

/** Worker side: a handle per key, all of them locking and unlocking at once; resolves to all cycles per second. */
export const tasks: Record<string, Task> = {
  cycle: async ({ session }, parameters) => {
    const name = textOf(parameters, 'name');
    const startAt = numberOf(parameters, 'startAt');
    const endAt = startAt + numberOf(parameters, 'ms');
    const handles = Array.from({ length: keys }, (_, key) => session.handle(`${name}.${key}`));
    await untilMonotonic(startAt);
    let cycles = 0;
    await Promise.all(
      handles.map(async (handle) => {
        while (monotonicMs() < endAt) {
          await handle.lock();
          await handle.unlock();
          cycles += 1;
        }
      }),
    );
    return (cycles / (monotonicMs() - startAt)) * 1000;
  },
};

async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const parameters = { name: freshKey('manyKeys'), ms: plan.throughputMs };
  const [perSecond] = await group.startTogether('manyKeys', 'cycle', parameters);
  return { perSecond: perSecond as number };
}

/** One process, a hundred locks at once. */
export const scenario: Scenario = {
  id: 'manyKeys',
  title: '100 keys at once',
  about: 'One process locks and unlocks 100 free locks concurrently. Ratio: cycles per second to those of the floor.',
  metrics: [{ id: 'throughput', label: 'throughput / floor', unit: 'ratio', better: 'higher' }],
  workers: 1,
  freshWorkers: false,
  watchdogMs: () => defaultWatchdogMs,
  rounds: usualRounds,
  accepts: (contestant) => contestant.kind !== 'reference',
  measure,
  reference: { contestant: 'floor', workers: 1, measure },
  derive: (sample, reference) => ({
    throughput: valueOf(sample, 'perSecond') / valueOf(reference, 'perSecond'),
  }),
};
