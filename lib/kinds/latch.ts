import type { SynchronizerKind } from './Kind';
import { defineIntegerScript, TOUCH_NUMBER } from './semaphore';
import { decodeFlag } from '../scripts/replies';
import { defineScript, lua } from '../scripts/Script';
import { latchWakeRule } from '../waiters/wakeRules';

/*
 * The count-down latch (Redisson: RedissonCountDownLatch).
 *
 * | Redis data                                    | type    | holds                                             |
 * |-----------------------------------------------|---------|---------------------------------------------------|
 * | `name`                                        | string  | the count; the key is gone when it reaches zero   |
 * | `redisson_countdownlatch__channel__{<name>}`  | channel | `0` = reached zero, `1` = a new count, or deleted |
 *
 * The data do not show who counted, nor which latch was meant, so a repeat would be a second count, or concern a new
 * latch: the scripts are sent once, and the caller gets an error that says whether it may have run. GET comes before
 * SET and DEL, which would replace a key of any type.
 */

/**
 * The count-down latch. Its channel puts every name in braces, so a name that contains braces cannot work on a cluster.
 */
export const LATCH = {
  name: 'latch',
  noun: 'latch',
  report: 'countDownLatch',
  data: 'number',
  keysOf: (rawName: string) => ({ name: rawName, channel: latchChannel(rawName) }),
  channelOf: latchChannel,
  waitOrder: 'shared',
  wakeRule: latchWakeRule,
  commands: [],

  /**
   * Sets the count unless there is one.
   *
   * KEYS: name. Channels: channel. ARGV: message, count, publish. Output: 1 = set, 0 = there was a count.
   */
  trySetCount: defineScript({
    name: 'countDownLatch.trySetCount',
    keys: ['name', 'channel'],
    args: ['message', 'count', 'publish'],
    resend: 'never',
    lua: lua`
if redis.call('get', name) then return 0 end
redis.call('set', name, count)
tellAll(publish, channel, message)
return 1
`,
    decode: decodeFlag,
  }),

  /**
   * Counts down by one, also on a server without free memory. At zero the key is deleted and all waiters are notified;
   * without a latch nothing happens.
   *
   * KEYS: name. Channels: channel. ARGV: message, publish. Output: the count that is left, at least 0.
   */
  countDown: defineScript({
    name: 'countDownLatch.countDown',
    keys: ['name', 'channel'],
    args: ['message', 'publish'],
    resend: 'never',
    lua: lua`${TOUCH_NUMBER}
if not redis.call('get', name) then return 0 end
local count = redis.pcall('decr', name)
if type(count) == 'table' then
  touch(name)
  count = redis.call('decr', name)
end
if count > 0 then return count end
redis.call('del', name)
if count == 0 then tellAll(publish, channel, message) end
return 0
`,
    decode: Number,
  }),

  /** The count: 0 without a latch; an error if the key holds other text. */
  getCount: defineIntegerScript('countDownLatch.getCount'),

  /**
   * Deletes the latch.
   *
   * KEYS: name. Channels: channel. ARGV: message, publish. Output: 1 = there was one, 0 = there was none.
   */
  delete: defineScript({
    name: 'countDownLatch.delete',
    keys: ['name', 'channel'],
    args: ['message', 'publish'],
    resend: 'never',
    lua: lua`
if not redis.call('get', name) then return 0 end
redis.call('del', name)
tellAll(publish, channel, message)
return 1
`,
    decode: decodeFlag,
  }),
} as const satisfies SynchronizerKind & Record<string, unknown>;

function latchChannel(rawName: string): string {
  return `redisson_countdownlatch__channel__{${rawName}}`;
}
