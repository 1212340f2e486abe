import { sleep } from './clock';
import { type DrainLog } from './drainTasks';
import { type Plan } from './plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from './scenario';
import { ascending } from './statistics';
import { usageOf, usedEach } from './usage';
import { type WorkerGroup } from './WorkerGroup';

const allWaiters = 100;
/** Time for all waiters to be asleep before the lock is given free, in ms. */
const fallAsleepMs = 300;

/** What tells the two drain scenarios apart. */
export interface DrainSettings {
  readonly id: string;
  readonly title: string;
  /** Processes the waiters are spread over. */
  readonly processes: number;
}

async function drain(settings: DrainSettings, group: WorkerGroup, plan: Plan): Promise<Sample> {
  const { id, processes } = settings;
  const name = freshKey(id);
  // The holder is a process of its own, the last one of the group.
  await group.call(processes, id, 'hold', { name });
  await group.callAll(id, 'queue', { name, waiters: allWaiters / processes }, processes);
  await sleep(fallAsleepMs);
  const before = await usageOf(group, id);
  const releasedAt = (await group.call(processes, id, 'release')) as number;
  const logs = (await group.callAll(id, 'drained', { limitMs: plan.drainLimitMs }, processes)) as DrainLog[];
  const drained = logs.reduce((sum, log) => sum + log.drained, 0);
  const used = usedEach(before, await usageOf(group, id), drained);
  const complete = drained === allWaiters;
  if (!complete) await group.restart();
  const entries = ascending([releasedAt, ...logs.flatMap((log) => [...log.enteredAt])]);
  const gaps = entries.slice(1).map((at, index) => at - (entries[index] ?? at));
  return {
    drained,
    cpuUs: used.clientsCpuUs + used.serverCpuUs,
    commands: used.commands,
    // What was given up took at least the limit; that is what it counts as.
    tookMs: complete ? Math.max(...logs.map((log) => log.doneAt)) - releasedAt : plan.drainLimitMs,
    longestGapMs: complete ? Math.max(...gaps) : plan.drainLimitMs,
  };
}

/** The drain scenario over so many processes. Its reference: the raw pub/sub waiting, spread the same way. */
export function drainScenario(settings: DrainSettings): Scenario {
  const measure = (group: WorkerGroup, plan: Plan): Promise<Sample> => drain(settings, group, plan);
  return {
    id: settings.id,
    title: settings.title,
    about:
      '100 waiters sleep on a held lock; from the moment it is given free each takes it once and gives it back. ' +
      'Ratio: time until the last one is done to that of raw pub/sub waiting; CPU: of all processes and of the server.',
    metrics: [
      { id: 'time', label: 'time / raw pub/sub', unit: 'ratio', better: 'lower' },
      { id: 'cpu', label: 'CPU per acquisition / raw pub/sub', unit: 'ratio', better: 'lower' },
      { id: 'commands', label: 'commands per acquisition', unit: 'commands', better: 'lower' },
      { id: 'longestGap', label: 'longest single hand-off / whole raw drain', unit: 'ratio', better: 'lower' },
      { id: 'drained', label: 'of 100 done', unit: 'count', better: 'higher' },
    ],
    workers: settings.processes + 1,
    freshWorkers: false,
    watchdogMs: () => defaultWatchdogMs,
    rounds: usualRounds,
    accepts: (contestant) => contestant.waits && contestant.kind !== 'reference',
    measure,
    reference: { contestant: 'raw-pubsub', workers: settings.processes + 1, steady: 'tookMs', measure },
    derive: (sample, reference) => ({
      time: valueOf(sample, 'tookMs') / valueOf(reference, 'tookMs'),
      cpu: valueOf(sample, 'cpuUs') / valueOf(reference, 'cpuUs'),
      commands: valueOf(sample, 'commands'),
      longestGap: valueOf(sample, 'longestGapMs') / valueOf(reference, 'tookMs'),
      drained: valueOf(sample, 'drained'),
    }),
  };
}
