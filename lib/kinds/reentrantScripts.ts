import { LEAVE_HOLDS, SHORTEN_LEASE, TELL, TELL_RELEASED } from '../scripts/shortenLease';
import { defineScript, lua } from '../scripts/Script';
import { decodeAcquire, decodeFlags, decodeRelease, RELEASED_HANDED } from '../scripts/replies';

/*
 * The reentrant lock (Redisson: RedissonLock).
 *
 * | Redis data                        | type | holds                                   |
 * |-----------------------------------|------|-----------------------------------------|
 * | `name`                            | hash | owner -> hold count, expires with lease |
 * | `redisson_lock__channel:{name}`   | channel | `0` each time the lock becomes free, or its lease is shortened |
 *
 * Acquire and release send the hold count that they leave, instead of adding and subtracting. So a command whose reply
 * was lost can be sent again, and Redisson's unlock latch (two more writes per unlock) is not needed.
 */

/**
 * One attempt to acquire the lock, or to acquire it once more.
 *
 * KEYS: name. ARGV: lease (ms), owner, count (the holds that the owner is to have afterwards: known holds + 1). Output:
 * nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost); integer = held by
 * another owner, its PTTL in ms (-1: no expiry).
 */
export const acquireLock = defineScript({
  name: 'lock.acquire',
  keys: ['name'],
  args: ['lease', 'owner', 'count'],
  resend: 'connection',
  synced: ({ acquired }) => acquired,
  lua: lua`
if redis.call('exists', name) == 0 then
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  if count == '1' then return nil end
  return {1}
end
local held = tonumber(redis.call('hget', name, owner))
if not held then return redis.call('pttl', name) end
local wanted = tonumber(count)
if held < wanted then
  held = redis.call('hincrby', name, owner, 1)
end
if redis.call('pttl', name) < tonumber(lease) then redis.call('pexpire', name, lease) end
if held == wanted then return nil end
return {held}
`,
  decode: decodeAcquire,
});

/**
 * Releases holds: for unlock, and to undo an acquisition for which no caller waits any more. The holds that are left
 * may have a shorter lease than the released one; waiters are then notified, as by an unlock.
 *
 * KEYS: name. Channels: channel. ARGV: message, owner, left (holds to leave), remaining (ms of lease those have; 0
 * leaves the expiry unchanged), publish.
 * Output: nil = the owner holds nothing; 0 = it holds `left`; 1 + n = free, n subscribers were notified; -2 = free, but
 * the user may not publish.
 */
export const releaseLock = defineScript({
  name: 'lock.release',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'owner', 'left', 'remaining', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${TELL}${TELL_RELEASED}${SHORTEN_LEASE}${LEAVE_HOLDS}
local held = tonumber(redis.call('hget', name, owner))
if not held then return nil end
if left ~= '0' then
  if leaveHolds(name, owner, held, left, remaining) then tell(publish, channel, message) end
  return 0
end
redis.call('del', name)
return tellReleased(publish, channel, message)
`,
  decode: decodeRelease,
});

/**
 * Hands the last hold of one owner to another owner in one step: to another thread of the same client (a hand-over), or
 * to and from the owner of a ticket. No other owner can acquire it in between, so no message is needed.
 *
 * KEYS: name. ARGV: owner, heir, lease (ms, of the heir).
 * Output: nil = neither the owner nor the heir holds it; -1 = handed over (now, or by an earlier send).
 */
export const handOverLock = defineScript({
  name: 'lock.handOver',
  keys: ['name'],
  args: ['owner', 'heir', 'lease'],
  resend: 'always',
  synced: ({ kind }) => kind === 'handed',
  lua: lua`
if redis.call('hexists', name, owner) == 0 then
  if redis.call('hexists', name, heir) == 1 then return ${RELEASED_HANDED} end
  return nil
end
-- the lease comes first: a server without memory refuses HSET, but not behind a write that it has allowed
redis.call('pexpire', name, lease)
-- the heir goes in first: Redis deletes an empty hash, and sends an event for it
redis.call('hset', name, heir, 1)
redis.call('hdel', name, owner)
return ${RELEASED_HANDED}
`,
  decode: decodeRelease,
});

/**
 * Deletes the lock, whoever holds it (Redisson: forceUnlock). HLEN comes first, so that a key of another type causes an
 * error and is not deleted.
 *
 * KEYS: name. Channels: channel. ARGV: message, publish. Output: 1 = there was a lock, 0 = there was none.
 */
export const forceReleaseLock = defineScript({
  name: 'lock.forceRelease',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${TELL}
if redis.call('hlen', name) == 0 then return 0 end
redis.call('del', name)
tell(publish, channel, message)
return 1
`,
  decode: (reply) => reply === 1,
});

/**
 * Checks many locks of one slot for holds that no caller owns. Every kind of lock but group locks has its owners as
 * fields of one hash.
 *
 * KEYS: the names. ARGV: the owner of each name. Output: per name 1 = held, 0 = not.
 */
export const findHolds = defineScript({
  name: 'lock.find',
  keys: [],
  args: [],
  resend: 'always',
  lua: lua`
local result = {}
-- pcall: a name that now holds another type is not a lock, but must not fail the whole batch
for i = 1, #KEYS do result[i] = redis.pcall('hexists', KEYS[i], ARGV[moreArgs + i]) == 1 and 1 or 0 end
return result
`,
  decode: decodeFlags,
});

/**
 * Renews many locks of one slot (the watchdog). A lock with a longer lease keeps it.
 *
 * KEYS: the names. ARGV: lease (ms; 0 = only looks), then the owner of each name. Output: per name 1 = renewed, 0 = not held any more.
 */
export const renewLocks = defineScript({
  name: 'lock.renew',
  keys: [],
  args: ['lease'],
  resend: 'never',
  synced: true,
  lua: lua`
local result = {}
local period = tonumber(lease)
for i = 1, #KEYS do
  result[i] = 0
  -- pcall: a name that now holds another type is a lost lock, but must not fail the whole batch
  if redis.pcall('hexists', KEYS[i], ARGV[moreArgs + i]) == 1 then
    if period > 0 and redis.call('pttl', KEYS[i]) < period then redis.call('pexpire', KEYS[i], lease) end
    result[i] = 1
  end
end
return result
`,
  decode: decodeFlags,
});

/**
 * How long a lock of any kind lives. HLEN comes first, so that a key of another type causes an error.
 *
 * KEYS: name. ARGV: none. Output: its PTTL in ms (-2: free, -1: no expiry).
 */
export const lockTimeToLive = defineScript({
  name: 'lock.timeToLive',
  keys: ['name'],
  args: [],
  resend: 'always',
  lua: lua`
redis.call('hlen', name)
return redis.call('pttl', name)
`,
  decode: Number,
});
