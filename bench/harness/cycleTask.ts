import { monotonicMs, untilMonotonic } from './clock';
import { type LockHandle } from './contestant';

/** What locking and unlocking in a loop came to. */
export interface Cycles {
  /** Pairs of lock and unlock per second. */
  readonly perSecond: number;
  /** CPU time of the process per pair, in microseconds: what is left of the cost when the machine is busy otherwise. */
  readonly cpuUs: number;
}

/** Longest time a worker may take to spend the CPU time of its warm-up, in ms. */
const warmUpLimitMs = 10_000;

/** All handles lock and unlock until the process has spent that much CPU time on it. */
export async function warmUp(handles: readonly LockHandle[], cpuMs: number): Promise<void> {
  const before = process.cpuUsage();
  const giveUpAt = monotonicMs() + warmUpLimitMs;
  for (let spentMs = 0; spentMs < cpuMs && monotonicMs() < giveUpAt;) {
    await cycle(handles, monotonicMs(), 50);
    const { user, system } = process.cpuUsage(before);
    spentMs = (user + system) / 1000;
  }
}

/** All handles lock and unlock their locks concurrently from `startAt` for `ms`. */
export async function cycle(handles: readonly LockHandle[], startAt: number, ms: number): Promise<Cycles> {
  const endAt = startAt + ms;
  await untilMonotonic(startAt);
  const cpuBefore = process.cpuUsage();
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
  const cpu = process.cpuUsage(cpuBefore);
  return { perSecond: (cycles / (monotonicMs() - startAt)) * 1000, cpuUs: (cpu.user + cpu.system) / cycles };
}
