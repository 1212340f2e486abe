import type { LockOptions, RCountDownLatch } from '../api';
import { ACQUIRED, REFUSED } from '../scripts/replies';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { Acquisition, type Target } from '../acquire/Acquisition';
import { checkCount, readSignal } from './callArguments';
import { LATCH } from '../kinds/latch';
import { named, type RedisObject } from './RedisObject';

/** The message at zero. */
export const ZERO_MESSAGE = '0';
/** The message of a new count, and of a deletion. */
export const CHANGED_MESSAGE = '1';

/**
 * The count-down latch (Redisson: RedissonCountDownLatch). Its data is described below.
 *
 * Waiters read the count after every message and after every reconnect; no waiter wakes another one.
 */
export function latchOf(object: RedisObject): RCountDownLatch {
  /** An open latch, to be waited for. Nothing is taken, so there is nothing to undo. */
  function opening(): Target {
    return {
      get what() {
        return object.doing('wait for');
      },
      key: object.keys.name,
      send: async (sendRecord) =>
        (await object.run(LATCH.getCount, {}, 'read count of', { sendRecord })) > 0 ? REFUSED : ACQUIRED,
      join: (callSite) => object.join(callSite),
    };
  }

  return {
    ...named(object),

    async await(timeout?: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean> {
      const signal = readSignal(options);
      const waitMs = timeout === undefined ? Infinity : toMillis(timeout, unit, 'timeout');
      const acquisition = new Acquisition(object.context, opening(), waitMs);
      return (await object.acquire(acquisition, signal, options)) !== undefined;
    },

    countDown: async () =>
      void (await object.run(LATCH.countDown, { message: ZERO_MESSAGE, publish: PUBLISH_COMMAND }, 'count down')),

    getCount: async () => object.run(LATCH.getCount, {}, 'read count of'),

    async trySetCount(count: number): Promise<boolean> {
      const args = { message: CHANGED_MESSAGE, count: checkCount(count, 'count'), publish: PUBLISH_COMMAND } as const;
      return object.run(LATCH.trySetCount, args, 'set the count of');
    },

    delete: async () => object.run(LATCH.delete, { message: CHANGED_MESSAGE, publish: PUBLISH_COMMAND }, 'delete'),
  };
}
