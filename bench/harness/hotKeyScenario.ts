import { type ContentionLog, judgeContention } from './contention';
import { type Plan } from './plan';
import { defaultWatchdogMs, freshKey, type Sample, type Scenario, usualRounds, valueOf } from './scenario';
import { type WorkerGroup } from './WorkerGroup';

const processes = 4;
const waitersPerProcess = 25;

/** What tells the two hot-key scenarios apart. */
export interface HotKeySettings {
  readonly id: string;
  readonly title: string;
  /** Time each acquisition stays inside, in ms. */
  readonly sectionMs: number;
  windowMs(plan: Plan): number;
}

async function contend(
  settings: HotKeySettings,
  group: WorkerGroup,
  waiters: number,
  ms: number,
  limitMs: number,
): Promise<Sample> {
  const parameters = { name: freshKey(settings.id), waiters, ms, sectionMs: settings.sectionMs };
  const serverBefore = await group.serverCpuUs();
  const logs = (await group.startTogether(settings.id, 'contend', parameters)) as ContentionLog[];
  const serverCpuUs = (await group.serverCpuUs()) - serverBefore;
  const settled = (await group.callAll(settings.id, 'settle', { limitMs })).every(Boolean);
  // Waiters that are still asleep would disturb the next round.
  if (!settled) await group.restart();
  const result = judgeContention(logs);
  const cpuUs = (result.clientsCpuUs + serverCpuUs) / Math.max(1, result.acquisitions);
  return { ...result, cpuUs, perSecond: (result.acquisitions / ms) * 1000, windowMs: ms, settled: settled ? 1 : 0 };
}

/** The hot-key scenario with that section. Its reference: the floor, alone, with the same section. */
export function hotKeyScenario(settings: HotKeySettings): Scenario {
  const inside = settings.sectionMs === 0 ? 'nothing' : `${settings.sectionMs} ms of waiting`;
  return {
    id: settings.id,
    title: settings.title,
    about:
      `100 waiters in 4 processes take one lock again and again, with ${inside} inside. Ratio: acquisitions per second ` +
      'to those of the floor, one process alone, with the same inside; CPU: of all processes and of the server.',
    metrics: [
      { id: 'throughput', label: 'acquisitions / floor', unit: 'ratio', better: 'higher' },
      { id: 'handoffs', label: 'hand-offs / floor', unit: 'ratio', better: 'higher' },
      { id: 'cpu', label: 'CPU per acquisition / floor', unit: 'ratio', better: 'lower', charted: true },
      { id: 'commands', label: 'commands per acquisition', unit: 'commands', better: 'lower', charted: true },
      { id: 'fairness', label: 'min/max per waiter', unit: 'share', better: 'higher', charted: true },
      { id: 'longestWait', label: 'longest wait / window', unit: 'share', better: 'lower' },
      { id: 'starved', label: 'waiters with 0 turns', unit: 'count', better: 'lower', charted: true },
      { id: 'violations', label: 'two inside', unit: 'count', better: 'lower' },
    ],
    workers: processes,
    freshWorkers: false,
    watchdogMs: () => defaultWatchdogMs,
    rounds: usualRounds,
    accepts: (contestant) => contestant.waits,
    measure: (group, plan) => contend(settings, group, waitersPerProcess, settings.windowMs(plan), plan.drainLimitMs),
    reference: {
      contestant: 'floor',
      workers: 1,
      steady: 'perSecond',
      measure: (group, plan) => contend(settings, group, 1, plan.hotKeyFloorMs, plan.drainLimitMs),
    },
    derive: (sample, reference) => ({
      throughput: valueOf(sample, 'perSecond') / valueOf(reference, 'perSecond'),
      handoffs: ((valueOf(sample, 'handoffs') / valueOf(sample, 'windowMs')) * 1000) / valueOf(reference, 'perSecond'),
      cpu: valueOf(sample, 'cpuUs') / valueOf(reference, 'cpuUs'),
      commands: valueOf(sample, 'commands') / Math.max(1, valueOf(sample, 'acquisitions')),
      fairness: valueOf(sample, 'fairness'),
      longestWait: valueOf(sample, 'longestWaitMs') / valueOf(sample, 'windowMs'),
      starved: valueOf(sample, 'starved'),
      violations: valueOf(sample, 'violations'),
    }),
  };
}
