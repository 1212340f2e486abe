import { monotonicMs, sleep } from './clock';
import { type LockHandle } from './contestant';
import { numberOf, type Task, textOf } from './task';
import { usageTask } from './usage';

/** What the waiters of one worker did in a drain; times in ms on the shared monotonic clock. */
export interface DrainLog {
  /** When each waiter got in, in that order. */
  readonly enteredAt: Float64Array;
  /** When the last unlock was answered; 0 when nobody got in. */
  readonly doneAt: number;
  /** Waiters that got in and out again. */
  readonly drained: number;
}

interface Drain {
  readonly enteredAt: number[];
  doneAt: number;
  drained: number;
  finished: Promise<unknown>;
}

async function passThrough(handle: LockHandle, drain: Drain): Promise<void> {
  await handle.lock();
  drain.enteredAt.push(monotonicMs());
  await handle.unlock();
  drain.doneAt = monotonicMs();
  drain.drained += 1;
}

/**
 * Worker side of a drain. `hold` takes the lock; `queue` lets so many waiters ask for it, once each, and resolves at
 * once; `release` gives the lock back and resolves to the moment before; `drained` resolves to the {@link DrainLog}
 * when all have had their turn or the limit has passed; `usage` to what the worker has used.
 */
export const drainTasks: Record<string, Task> = {
  usage: usageTask,

  hold: async ({ session, memory }, parameters) => {
    const handle = session.handle(textOf(parameters, 'name'));
    memory.set('held', handle);
    await handle.lock();
  },

  queue: async ({ session, memory }, parameters) => {
    const name = textOf(parameters, 'name');
    const handles = Array.from({ length: numberOf(parameters, 'waiters') }, () => session.handle(name));
    const drain: Drain = { enteredAt: [], doneAt: 0, drained: 0, finished: Promise.resolve() };
    drain.finished = Promise.all(handles.map((handle) => passThrough(handle, drain)));
    memory.set('drain', drain);
  },

  release: async ({ memory }) => {
    const releasedAt = monotonicMs();
    await (memory.get('held') as LockHandle).unlock();
    return releasedAt;
  },

  drained: async ({ memory }, parameters) => {
    const drain = memory.get('drain') as Drain;
    await Promise.race([drain.finished, sleep(numberOf(parameters, 'limitMs'))]);
    const { doneAt, drained } = drain;
    return { enteredAt: Float64Array.from(drain.enteredAt), doneAt, drained } satisfies DrainLog;
  },
};
