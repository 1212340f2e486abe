import { decodeFlag, decodeFlags, decodeGroupAcquire, decodeGroupRelease } from '../../scripts/replies';
import { defineScript, lua } from '../../scripts/Script';
import { NOTICE_MS, TELL } from '../../scripts/shortenLease';

/*
 * The lock of several values of one group (Redisson: RedissonFasterMultiLock).
 *
 * | Redis data                      | type    | holds                                                             |
 * |---------------------------------|---------|-------------------------------------------------------------------|
 * | `name`                          | hash    | per locked value the three fields below; expires with the longest |
 * | ... `value`                     |         | the owner                                                         |
 * | ... `value:<owner>:expire_time` |         | epoch ms, by the clocks of the clients                            |
 * | ... `value:<owner>:lock_count`  |         | its holds                                                         |
 * | `redisson_lock__channel:{name}` | channel | `0` each time a value becomes free, or its lease is shortened     |
 *
 * `value` is a hash of the value (`fieldOf`). As in the other kinds, acquire and release send how many holds they leave
 * of each value, so a repeat changes nothing. A value is free if it has no owner, or if the time of its owner has
 * passed. The next owner then deletes the fields of the former one: Redisson keeps them, and continues their count.
 */

/**
 * `holderOf(name, value)`: the owner of a value, and its expiry time (epoch ms; 0: none). nil and 0 without an owner.
 */
const HOLDER_OF = lua`
local function holderOf(name, value)
  local holder = redis.call('hget', name, value)
  if not holder then return nil, 0 end
  return holder, tonumber(redis.call('hget', name, value .. ':' .. holder .. ':expire_time')) or 0
end
`;

/**
 * `forgetHolder(name, value, holder)`: deletes the time and the count of an owner of a value, but not the owner itself.
 */
const FORGET_HOLDER = lua`
local function forgetHolder(name, value, holder)
  local prefix = value .. ':' .. holder
  redis.call('hdel', name, prefix .. ':expire_time', prefix .. ':lock_count')
end
`;

/** `setTime(name, value, owner, time)`: sets until when an owner has a value (epoch ms). */
const SET_TIME = lua`
local function setTime(name, value, owner, time)
  redis.call('hset', name, value .. ':' .. owner .. ':expire_time', string.format('%.0f', time))
end
`;

/**
 * One attempt to acquire the values, or to acquire them once more: all or none.
 *
 * KEYS: name. ARGV: lease (ms), now (epoch ms), owner, then per value: the value, count (the holds that the owner is to
 * have afterwards: known holds + 1).
 * Output: nil = acquired; `{value, ...}` = acquired, but these values had been lost, and have one hold now; integer =
 * other owners have some of them, for at most so many ms.
 */
export const acquireValues = defineScript({
  name: 'groupLock.acquire',
  keys: ['name'],
  args: ['lease', 'now', 'owner'],
  resend: 'connection',
  synced: ({ acquired }) => acquired,
  lua: lua`
${HOLDER_OF}${FORGET_HOLDER}${SET_TIME}
local latest = tonumber(now)
for i = moreArgs + 1, #ARGV, 2 do
  local holder, time = holderOf(name, ARGV[i])
  if holder and holder ~= owner and time > latest then latest = time end
end
if latest > tonumber(now) then return latest - now end
local ttl = redis.call('pttl', name)
local lost = {}
for i = moreArgs + 1, #ARGV, 2 do
  local value, count = ARGV[i], ARGV[i + 1]
  local holder, time = holderOf(name, value)
  if holder and holder ~= owner then forgetHolder(name, value, holder) end
  if holder ~= owner or time <= tonumber(now) then
    time = 0
    if count ~= '1' then
      lost[#lost + 1] = value
      count = '1'
    end
  end
  redis.call('hset', name, value, owner, value .. ':' .. owner .. ':lock_count', count)
  setTime(name, value, owner, math.max(time, now + lease))
end
if ttl == -2 or (ttl >= 0 and ttl < tonumber(lease)) then redis.call('pexpire', name, lease) end
if #lost > 0 then return lost end
return nil
`,
  decode: decodeGroupAcquire,
});

/**
 * Releases holds of values. The holds that are left may have a shorter lease than the released ones; waiters are then
 * notified, as by an unlock. Values that the owner does not have (any more) are skipped; Redisson does not notify the
 * waiters in that case.
 *
 * KEYS: name. Channels: channel. ARGV: message, now (epoch ms), owner, publish, then per value: the value, left (holds
 * to leave), remaining (ms of lease those have; 0 leaves the time unchanged).
 * Output: `{value, ...}` = the owner does not have these values, and its holds of the others were released; 0 = it
 * still holds all of them; 1 + n = some are free, n subscribers were notified.
 */
export const releaseValues = defineScript({
  name: 'groupLock.release',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'now', 'owner', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${TELL}${HOLDER_OF}${FORGET_HOLDER}${SET_TIME}
local gone = {}
local freed, shorter = false, false
for i = moreArgs + 1, #ARGV - 1, 3 do
  local value, left, remaining = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local holder, time = holderOf(name, value)
  local held = holder == owner and time >= tonumber(now)
  if not held then gone[#gone + 1] = value end
  if held and left > 0 then
    local counter = value .. ':' .. owner .. ':lock_count'
    if (tonumber(redis.call('hget', name, counter)) or 0) > left then redis.call('hset', name, counter, left) end
    if remaining > 0 then
      if time - (now + remaining) > ${NOTICE_MS} then shorter = true end
      setTime(name, value, owner, now + remaining)
    end
  elseif holder == owner then
    redis.call('hdel', name, value)
    forgetHolder(name, value, owner)
    freed = true
  end
end
local receivers = 0
if freed or shorter then receivers = math.max(0, tell(publish, channel, message)) end
if #gone > 0 then return gone end
return freed and 1 + receivers or 0
`,
  decode: decodeGroupRelease,
});

/**
 * Frees values, whoever has them (Redisson: forceUnlock, which fails if one of them is free).
 *
 * KEYS: name. Channels: channel. ARGV: message, now (epoch ms), publish, then the values.
 * Output: 1 = some of them had an owner, 0 = none had.
 */
export const forceReleaseValues = defineScript({
  name: 'groupLock.forceRelease',
  keys: ['name', 'channel'],
  channels: ['channel'],
  args: ['message', 'now', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${TELL}${HOLDER_OF}${FORGET_HOLDER}
local found = 0
for i = moreArgs + 1, #ARGV do
  local holder, time = holderOf(name, ARGV[i])
  if holder then
    redis.call('hdel', name, ARGV[i])
    forgetHolder(name, ARGV[i], holder)
    if time >= tonumber(now) then found = 1 end
  end
end
if found == 1 then tell(publish, channel, message) end
return found
`,
  decode: decodeFlag,
});

/**
 * Renews values in groups of one slot (the watchdog). A value with a longer lease keeps it.
 *
 * KEYS: the groups. ARGV: lease (ms; 0 = only looks), now (epoch ms), then per group: owner, number of values, the values.
 * Output: per value 1 = renewed, 0 = not held any more; group by group.
 */
export const renewValues = defineScript({
  name: 'groupLock.renew',
  keys: [],
  args: ['lease', 'now'],
  resend: 'never',
  synced: true,
  lua: lua`
${HOLDER_OF}${SET_TIME}
local result = {}
local period = tonumber(lease)
local at = moreArgs + 1
for k = 1, #KEYS do
  local name, owner, count = KEYS[k], ARGV[at], tonumber(ARGV[at + 1])
  at = at + 2
  local extended = false
  for i = at, at + count - 1 do
    result[#result + 1] = 0
    -- pcall: a name that now holds another type is a lost lock, but must not fail the whole batch
    if redis.pcall('hget', name, ARGV[i]) == owner then
      local ttl = redis.call('pttl', name)
      -- the expiry comes first: a server without memory refuses HSET, but not behind a write that it has allowed
      if period > 0 and not extended and ttl ~= -1 then redis.call('pexpire', name, math.max(ttl, period)) end
      extended = true
      local _, time = holderOf(name, ARGV[i])
      if period > 0 and time < now + lease then setTime(name, ARGV[i], owner, now + lease) end
      result[#result] = 1
    end
  end
  at = at + count
end
return result
`,
  decode: decodeFlags,
});

/**
 * Checks many groups of one slot for values that Redis has for an owner although no caller owns them.
 *
 * KEYS: the groups. ARGV: the owner of each, then the values, the same for all.
 * Output: per group 1 = the owner has one of them, 0 = none.
 */
export const findValues = defineScript({
  name: 'groupLock.find',
  keys: [],
  args: [],
  resend: 'always',
  lua: lua`
local result = {}
for k = 1, #KEYS do
  result[k] = 0
  for i = moreArgs + #KEYS + 1, #ARGV do
    -- pcall: a name that now holds another type is not a lock, but must not fail the whole batch
    if redis.pcall('hget', KEYS[k], ARGV[i]) == ARGV[moreArgs + k] then result[k] = 1 end
  end
end
return result
`,
  decode: decodeFlags,
});

/**
 * Whether one of the values has an owner.
 *
 * KEYS: name. ARGV: now (epoch ms), then the values. Output: 1 = yes, 0 = no.
 */
export const areValuesLocked = defineScript({
  name: 'groupLock.isLocked',
  keys: ['name'],
  args: ['now'],
  resend: 'always',
  lua: lua`
${HOLDER_OF}
for i = moreArgs + 1, #ARGV do
  local holder, time = holderOf(name, ARGV[i])
  if holder and time >= tonumber(now) then return 1 end
end
return 0
`,
  decode: decodeFlag,
});

/**
 * How often an owner holds all of the values (Redisson does not check the first one).
 *
 * KEYS: name. ARGV: now (epoch ms), owner, then the values.
 * Output: the lowest hold count of all the values; 0 = it does not hold one of them.
 */
export const countValues = defineScript({
  name: 'groupLock.count',
  keys: ['name'],
  args: ['now', 'owner'],
  resend: 'always',
  lua: lua`
${HOLDER_OF}
local least = -1
for i = moreArgs + 1, #ARGV do
  local holder, time = holderOf(name, ARGV[i])
  if holder ~= owner or time < tonumber(now) then return 0 end
  local count = tonumber(redis.call('hget', name, ARGV[i] .. ':' .. owner .. ':lock_count')) or 0
  if least < 0 or count < least then least = count end
end
return math.max(0, least)
`,
  decode: Number,
});
