import { decodeFlag, decodeNumber } from '../scripts/replies';
import { COUNTS, defineScript, lua, type Script, TAKES } from '../scripts/Script';
import type { SynchronizerKind } from './Kind';
import { prefixName } from '../util/names';
import { semaphoreWakeRule } from '../waiters/wakeRules';

/*
 * The semaphore (Redisson: RedissonSemaphore).
 *
 * | Redis data            | type    | holds                                                                    |
 * |-----------------------|---------|--------------------------------------------------------------------------|
 * | `name`                | string  | permits available now, may be negative; expires only where it was set so |
 * | `redisson_sc:{name}`  | channel | the permits available after each change that may let a waiter in         |
 *
 * The data does not show who has a permit, so a repeat would be a second change: the scripts are sent once, and the
 * caller gets an error that says whether it may have run. GET comes before SET and DEL, which would replace a key of
 * any type.
 */

/**
 * The script that reads an integer which Redis keeps as text.
 *
 * KEYS: name. ARGV: none. Output: the integer as text, nil without the key; an error if the key holds other text.
 *
 * @param name - of the script
 */
export function defineIntegerScript(name: string): Script<'name', never, number> {
  return defineScript({
    name,
    query: true,
    lua: lua`
local function integerText(name)
  local text = redis.call('get', name)
  if text and not string.find(text, '^-?%d+$') then
    return redis.error_reply('ERR value is not an integer or out of range')
  end
  return text
end

return integerText(name)
`,
    decode: Number,
  });
}

/**
 * `touch(name)`: a write that changes nothing. A server without free memory refuses a command that may need memory,
 * unless the script has already written. So a script that gives back tries, touches if it is refused, and repeats it.
 * Any other error occurs again.
 */
export const TOUCH_NUMBER = lua`
local function touch(name)
  local ttl = redis.call('pttl', name)
  if ttl < 0 then redis.call('persist', name) else redis.call('pexpire', name, math.max(ttl, 1)) end
end
`;

/** The semaphore. */
export const SEMAPHORE = {
  name: 'semaphore',
  noun: 'semaphore',
  report: 'semaphore',
  data: 'number',
  keysOf: (rawName: string) => ({ name: rawName, channel: semaphoreChannel(rawName) }),
  channelOf: semaphoreChannel,
  waitOrder: 'shared',
  wakeRule: semaphoreWakeRule,
  commands: [],

  /**
   * Takes permits if that many are available.
   *
   * KEYS: name. ARGV: permits (> 0). Output: 1 = taken, 0 = fewer are available.
   */
  acquire: defineScript({
    name: 'semaphore.acquire',
    args: ['permits'],
    resend: 'never',
    synced: (taken) => taken,
    lua: lua`
local available = redis.call('get', name)
-- text that is no number goes on to DECRBY, whose error says so
if not available or (tonumber(available) or math.huge) < tonumber(permits) then return 0 end
redis.call('decrby', name, permits)
return 1
`,
    decode: decodeFlag,
  }),

  /**
   * Releases permits, also on a server without free memory ({@link TOUCH_NUMBER}).
   *
   * KEYS: name. Channels: channel. ARGV: permits (> 0), existing (1 = only if the semaphore exists), publish.
   * Output: the permits available now; nil = there is no semaphore.
   */
  release: defineScript({
    name: 'semaphore.release',
    ...COUNTS,
    args: ['permits', 'existing', 'publish'],
    lua: lua`${TOUCH_NUMBER}
if existing == '1' and redis.call('exists', name) == 0 then return nil end
local available = redis.pcall('incrby', name, permits)
if type(available) == 'table' then
  touch(name)
  available = redis.call('incrby', name, permits)
end
tellAll(publish, channel, available)
return available
`,
    decode: decodeNumber,
  }),

  /**
   * Sets the number of permits unless there is one. Also used by the permit-expirable semaphore.
   *
   * KEYS: name. Channels: channel. ARGV: permits, ttl (how long the semaphore lives, in ms; 0: without limit), publish.
   * Output: 1 = set, 0 = there was a semaphore.
   */
  trySetPermits: defineScript({
    name: 'semaphore.trySetPermits',
    ...COUNTS,
    args: ['permits', 'ttl', 'publish'],
    lua: lua`
if redis.call('get', name) then return 0 end
if ttl == '0' then redis.call('set', name, permits) else redis.call('set', name, permits, 'px', ttl) end
tellAll(publish, channel, permits)
return 1
`,
    decode: decodeFlag,
  }),

  /**
   * Changes the number of permits, also by a negative number. The semaphore then no longer expires, as in Redisson.
   *
   * KEYS: name. Channels: channel. ARGV: permits (any sign), publish. Output: the permits available now.
   */
  addPermits: defineScript({
    name: 'semaphore.addPermits',
    ...COUNTS,
    args: ['permits', 'publish'],
    lua: lua`
local available = redis.call('incrby', name, permits)
redis.call('persist', name)
tellAll(publish, channel, available)
return available
`,
    decode: Number,
  }),

  /**
   * Takes all permits, or raises a negative number: afterwards the number is 0. The semaphore then no longer expires,
   * as in Redisson.
   *
   * KEYS: name. ARGV: none. Output: the permits that were available (may be negative); 0 without a semaphore.
   */
  drain: defineScript({
    name: 'semaphore.drainPermits',
    ...TAKES,
    lua: lua`
local available = redis.call('get', name)
if not available then return 0 end
redis.call('set', name, 0)
return tonumber(available)
`,
    decode: Number,
  }),

  /** How many permits are available: 0 without a semaphore; may be negative. */
  available: defineIntegerScript('semaphore.availablePermits'),

  /**
   * Deletes the semaphore; no waiter is notified, as in Redisson.
   *
   * KEYS: name. ARGV: none. Output: 1 = there was one, 0 = there was none.
   */
  delete: defineScript({
    name: 'semaphore.delete',
    ...TAKES,
    lua: lua`
if not redis.call('get', name) then return 0 end
return redis.call('del', name)
`,
    decode: decodeFlag,
  }),
} as const satisfies SynchronizerKind & Record<string, unknown>;

/** The channel of semaphores, with and without leased permits: `redisson_sc:{name}`. */
export function semaphoreChannel(rawName: string): string {
  return prefixName('redisson_sc', rawName);
}
