import type { LockOptions, ObjectListener, RCountDownLatch } from '../api';
import { ACQUIRED, REFUSED } from '../scripts/replies';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { Target } from '../acquire/Acquisition';
import { latchWakeRule } from '../waiters/WaitQueue';
import { checkCount, readSignal } from './callArguments';
import { countDownLatch, deleteLatch, getLatchCount, trySetCount } from '../kinds/latchScripts';
import type { RedisObject } from './RedisObject';

/** The message at zero. */
const ZERO_MESSAGE = '0';
/** The message of a new count, and of a deletion. */
const CHANGED_MESSAGE = '1';

/**
 * The count-down latch (Redisson: RedissonCountDownLatch). Its data is described below.
 *
 * Waiters read the count after every message and after every reconnect; no waiter wakes another one.
 */
export class CountDownLatch implements RCountDownLatch {
  readonly #object: RedisObject;

  constructor(object: RedisObject) {
    this.#object = object;
  }

  get name(): string {
    return this.#object.name;
  }

  getName(): string {
    return this.#object.name;
  }

  addListener(listener: ObjectListener): Promise<number> {
    return this.#object.addListener(listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.#object.removeListener(listenerId);
  }

  async await(timeout?: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean> {
    const signal = readSignal(options);
    const waitMs = timeout === undefined ? Infinity : toMillis(timeout, unit, 'timeout');
    return (await this.#object.acquire(this.#opening(), waitMs, signal, options)) ?? false;
  }

  async countDown(): Promise<void> {
    await this.#object.run(countDownLatch, { message: ZERO_MESSAGE, publish: PUBLISH_COMMAND }, 'count down');
  }

  async getCount(): Promise<number> {
    return this.#object.run(getLatchCount, {}, 'look at');
  }

  async trySetCount(count: number): Promise<boolean> {
    const args = { message: CHANGED_MESSAGE, count: checkCount(count, 'count'), publish: PUBLISH_COMMAND } as const;
    return this.#object.run(trySetCount, args, 'set the count of');
  }

  async delete(): Promise<boolean> {
    return this.#object.run(deleteLatch, { message: CHANGED_MESSAGE, publish: PUBLISH_COMMAND }, 'delete');
  }

  /** An open latch, to be waited for. Nothing is taken, so there is nothing to undo. */
  #opening(): Target<true> {
    const object = this.#object;
    return {
      what: object.doing('wait for'),
      key: object.keys.name,
      send: async (sendRecord) =>
        (await object.run(getLatchCount, {}, 'look at', { sendRecord })) > 0 ? REFUSED : ACQUIRED,
      take: () => true,
      join: () => object.join<true>(latchWakeRule),
    };
  }
}
