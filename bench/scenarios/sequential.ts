import { monotonicMs, untilMonotonic } from '../harness/clock';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from '../harness/scenario';
import { numberOf, type Task, textOf } from '../harness/task';
import { type Plan } from '../harness/plan';
import { type WorkerGroup } from '../harness/WorkerGroup';

/** Worker side: one handle locks and unlocks until the time is over; resolves to the cycles per second. */
export const tasks: Record<string, Task> = {
  cycle: async ({ session }, parameters) => {
    const handle = session.handle(textOf(parameters, 'name'));
    const startAt = numberOf(parameters, 'startAt');
    const endAt = startAt + numberOf(parameters, 'ms');
    await untilMonotonic(startAt);
    let cycles = 0;
    while (monotonicMs() < endAt) {
      await handle.lock();
      await handle.unlock();
      cycles += 1;
    }
    return (cycles / (monotonicMs() - startAt)) * 1000;
  },
};

async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
  const parameters = { name: freshKey('sequential'), ms: plan.throughputMs };
  const [perSecond] = await group.startTogether('sequential', 'cycle', parameters);
  return { perSecond: perSecond as number };
}

/** One process, one lock, one after the other. */
export const scenario: Scenario = {
  id: 'sequential',
  title: 'Sequential lock + unlock',
  about:
    'One process locks and unlocks one free lock, again and again. Ratio: cycles per second to those of the floor.',
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
