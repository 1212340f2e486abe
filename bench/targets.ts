import { type ScenarioReport } from './harness/runScenario';
import { type Summary } from './harness/statistics';

/** A number this package has to reach. */
export interface Target {
  readonly scenario: string;
  readonly metric: string;
  /** What of the rounds is compared: their median, or for "never" and "always" their worst. */
  readonly of: keyof Pick<Summary, 'median' | 'min' | 'max'>;
  readonly must: 'at least' | 'at most';
  readonly limit: number;
  readonly text: string;
}

/** A target with what was measured; `value` is undefined when its scenario did not run or failed. */
export interface Verdict {
  readonly target: Target;
  readonly value: number | undefined;
  readonly passed: boolean;
}

/**
 * What a release has to reach, as medians of ratios within one run on one machine (docs/benchmarks.md). The first two allow
 * for what an ordinary command of ioredis costs, which agents can see. "No outlier" of a drain means that no single round
 * takes more than twice the limit of the median.
 */
export const targets: readonly Target[] = [
  target('sequential', 'throughput', 'median', 'at least', 0.92, 'sequential lock+unlock / floor'),
  target('manyKeys', 'throughput', 'median', 'at least', 1.1, '100 keys at once / floor'),
  target('hotKey', 'throughput', 'median', 'at least', 1.3, 'hot key: acquisitions per second / sequential floor'),
  target('hotKey', 'commands', 'median', 'at most', 1.1, 'hot key: commands sent per acquisition'),
  target('hotKey', 'cpu', 'median', 'at most', 0.9, 'hot key: CPU per acquisition, clients and server / floor'),
  target('hotKey', 'fairness', 'median', 'at least', 0.9, 'hot key: min/max of acquisitions per waiter'),
  target('hotKey', 'violations', 'max', 'at most', 0, 'hot key: never two inside'),
  target('hotKeySection', 'commands', 'median', 'at most', 2.5, 'hot key, 5 ms inside: commands per acquisition'),
  target('hotKeySection', 'fairness', 'median', 'at least', 0.7, 'hot key, 5 ms inside: min/max per waiter'),
  target('hotKeySection', 'starved', 'max', 'at most', 0, 'hot key, 5 ms inside: waiters that starve in 5 s'),
  target('hotKeySection', 'violations', 'max', 'at most', 0, 'hot key, 5 ms inside: never two inside'),
  target('wakeUp', 'p50', 'median', 'at most', 1.15, 'wake-up p50 / raw pub/sub hand-off'),
  target('idleWaiters', 'commandsPerSecond', 'max', 'at most', 0, '1000 waiters idle: commands per second'),
  target('idleWaiters', 'bytesPerWaiter', 'median', 'at most', 3 * 1024, '1000 waiters idle: bytes of heap each'),
  target('drainProcesses', 'drained', 'min', 'at least', 100, 'drain, 4 x 25: of 100 done'),
  target('drainProcesses', 'time', 'median', 'at most', 0.5, 'drain, 4 x 25: time / raw pub/sub'),
  target('drainProcesses', 'time', 'max', 'at most', 1, 'drain, 4 x 25: worst round / raw pub/sub (no outlier)'),
  target('drainOneProcess', 'drained', 'min', 'at least', 100, 'drain, one process: of 100 done'),
  target('drainOneProcess', 'time', 'median', 'at most', 0.5, 'drain, one process: time / raw pub/sub'),
  target('drainOneProcess', 'time', 'max', 'at most', 1, 'drain, one process: worst round / raw pub/sub (no outlier)'),
  target('idleHolds', 'commandsPerPeriod', 'median', 'at most', 10, '1000 idle holds: renewal commands per period'),
  target('idleHolds', 'alive', 'min', 'at least', 1000, '1000 idle holds: still held'),
  target('heldLocks', 'bytesPerLock', 'median', 'at most', 920, '10 000 held locks: bytes of heap each'),
  target('heldStall', 'causedMs', 'median', 'at most', 20, '40 000 held locks: longest stall caused, in ms'),
];

function target(
  scenario: string,
  metric: string,
  of: Target['of'],
  must: Target['must'],
  limit: number,
  text: string,
): Target {
  return { scenario, metric, of, must, limit, text };
}

/** Compares the results of this package with the targets of the scenarios that ran. */
export function judgeTargets(reports: readonly ScenarioReport[]): Verdict[] {
  return targets
    .filter(({ scenario }) => reports.some((report) => report.id === scenario))
    .map((each) => {
      const row = reports
        .find((report) => report.id === each.scenario)
        ?.rows.find(({ contestant }) => contestant === 'ioredisson');
      const value = row?.metrics[each.metric]?.[each.of];
      return { target: each, value, passed: value !== undefined && reaches(each, value) };
    });
}

function reaches(each: Target, value: number): boolean {
  return each.must === 'at least' ? value >= each.limit : value <= each.limit;
}
