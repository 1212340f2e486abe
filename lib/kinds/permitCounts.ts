import { decodeCount, decodeFlag } from '../scripts/replies';
import { defineScript, lua, type Script, SERVER_TIME } from '../scripts/Script';
import { NO_LEASE } from '../util/duration';

/*
 * Lua functions that the scripts of the permit-expirable semaphore share.
 */

/** The score of a permit without a lease; a string, since Redisson compares it as text. */
export const PERMIT_WITHOUT_LEASE = '922337203685477';

/**
 * `readAvailable(name)`: the number of available permits, nil without a semaphore. A second result is an error (the key
 * does not hold a number), which the script must return before it writes anything.
 */
export const READ_AVAILABLE = lua`
local function readAvailable(name)
  local available = redis.call('get', name)
  if available and not tonumber(available) then
    return nil, redis.error_reply('ERR value is not an integer or out of range')
  end
  return tonumber(available)
end
`;

/**
 * `putBack(name, channel, publish, expired)`: makes `expired` permits available again, which must have been removed
 * from the zset, and notifies the waiters. Returns the number of available permits.
 */
export const PUT_BACK = lua`
local function putBack(name, channel, publish, expired)
  local available = redis.call('incrby', name, expired)
  if available > 0 then redis.pcall(publish, channel, available) end
  return available
end
`;

/** `expiryOf(now, lease)`: the score of a permit whose lease of so many ms begins now; -1 is no lease. */
export const EXPIRY_OF = lua`
local function expiryOf(now, lease)
  local expiry = now + lease
  if lease == '${NO_LEASE}' or expiry >= ${PERMIT_WITHOUT_LEASE} then return '${PERMIT_WITHOUT_LEASE}' end
  return expiry
end
`;

/**
 * `purge(name, permits, channel, publish, now)`: makes all expired permits available again, the first step of most
 * operations. Returns what `readAvailable` returns. Includes {@link READ_AVAILABLE} and {@link PUT_BACK}.
 */
export const PURGE = lua`${READ_AVAILABLE}${PUT_BACK}
local function purge(name, permits, channel, publish, now)
  local available, failure = readAvailable(name)
  if failure then return nil, failure end
  local expired = redis.call('zremrangebyscore', permits, '-inf', now)
  if expired > 0 then available = putBack(name, channel, publish, expired) end
  return available
end
`;

/* Scripts for the numbers of permits of a permit-expirable semaphore. The data is described in `permitScripts.ts`. */

/**
 * KEYS: name, permits, channel. ARGV: publish.
 * Output: the value of `count` after expired permits were made available.
 */
function defineCountScript(name: string, count: string): Script<'name' | 'permits' | 'channel', 'publish', number> {
  return defineScript({
    name,
    keys: ['name', 'permits', 'channel'],
    args: ['publish'],
    resend: 'always',
    lua: lua`${SERVER_TIME}${PURGE}
local available, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return ${count}
`,
    decode: decodeCount,
  });
}

/** How many permits are available; may be negative. */
export const availableLeasedPermits = defineCountScript('permitExpirableSemaphore.availablePermits', 'available or 0');

/** How many permits there are, taken or not; 0 without a semaphore. */
export const getPermits = defineCountScript(
  'permitExpirableSemaphore.getPermits',
  "available and available + redis.call('zcard', permits) or 0",
);

/**
 * How many permits are taken.
 *
 * KEYS: name, permits, channel. ARGV: publish. Output: the number.
 */
export const acquiredPermits = defineScript({
  name: 'permitExpirableSemaphore.acquiredPermits',
  keys: ['name', 'permits', 'channel'],
  args: ['publish'],
  resend: 'always',
  lua: lua`${SERVER_TIME}${PURGE}
local _, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return redis.call('zcard', permits)
`,
  decode: decodeCount,
});

/**
 * Sets the number of permits, taken or not; creates the semaphore if there is none. Taken permits stay taken, so the
 * number of available ones may become negative.
 *
 * KEYS: name, permits, channel. ARGV: total, publish. Output: 1 = changed, 0 = it was that number already.
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
 * Changes the number of permits, also by a negative number. The key with the number of available permits then no longer
 * expires, as in Redisson.
 *
 * KEYS: name. Channels: channel. ARGV: added (any sign), publish.
 * Output: the permits available now, expired ones not counted.
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
