import {
  type AcquireReply,
  decodeFlag,
  decodeFlags,
  decodeRelease,
  RELEASED_HANDED,
  type ReleaseReply,
} from '../scripts/replies';
import { defineScript, lua, RENEWS, SERVER_TIME, type ScriptArg, TAKES } from '../scripts/Script';
import { NOTICE_MS, TELL, TOUCH } from '../scripts/shortenLease';
import { createHash } from 'node:crypto';
import { ConfigError } from '../errors';
import { describe } from '../util/describe';
import { highwayHash128 } from '../util/highwayHash';
import type { WakeRule } from '../waiters/wakeRules';
import type { GroupValues, Ownership } from '../watchdog/Ownership';
import { ACQUIRES, decodeAcquire, LOCK } from './reentrant';
import type { LockDescriptor } from './Kind';

/*
 * The lock of several values of one group (Redisson: RedissonFasterMultiLock).
 *
 * | Redis data                      | type    | holds                                                             |
 * |---------------------------------|---------|-------------------------------------------------------------------|
 * | `name`                          | hash    | per locked value the three fields below; expires with the longest |
 * | ... `value`                     |         | the owner                                                         |
 * | ... `value:<owner>:expire_time` |         | epoch ms, by the server's clock (Java: by that of its client)     |
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
 * KEYS: name. ARGV: lease (ms), owner, then portions of values: count (the holds that the owner is to have of each
 * afterwards: known holds + 1), the number of values, the values.
 * Output: nil = acquired; `{value, ...}` = acquired, but these values had been lost, and have one hold now; integer =
 * other owners have some of them, for at most so many ms.
 */
export const acquireValues = defineScript({
  name: 'groupLock.acquire',
  args: ['lease', 'owner'],
  ...ACQUIRES,
  lua: lua`
${HOLDER_OF}${FORGET_HOLDER}${SERVER_TIME}
local latest = now - 1
local counts, holders, times = {}, {}, {}
local at = moreArgs + 1
while at <= #ARGV do
  for i = at + 2, at + 1 + ARGV[at + 1] do
    counts[i] = ARGV[at]
    holders[i], times[i] = holderOf(name, ARGV[i])
    if holders[i] and holders[i] ~= owner and times[i] > latest then latest = times[i] end
  end
  at = at + 2 + ARGV[at + 1]
end
if latest >= now then return math.max(latest - now, 1) end
local ttl = redis.call('pttl', name)
local lost = {}
for i = moreArgs + 1, #ARGV do
  if counts[i] then
    local value, count, ends = ARGV[i], counts[i], times[i]
    if holders[i] and holders[i] ~= owner then forgetHolder(name, value, holders[i]) end
    if holders[i] ~= owner or ends < now then
      ends = 0
      if count ~= '1' then
        lost[#lost + 1] = value
        count = '1'
      end
    end
    local prefix = value .. ':' .. owner
    ends = string.format('%.0f', math.max(ends, now + lease))
    redis.call('hset', name, value, owner, prefix .. ':lock_count', count, prefix .. ':expire_time', ends)
  end
end
if ttl == -2 or (ttl >= 0 and ttl < tonumber(lease)) then redis.call('pexpire', name, lease) end
if #lost > 0 then return lost end
return nil
`,
  decode: (reply): AcquireReply =>
    Array.isArray(reply) ? { acquired: true, gone: reply.map(String) } : decodeAcquire(reply),
});

/** Reads 0 / 1 + receivers / `{value, ...}` (these values were not held). */
function decodeValuesRelease(reply: unknown): ReleaseReply {
  return Array.isArray(reply) ? { kind: 'notHeld', gone: reply.map(String) } : decodeRelease(reply);
}

/**
 * Releases holds of values. The holds that are left may have a shorter lease than the released ones; waiters are then
 * notified, as by an unlock. Values that the owner does not have (any more) are skipped; Redisson does not notify the
 * waiters in that case.
 *
 * KEYS: name. Channels: channel. ARGV: message, owner, publish, then portions of values: left (holds to leave),
 * remaining (ms of lease those have; 0 leaves the time unchanged), the number of values, the values.
 * Output: `{value, ...}` = the owner does not have these values, and its holds of the others were released; 0 = it
 * still holds all of them; 1 + n = some are free, n subscribers were notified.
 */
export const releaseValues = defineScript({
  name: 'groupLock.release',
  keys: ['name', 'channel'],
  args: ['message', 'owner', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${TELL}${TOUCH}${HOLDER_OF}${FORGET_HOLDER}${SET_TIME}${SERVER_TIME}
local gone = {}
local freed, shorter, touched, longest = false, false, false, 0
local at = moreArgs + 1
while at <= #ARGV do
  local left, remaining = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  for i = at + 3, at + 2 + ARGV[at + 2] do
    local value = ARGV[i]
    local holder, ends = holderOf(name, value)
    local held = holder == owner and ends >= now
    if not held then gone[#gone + 1] = value end
    if held and left > 0 then
      if not touched then touch(name) end
      touched = true
      local counter = value .. ':' .. owner .. ':lock_count'
      if (tonumber(redis.call('hget', name, counter)) or 0) > left then redis.call('hset', name, counter, left) end
      if remaining > 0 then
        if ends - (now + remaining) > ${NOTICE_MS} then shorter = true end
        longest = math.max(longest, remaining)
        setTime(name, value, owner, now + remaining)
      end
    elseif holder == owner then
      redis.call('hdel', name, value)
      forgetHolder(name, value, owner)
      freed = true
    end
  end
  at = at + 3 + ARGV[at + 2]
end
local ttl = redis.call('pttl', name)
if ttl >= 0 and ttl < longest then redis.call('pexpire', name, longest) end
local receivers = 0
if freed or shorter then receivers = math.max(0, tell(publish, channel, message)) end
if #gone > 0 then return gone end
return freed and 1 + receivers or 0
`,
  decode: decodeValuesRelease,
});

/**
 * Hands the last holds of one owner to another owner of the same client in one step: all of the values, or none. If the
 * owner has lost some of them, the others are released.
 *
 * KEYS: name. Channels: channel. ARGV: message, owner, heir, lease (ms, of the heir), publish, then the values.
 * Output: -1 = handed over (now, or by an earlier send); `{value, ...}` = the owner does not have these values, nothing
 * was handed over, and its holds of the others were released.
 */
export const handOverValues = defineScript({
  name: 'groupLock.handOver',
  keys: ['name', 'channel'],
  args: ['message', 'owner', 'heir', 'lease', 'publish'],
  resend: 'always',
  synced: ({ kind }) => kind === 'handed',
  lua: lua`
${TELL}${HOLDER_OF}${FORGET_HOLDER}${SERVER_TIME}
local gone, own, handed = {}, {}, 0
for i = moreArgs + 1, #ARGV do
  local holder, ends = holderOf(name, ARGV[i])
  if holder == owner then own[#own + 1] = ARGV[i] end
  if holder ~= owner or ends < now then gone[#gone + 1] = ARGV[i] end
  if holder == heir and ends >= now then handed = handed + 1 end
end
local repeated, ttl = handed == #ARGV - moreArgs, redis.call('pttl', name)
-- a repeat writes, too: as in lock.handOver
if (#gone == 0 or repeated) and ttl >= 0 and ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
if repeated then return ${RELEASED_HANDED} end
for _, value in ipairs(own) do
  -- what goes comes first: see touch in shortenLease.ts
  forgetHolder(name, value, owner)
  if #gone > 0 then
    redis.call('hdel', name, value)
  else
    local prefix = value .. ':' .. heir
    local ends = string.format('%.0f', now + lease)
    redis.call('hset', name, value, heir, prefix .. ':lock_count', 1, prefix .. ':expire_time', ends)
  end
end
if #gone == 0 then return ${RELEASED_HANDED} end
if #own > 0 then tell(publish, channel, message) end
return gone
`,
  decode: decodeValuesRelease,
});

/**
 * Frees values, whoever has them (Redisson: forceUnlock, which fails if one of them is free).
 *
 * KEYS: name. Channels: channel. ARGV: message, publish, then the values.
 * Output: 1 = some of them had an owner, 0 = none had.
 */
export const forceReleaseValues = defineScript({
  name: 'groupLock.forceRelease',
  keys: ['name', 'channel'],
  args: ['message', 'publish'],
  ...TAKES,
  lua: lua`
${TELL}${HOLDER_OF}${FORGET_HOLDER}${SERVER_TIME}
local found = 0
for i = moreArgs + 1, #ARGV do
  local holder, ends = holderOf(name, ARGV[i])
  if holder then
    redis.call('hdel', name, ARGV[i])
    forgetHolder(name, ARGV[i], holder)
    if ends >= now then found = 1 end
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
 * KEYS: the groups. ARGV: lease (ms; 0 = only checks), then per group: owner, number of values, the values.
 * Output: per group `{value, ...}`: those that are not held any more.
 */
export const renewValues = defineScript({
  name: 'groupLock.renew',
  ...RENEWS,
  lua: lua`
${HOLDER_OF}${SET_TIME}${SERVER_TIME}
local result = {}
local period = tonumber(lease)
local at = moreArgs + 1
for k = 1, #KEYS do
  local name, owner, gone, extended = KEYS[k], ARGV[at], {}, false
  for i = at + 2, at + 1 + ARGV[at + 1] do
    -- pcall: a name that now holds another type is a lost lock, but must not fail the whole batch
    if redis.pcall('hget', name, ARGV[i]) ~= owner then
      gone[#gone + 1] = ARGV[i]
    elseif period > 0 then
      if not extended then
        extended = true
        local ttl = redis.call('pttl', name)
        -- the expiry comes first: see touch in shortenLease.ts
        if ttl ~= -1 then redis.call('pexpire', name, math.max(ttl, period)) end
      end
      local _, ends = holderOf(name, ARGV[i])
      if ends < now + period then setTime(name, ARGV[i], owner, now + period) end
    end
  end
  at = at + 2 + ARGV[at + 1]
  result[k] = gone
end
return result
`,
  decode: (reply): string[][] => (reply as unknown[][]).map((gone) => gone.map(String)),
});

/**
 * Checks many groups of one slot for values that Redis has for an owner although no caller owns them.
 *
 * KEYS: the groups. ARGV: the owner of each, then the values, the same for all.
 * Output: per group 1 = the owner has one of them, 0 = none.
 */
export const findValues = defineScript({
  name: 'groupLock.find',
  query: true,
  keys: [],
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
 * KEYS: name. ARGV: the values. Output: 1 = yes, 0 = no.
 */
export const areValuesLocked = defineScript({
  name: 'groupLock.isLocked',
  query: true,
  lua: lua`
${HOLDER_OF}${SERVER_TIME}
for i = moreArgs + 1, #ARGV do
  local holder, ends = holderOf(name, ARGV[i])
  if holder and ends >= now then return 1 end
end
return 0
`,
  decode: decodeFlag,
});

/**
 * How often an owner holds all of the values (Redisson does not check the first one).
 *
 * KEYS: name. ARGV: owner, then the values.
 * Output: the lowest hold count of all the values; 0 = it does not hold one of them.
 */
export const countValues = defineScript({
  name: 'groupLock.count',
  query: true,
  args: ['owner'],
  lua: lua`
${HOLDER_OF}${SERVER_TIME}
local least = -1
for i = moreArgs + 1, #ARGV do
  local holder, ends = holderOf(name, ARGV[i])
  if holder ~= owner or ends < now then return 0 end
  local count = tonumber(redis.call('hget', name, ARGV[i] .. ':' .. owner .. ':lock_count')) or 0
  if least < 0 or count < least then least = count end
end
return math.max(0, least)
`,
  decode: Number,
});

/** `0` = some value is free; the message does not say which. Every waiter may try. */
const groupWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** Half of a surrogate pair: UTF-8 cannot encode it, so different values would get the same hash. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The values that a group lock covers.
 *
 * @param values - as given by the user; a value given twice counts once, and the order does not matter
 * @throws ConfigError unless it is a non-empty list of strings without lone surrogates
 */
export function groupValues(values: readonly string[]): GroupValues {
  const given: unknown = values;
  if (!Array.isArray(given) || given.length === 0) {
    throw new ConfigError(`A lock of a group needs a list of at least one value, got ${describe(given)}`);
  }
  for (const value of given as unknown[]) {
    if (typeof value === 'string' && !LONE_SURROGATE.test(value)) continue;
    throw new ConfigError(
      `The values of a group must be strings of well-formed Unicode, got ${describe(value)}: turn them into text, ` +
        'the same in all clients',
    );
  }
  // The values are sorted and not their fields: often they are sorted already.
  const fields = [...new Set(values)].sort().map(fieldOf);
  return Object.freeze({ fields: Object.freeze(fields), key: keyOf(fields) });
}

/** The field of a value in the hash: its encoding by Redisson's StringCodec, hashed, in base64 without padding. */
function fieldOf(value: string): string {
  return highwayHash128(Buffer.from(value)).toString('base64').slice(0, 22);
}

/** The field of one value; a hash of the fields of several. */
function keyOf(fields: readonly string[]): string {
  return fields.length === 1 ? fields[0]! : createHash('sha256').update(fields.join(' ')).digest('base64');
}

/**
 * The values of an ownership as script arguments: for each portion the numbers, its length and its values.
 * @param numbers - of values that these other ownerships cover, too
 */
function portions(
  ownership: Ownership,
  numbers: (others: readonly Ownership[]) => readonly number[],
): readonly ScriptArg[] {
  const args: ScriptArg[] = [];
  for (const { others, fields } of ownership.owned!.portionsOf(ownership)) {
    args.push(...numbers(others), fields.length);
    for (const field of fields) args.push(field);
  }
  return args;
}

/**
 * The lock of several values of one group (Redisson: RedissonFasterMultiLock), all of them by one script. Its data is
 * described above.
 *
 * Those of a process who wait for the same values are one queue, with turns of its own, and the values are handed over
 * within it: all of them, or none. A message does not say which value is free, so it is for every queue of the group.
 */
export const GROUP = {
  name: 'group',
  noun: 'group lock',
  report: 'group',
  data: 'values',
  keysOf: LOCK.keysOf,
  channelOf: LOCK.channelOf,
  waitOrder: 'fifo',
  wakeRule: groupWakeRule,
  renewal: 'group',
  acquire: acquireValues,
  release: releaseValues,
  handOver: handOverValues,
  forceRelease: forceReleaseValues,
  isLocked: areValuesLocked,
  holdCount: countValues,
  find: findValues,
  renew: renewValues,
  portions: {
    toAcquire: ({ ownership, count }) =>
      portions(ownership, (others) => [others.reduce((sum, { live }) => sum + live.length, count)]),
    toRelease: (request) => {
      const own = request.leaves();
      return portions(request.ownership, (others) => {
        const all = [own, ...others.map((other) => other.remainder())];
        return [all.reduce((sum, one) => sum + one.left, 0), Math.max(...all.map((one) => one.remainingMs))];
      });
    },
  },
  commands: [],
} as const satisfies LockDescriptor;
