import type { LockOptions, ObjectListener, RCountDownLatch } from '../api';
import { defineIntegerScript } from '../scripts/integerScript';
import { decodeCount, decodeFlag } from '../scripts/replies';
import { defineScript, lua, PUBLISH_COMMAND } from '../scripts/Script';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { Acquirable, Attempt, Wait } from '../wait/acquireWithin';
import type { Waiter } from '../waiters/Waiter';
import { latchWakeRule } from '../waiters/WaitQueue';
import { checkCount, readSignal } from './callArguments';
import type { RedisObject } from './RedisObject';

/** The message at zero. */
const ZERO_MESSAGE = '0';
/** The message of a new count, and of a deletion. */
const CHANGED_MESSAGE = '1';

const OPEN: Attempt<true> = Object.freeze({ ok: true, value: true });
const SHUT: Attempt<true> = Object.freeze({ ok: false, retryInMs: Infinity });

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
    return (await this.#object.wait(this.#opening(waitMs > 0), waitMs, signal, options)) ?? false;
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

  /** The condition of a wait. It takes nothing, so there is nothing to undo. @param waits - `false`: one check */
  #opening(waits: boolean): Acquirable<true> {
    let wait: Waiter<true> | undefined;
    return {
      mustQueue: false,
      attempt: async () => {
        if ((await this.getCount()) > 0) return SHUT;
        wait?.acquiredFor(0);
        return OPEN;
      },
      join: (): Wait<true> | undefined => {
        if (waits) wait = this.#object.join<true>(latchWakeRule);
        return wait;
      },
      giveUp: (pending) => {
        pending?.catch(() => undefined);
      },
    };
  }
}

/*
 * The count-down latch (Redisson: RedissonCountDownLatch).
 *
 * | Redis data                                    | type    | holds                                             |
 * |-----------------------------------------------|---------|---------------------------------------------------|
 * | `name`                                        | string  | the count; the key is gone when it reaches zero   |
 * | `redisson_countdownlatch__channel__{<name>}`  | channel | `0` = reached zero, `1` = a new count, or deleted |
 *
 * The count does not show who counted, so a repeat looks like a second count: those scripts are sent once, and the
 * caller gets an error that says whether it may have run. GET comes before SET and DEL, which would replace a key of
 * any type.
 */

/**
 * Sets the count unless there is one.
 *
 * KEYS: name. Channels: channel. ARGV: message, count, publish. Output: 1 = set, 0 = there was a count.
 */
export const trySetCount = defineScript({
  name: 'countDownLatch.trySetCount',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'count', 'publish'],
  resend: 'never',
  lua: lua`
if redis.call('get', name) then return 0 end
redis.call('set', name, count)
redis.pcall(publish, channel, message)
return 1
`,
  decode: decodeFlag,
});

/**
 * Counts down by one. At zero the key is deleted and all waiters are notified; without a latch nothing happens.
 *
 * KEYS: name. Channels: channel. ARGV: message, publish. Output: the count that is left, at least 0.
 */
export const countDownLatch = defineScript({
  name: 'countDownLatch.countDown',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'publish'],
  resend: 'never',
  lua: lua`
if not redis.call('get', name) then return 0 end
local count = redis.call('decr', name)
if count > 0 then return count end
redis.call('del', name)
if count == 0 then redis.pcall(publish, channel, message) end
return 0
`,
  decode: decodeCount,
});

/** The count: 0 without a latch; an error if the key holds other text. */
export const getLatchCount = defineIntegerScript('countDownLatch.getCount');

/**
 * Deletes the latch.
 *
 * KEYS: name. Channels: channel. ARGV: message, publish. Output: 1 = there was one, 0 = there was none.
 */
export const deleteLatch = defineScript({
  name: 'countDownLatch.delete',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'publish'],
  resend: 'always',
  lua: lua`
if not redis.call('get', name) then return 0 end
redis.call('del', name)
redis.pcall(publish, channel, message)
return 1
`,
  decode: decodeFlag,
});
