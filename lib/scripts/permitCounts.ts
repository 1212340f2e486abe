import { PURGE, READ_AVAILABLE } from './permitData';
import { decodeCount, decodeFlag } from './replies';
import { defineScript, lua } from './Script';

/*
 * The permits of a permit-expirable semaphore, in numbers. The data is drawn in `permitExpirableSemaphore.ts`.
 */

/**
 * How many permits are available; may be negative.
 *
 * KEYS: name, permits, channel. ARGV: now (epoch ms), publish. Output: the number.
 */
export const availableLeasedPermits = defineScript({
  name: 'permitExpirableSemaphore.availablePermits',
  keys: ['name', 'permits', 'channel'],
  args: ['now', 'publish'],
  resend: 'always',
  lua: lua`${PURGE}
local available, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return available or 0
`,
  decode: decodeCount,
});

/**
 * How many permits there are, taken or not.
 *
 * KEYS: name, permits, channel. ARGV: now (epoch ms), publish. Output: the number; 0 without a semaphore.
 */
export const getPermits = defineScript({
  name: 'permitExpirableSemaphore.getPermits',
  keys: ['name', 'permits', 'channel'],
  args: ['now', 'publish'],
  resend: 'always',
  lua: lua`${PURGE}
local available, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return available and available + redis.call('zcard', permits) or 0
`,
  decode: decodeCount,
});

/**
 * How many permits are taken.
 *
 * KEYS: name, permits, channel. ARGV: now (epoch ms), publish. Output: the number.
 */
export const acquiredPermits = defineScript({
  name: 'permitExpirableSemaphore.acquiredPermits',
  keys: ['name', 'permits', 'channel'],
  args: ['now', 'publish'],
  resend: 'always',
  lua: lua`${PURGE}
local _, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return redis.call('zcard', permits)
`,
  decode: decodeCount,
});

/**
 * Sets the number of permits, taken or not; creates the semaphore where there is none. Taken permits stay taken, so the
 * number of available ones may become negative.
 *
 * KEYS: name, permits, channel. ARGV: total, publish. Output: 1 = changed, 0 = it was so.
 */
export const setPermits = defineScript({
  name: 'permitExpirableSemaphore.setPermits',
  keys: ['name', 'permits', 'channel'],
  args: ['total', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`${READ_AVAILABLE}
local available, failure = readAvailable(name)
if failure then return failure end
local taken = redis.call('zcard', permits)
if available == nil then
  redis.call('set', name, total)
elseif available + taken == tonumber(total) then
  return 0
else
  redis.call('incrby', name, total - available - taken)
end
redis.pcall(publish, channel, total)
return 1
`,
  decode: decodeFlag,
});

/**
 * Changes the number of permits, by a negative number too. The number of those available then no longer expires, as in
 * Redisson.
 *
 * KEYS: name. Channels: channel. ARGV: added (any sign), publish. Output: the permits available now, expired ones not
 * counted.
 */
export const addPermits = defineScript({
  name: 'permitExpirableSemaphore.addPermits',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['added', 'publish'],
  resend: 'never',
  synced: true,
  lua: lua`
local available = redis.call('incrby', name, added)
redis.call('persist', name)
if tonumber(added) > 0 then redis.pcall(publish, channel, added) end
return available
`,
  decode: decodeCount,
});
