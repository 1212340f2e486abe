import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { sleep } from '../harness/clock';
import { settledHeap } from '../harness/memory';
import { type Plan } from '../harness/plan';
import { freshKey, type Sample, type Scenario, valueOf } from '../harness/scenario';
import { manyNames, takeAll } from '../harness/takeAll';
import { numberOf, type Task, textOf } from '../harness/task';
import { type WorkerGroup } from '../harness/WorkerGroup';

/** How exactly the loop is watched, in ms: a delay is what goes beyond it. */
const resolutionMs = 1;

/** Worker side: takes the locks; then watches the event loop over some renewals of all of them. */
export const tasks: Record<string, Task> = {
  hold: async ({ session, memory }, parameters) => {
    const names = manyNames(textOf(parameters, 'name'), numberOf(parameters, 'locks'));
    memory.set('handles', await takeAll(session, names));
    // What taking them has left is not the watchdog's.
    if (names.length > 0) await settledHeap();
  },
  watch: async (_context, parameters) => {
    const delay = monitorEventLoopDelay({ resolution: resolutionMs });
    const longest = createHistogram();
    delay.enable();
    for (let period = 0; period < numberOf(parameters, 'periods'); period += 1) {
      delay.reset();
      await sleep(numberOf(parameters, 'periodMs'));
      longest.record(Math.max(1, Math.round(delay.max)));
    }
    delay.disable();
    // Half of the periods had no longer one: what stops the process once, from outside, is none of it.
    return Math.max(0, longest.percentile(50) / 1e6 - resolutionMs);
  },
};

function measure(locks: (plan: Plan) => number): (group: WorkerGroup, plan: Plan) => Promise<Sample> {
  return async (group, plan) => {
    await group.call(0, 'heldStall', 'hold', { name: freshKey('heldStall'), locks: locks(plan) });
    const parameters = { periodMs: plan.stallWatchdogMs / 3, periods: plan.stallPeriods };
    return { stallMs: (await group.call(0, 'heldStall', 'watch', parameters)) as number };
  };
}

/** What the renewal of very many locks does to the rest of its process. */
export const scenario: Scenario = {
  id: 'heldStall',
  title: '40 000 held locks: the event loop',
  about:
    'A process holds 40 000 locks without a lease and does nothing else. The longest stall of its event loop in a renewal ' +
    'period (a third of the life of a lock), median of the periods; beyond that of the floor, which holds nothing.',
  metrics: [
    { id: 'causedMs', label: 'stall caused (ms)', unit: 'count', better: 'lower' },
    { id: 'stallMs', label: 'longest stall (ms)', unit: 'count', better: 'lower' },
  ],
  workers: 1,
  freshWorkers: true,
  watchdogMs: (plan) => plan.stallWatchdogMs,
  rounds: (plan) => plan.longRounds,
  accepts: (contestant) => contestant.kind === 'library',
  measure: measure((plan) => plan.stallLocks),
  reference: { contestant: 'floor', workers: 1, measure: measure(() => 0) },
  derive: (sample, reference) => ({
    causedMs: Math.max(0, valueOf(sample, 'stallMs') - valueOf(reference, 'stallMs')),
    stallMs: valueOf(sample, 'stallMs'),
  }),
};
