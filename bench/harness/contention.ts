import { ascending } from './statistics';

/** What one worker saw of a hot key: one entry per acquisition, times in ms on the shared monotonic clock. */
export interface ContentionLog {
  /** When each acquisition's `lock()` resolved. */
  readonly enteredAt: Float64Array;
  /** Right before its `unlock()`; `Infinity` while it is still inside. */
  readonly leftAt: Float64Array;
  /** Which waiter of the worker it was. */
  readonly waiter: Uint16Array;
  /** How long each acquisition had waited. */
  readonly waited: Float64Array;
  /** Per waiter: since when it has been waiting at the end of the window; `Infinity` when it was not. */
  readonly waitingSince: Float64Array;
  /** Commands the worker sent within the window. */
  readonly commands: number;
  /** CPU time of the worker within the window, in microseconds. */
  readonly cpuUs: number;
  /** End of the window. */
  readonly endAt: number;
}

/** A hot key as a whole. */
export interface ContentionResult {
  readonly acquisitions: number;
  /** Acquisitions by somebody else than the one before. */
  readonly handoffs: number;
  readonly commands: number;
  /** CPU time of all workers, in microseconds. */
  readonly clientsCpuUs: number;
  /** Fewest acquisitions of a waiter by the most of a waiter; 0 when nobody got anything. */
  readonly fairness: number;
  /** Waiters that never got in. */
  readonly starved: number;
  /** Longest wait of anybody, in ms, counting the waits the end of the window cut off. */
  readonly longestWaitMs: number;
  /** Times two were inside at once. */
  readonly violations: number;
}

interface Visit {
  readonly enteredAt: number;
  readonly leftAt: number;
  readonly waiter: string;
}

/** Puts the logs of all workers together. */
export function judgeContention(logs: readonly ContentionLog[]): ContentionResult {
  const visits = visitsOf(logs);
  const turns = new Map<string, number>();
  logs.forEach((log, worker) => log.waitingSince.forEach((_, waiter) => turns.set(`${worker}:${waiter}`, 0)));
  let handoffs = 0;
  let violations = 0;
  let latestLeft = -Infinity;
  visits.forEach((visit, index) => {
    turns.set(visit.waiter, (turns.get(visit.waiter) ?? 0) + 1);
    if (index > 0 && visits[index - 1]?.waiter !== visit.waiter) handoffs += 1;
    if (visit.enteredAt < latestLeft) violations += 1;
    latestLeft = Math.max(latestLeft, visit.leftAt);
  });
  const counts = ascending([...turns.values()]);
  const most = counts.at(-1) ?? 0;
  return {
    acquisitions: visits.length,
    handoffs,
    commands: logs.reduce((sum, log) => sum + log.commands, 0),
    clientsCpuUs: logs.reduce((sum, log) => sum + log.cpuUs, 0),
    fairness: most === 0 ? 0 : (counts[0] ?? 0) / most,
    starved: counts.filter((count) => count === 0).length,
    longestWaitMs: Math.max(0, ...logs.map(longestWait)),
    violations,
  };
}

function visitsOf(logs: readonly ContentionLog[]): Visit[] {
  const visits = logs.flatMap((log, worker) =>
    Array.from(log.enteredAt, (enteredAt, index) => ({
      enteredAt,
      leftAt: log.leftAt[index] ?? Infinity,
      waiter: `${worker}:${log.waiter[index]}`,
    })),
  );
  return visits.sort((left, right) => left.enteredAt - right.enteredAt);
}

function longestWait(log: ContentionLog): number {
  let longest = 0;
  for (const waited of log.waited) longest = Math.max(longest, waited);
  for (const since of log.waitingSince) longest = Math.max(longest, log.endAt - since);
  return longest;
}
