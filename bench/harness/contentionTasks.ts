import { monotonicMs, sleep, untilMonotonic } from './clock';
import { type ContentionLog } from './contention';
import { type LockHandle } from './contestant';
import { numberOf, type Task, textOf } from './task';

/** Everything the waiters of one worker write down. */
class Recorder {
  readonly enteredAt: number[] = [];
  readonly leftAt: number[] = [];
  readonly waiter: number[] = [];
  readonly waited: number[] = [];
  readonly waitingSince: Float64Array;

  constructor(waiters: number) {
    this.waitingSince = new Float64Array(waiters).fill(Infinity);
  }

  /** The log of what happened up to now. */
  log(commands: number, cpuUs: number, endAt: number): ContentionLog {
    return {
      enteredAt: Float64Array.from(this.enteredAt),
      leftAt: Float64Array.from(this.leftAt),
      waiter: Uint16Array.from(this.waiter),
      waited: Float64Array.from(this.waited),
      waitingSince: this.waitingSince.slice(),
      commands,
      cpuUs,
      endAt,
    };
  }
}

async function contend(
  handle: LockHandle,
  waiter: number,
  recorder: Recorder,
  endAt: number,
  sectionMs: number,
): Promise<void> {
  let now = monotonicMs();
  while (now < endAt) {
    recorder.waitingSince[waiter] = now;
    await handle.lock();
    const enteredAt = monotonicMs();
    // Past the end nothing counts any more; what is left is to give the lock back.
    if (enteredAt < endAt) {
      recorder.waitingSince[waiter] = Infinity;
      const visit = recorder.enteredAt.push(enteredAt) - 1;
      recorder.leftAt.push(Infinity);
      recorder.waiter.push(waiter);
      recorder.waited.push(enteredAt - now);
      if (sectionMs > 0) await sleep(sectionMs);
      recorder.leftAt[visit] = monotonicMs();
    }
    await handle.unlock();
    now = monotonicMs();
  }
}

/**
 * Worker side of a hot key. `contend`: so many waiters on one lock until the window is over, resolves to the
 * {@link ContentionLog} of the window without waiting for the waiters; `settle`: resolves to whether all of them have
 * come to an end within the limit.
 */
export const contentionTasks: Record<string, Task> = {
  contend: async ({ session, counter, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    const waiters = numberOf(parameters, 'waiters');
    const startAt = numberOf(parameters, 'startAt');
    const endAt = startAt + numberOf(parameters, 'ms');
    const sectionMs = numberOf(parameters, 'sectionMs');
    const handles = Array.from({ length: waiters }, () => session.handle(name));
    const recorder = new Recorder(waiters);
    await untilMonotonic(startAt);
    const sentBefore = counter.sent;
    const cpuBefore = process.cpuUsage();
    memory.set(
      'waiters',
      Promise.all(handles.map((handle, waiter) => contend(handle, waiter, recorder, endAt, sectionMs))),
    );
    await sleep(endAt - monotonicMs());
    const { user, system } = process.cpuUsage(cpuBefore);
    return recorder.log(counter.sent - sentBefore, user + system, endAt);
  },

  settle: async ({ memory }, parameters) => {
    const waiters = memory.get('waiters') as Promise<unknown>;
    const limit = sleep(numberOf(parameters, 'limitMs')).then(() => false);
    return Promise.race([waiters.then(() => true), limit]);
  },
};
