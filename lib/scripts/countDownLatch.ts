import { INTEGER_TEXT } from './integerText';
import { decodeCount, decodeFlag } from './replies';
import { defineScript, lua } from './Script';

/*
 * The count-down latch (Redisson: RedissonCountDownLatch).
 *
 * | Redis data                                    | type    | holds                                             |
 * |-----------------------------------------------|---------|---------------------------------------------------|
 * | `name`                                        | string  | the count; the key is gone when it reaches zero   |
 * | `redisson_countdownlatch__channel__{<name>}`  | channel | `0` = reached zero, `1` = a new count, or deleted |
 *
 * The count does not say who counted, so a repeat cannot be told from a second count: those scripts are sent once, and
 * doubt is told to the caller. GET comes before SET and DEL, which would replace a key of any type.
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
 * Counts down by one. At zero the key goes and everybody is told; without a latch nothing happens.
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

/**
 * The count.
 *
 * KEYS: name. ARGV: none. Output: the count as text, nil without a latch; an error where the key holds other text,
 * which is no open latch.
 */
export const getLatchCount = defineScript({
  name: 'countDownLatch.getCount',
  keys: ['name'],
  args: [],
  resend: 'always',
  lua: lua`${INTEGER_TEXT}
return integerText(name)
`,
  decode: decodeCount,
});

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
