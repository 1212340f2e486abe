import { type LockHandle } from './contestant';
import { cycle, type Cycles, warmUp } from './cycleTask';
import { type Plan } from './plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from './scenario';
import { numberOf, type Task, type TaskContext, type TaskParameters, textOf } from './task';
import { type WorkerGroup } from './WorkerGroup';

/** What tells the uncontended scenarios apart. */
export interface CycleSettings {
  readonly id: string;
  readonly title: string;
  readonly about: string;
}

function handlesOf({ session }: TaskContext, parameters: TaskParameters): LockHandle[] {
  const name = textOf(parameters, 'name');
  return Array.from({ length: numberOf(parameters, 'keys') }, (_, key) => session.handle(`${name}.${key}`));
}

/** Worker side. `cycle`: so many locks in a loop of lock and unlock, resolves to the {@link Cycles}; `warmUp`: before. */
export const cycleTasks: Record<string, Task> = {
  warmUp: (context, parameters) => warmUp(handlesOf(context, parameters), numberOf(parameters, 'cpuMs')),
  cycle: (context, parameters) =>
    cycle(handlesOf(context, parameters), numberOf(parameters, 'startAt'), numberOf(parameters, 'ms')),
};

/** The scenario of one process that locks and unlocks `keys` free locks at once. Its reference: the floor. */
export function cycleScenario(settings: CycleSettings, keys: number): Scenario {
  async function measure(group: WorkerGroup, plan: Plan): Promise<Sample> {
    if (plan.warmUpCpuMs > 0) {
      await group.call(0, settings.id, 'warmUp', { name: freshKey(settings.id), keys, cpuMs: plan.warmUpCpuMs });
    }
    const parameters = { name: freshKey(settings.id), keys, ms: plan.throughputMs };
    const [cycles] = (await group.startTogether(settings.id, 'cycle', parameters)) as Cycles[];
    return { ...cycles };
  }
  return {
    ...settings,
    metrics: [
      { id: 'throughput', label: 'throughput / floor', unit: 'ratio', better: 'higher' },
      { id: 'cpu', label: 'CPU time of the process / floor', unit: 'ratio', better: 'lower' },
    ],
    workers: 1,
    freshWorkers: false,
    watchdogMs: () => defaultWatchdogMs,
    rounds: usualRounds,
    accepts: (contestant) => contestant.kind !== 'reference',
    measure,
    reference: { contestant: 'floor', workers: 1, steady: 'perSecond', measure },
    derive: (sample, reference) => ({
      throughput: valueOf(sample, 'perSecond') / valueOf(reference, 'perSecond'),
      cpu: valueOf(sample, 'cpuUs') / valueOf(reference, 'cpuUs'),
    }),
  };
}
