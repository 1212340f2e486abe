import type { LockOptions, RCountDownLatch } from '../api';
import type { Place } from '../pubsub/Place';
import { latchWakeRule } from '../pubsub/wakeRules';
import { countDownLatch, deleteLatch, getLatchCount, trySetCount } from '../scripts/countDownLatch';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { Attempt } from '../wait/Attempt';
import type { Contest } from '../wait/acquireWithin';
import type { Wakeup } from '../wait/Wakeup';
import { checkCount, readSignal } from './callArguments';
import type { RedisObject } from './RedisObject';

/** The message at zero. */
const ZERO_MESSAGE = '0';
/** The message of a new count, and of a deletion. */
const CHANGED_MESSAGE = '1';

const OPEN: Attempt<true> = Object.freeze({ ok: true, value: true });
const SHUT: Attempt<true> = Object.freeze({ ok: false, retryInMs: Infinity });

/**
 * The count-down latch (Redisson: RedissonCountDownLatch). Its data is drawn in `scripts/countDownLatch.ts`.
 *
 * Waiters look at the count after every message and after every reconnect; they wake one another by nothing else.
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

  async await(timeout?: number, unit?: TimeUnit, options?: LockOptions): Promise<boolean> {
    const signal = readSignal(options);
    const waitMs = timeout === undefined ? Infinity : toMillis(timeout, unit, 'timeout');
    return (await this.#object.wait(this.#opening(waitMs > 0), waitMs, signal)) ?? false;
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

  /** What is waited for. It takes nothing, so nothing is to be undone. @param waits - `false`: one look */
  #opening(waits: boolean): Contest<true> {
    let place: Place<true> | undefined;
    return {
      mustQueue: false,
      attempt: async () => {
        if ((await this.getCount()) > 0) return SHUT;
        place?.acquiredFor(0);
        return OPEN;
      },
      join: (): Wakeup<true> | undefined => {
        if (waits) place = this.#object.join<true>(latchWakeRule);
        return place;
      },
      giveUp: (pending) => {
        pending?.catch(() => undefined);
      },
    };
  }
}
