import { decodeFlag, decodeFlags, decodeNumber } from '../scripts/replies';
import { COUNTS, defineScript, lua, type Script, SERVER_TIME, type ScriptArg, TAKES } from '../scripts/Script';
import { NO_LEASE } from '../util/duration';
import type { PermitKeys, SynchronizerKind } from './Kind';
import { NOTICE_MS } from '../scripts/shortenLease';
import { ACQUIRES, defineFindScript } from './reentrant';
import { suffixName } from '../util/names';
import type { Renewable } from '../watchdog/Ownership';
import { SEMAPHORE, semaphoreChannel } from './semaphore';
import { permitWakeRule } from '../waiters/wakeRules';

/*
 * The semaphore with leased permits (Redisson: RedissonPermitExpirableSemaphore). It is created by `trySetPermits` of
 * `semaphore.ts`.
 *
 * | Redis data           | type    | holds                                                                         |
 * |----------------------|---------|-------------------------------------------------------------------------------|
 * | `name`               | string  | permits available now, may be negative                                        |
 * | `{name}:timeout`     | zset    | id of a permit (16 raw bytes) -> end of its lease (epoch ms)                  |
 * | `redisson_sc:{name}` | channel | permits available; after a release of several permits: their number;          |
 * |                      |         | after set and add: the number given                                           |
 *
 * A permit has an id, so that a repeat finds what the first run did. A script that finds expired permits makes them
 * available again. Leases begin when a script runs, by the server's clock (Redisson: by that of the client).
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
  if available > 0 then tellAll(publish, channel, available) end
  return available
end
`;

/**
 * `expiryOf(now, lease)`: the score of a permit whose lease (in ms) begins now; -1 is no lease. A lease of 0 is over
 * at once.
 */
export const EXPIRY_OF = lua`
local function expiryOf(now, lease)
  local expiry = lease == '0' and now - 1 or now + lease
  if lease == '${NO_LEASE}' or expiry >= ${PERMIT_WITHOUT_LEASE} then return '${PERMIT_WITHOUT_LEASE}' end
  return expiry
end
`;

/**
 * `purge(name, permits, channel, publish, now)`: makes all expired permits available again, the first step of most
 * operations. Anybody may do it, and as often as they like: which permits have expired, the data and the clock of the
 * server say. Returns what `readAvailable` returns. Includes {@link READ_AVAILABLE} and {@link PUT_BACK}.
 */
export const PURGE = lua`${READ_AVAILABLE}${PUT_BACK}
local function purge(name, permits, channel, publish, now)
  local available, failure = readAvailable(name)
  if failure then return nil, failure end
  local expired = redis.call('zremrangebyscore', permits, '-inf', now - 1)
  if expired > 0 then available = putBack(name, channel, publish, expired) end
  return available
end
`;

/** The keys and rules of the scripts that change the permits with these ids. */
const CHANGES = { keys: ['name', 'permits', 'channel'], resend: 'always', synced: true } as const;

/**
 * KEYS: name, permits, channel. ARGV: publish.
 * Output: the value of `count` after expired permits were made available.
 */
function defineCountScript(name: string, count: string): Script<'name' | 'permits' | 'channel', 'publish', number> {
  return defineScript({
    name,
    query: true,
    keys: ['name', 'permits', 'channel'],
    args: ['publish'],
    lua: lua`${SERVER_TIME}${PURGE}
local available, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
return ${count}
`,
    decode: Number,
  });
}

/** Says that `releaseMany` is an undo: what it finds no more is not released by it. */
export const UNDO = 'undo';

/** Permits of one semaphore, as `updateLeases` wants them. */
export function permitKeys({ rawName }: Pick<Renewable, 'rawName'>): readonly string[] {
  const { name, permits } = PERMIT.keysOf(rawName);
  return [name, permits];
}

/** As {@link permitKeys}: their arguments. */
export function permitLeases({ rawName, values }: Pick<Renewable, 'rawName' | 'values'>): readonly ScriptArg[] {
  const { fields } = values!;
  return [semaphoreChannel(rawName), fields.length, ...fields.map((id) => Buffer.from(id, 'hex'))];
}

/** Whether all permits of each hold are there. */
export function heldPermits(
  there: readonly boolean[],
  holds: readonly Pick<Renewable, 'values'>[],
): readonly boolean[] {
  let at = 0;
  return holds.map(({ values }) => there.slice(at, (at += values!.fields.length)).every((one) => one));
}

/** The semaphore with leased permits; its channel is that of the semaphore. */
export const PERMIT = {
  name: 'permit',
  noun: 'semaphore',
  report: 'permitExpirableSemaphore',
  data: 'number',
  keysOf: (rawName: string) => ({
    name: rawName,
    channel: semaphoreChannel(rawName),
    permits: suffixName(rawName, 'timeout'),
  }),
  channelOf: semaphoreChannel,
  waitOrder: 'shared',
  wakeRule: permitWakeRule,
  renewal: 'permit',
  commands: [],

  trySetPermits: SEMAPHORE.trySetPermits,

  /** How many permits are available; may be negative. */
  available: defineCountScript('permitExpirableSemaphore.availablePermits', 'available or 0'),

  /** How many permits there are, taken or not; 0 without a semaphore. */
  total: defineCountScript(
    'permitExpirableSemaphore.getPermits',
    "available and available + redis.call('zcard', permits) or 0",
  ),

  /** How many permits are taken. */
  acquired: defineCountScript('permitExpirableSemaphore.acquiredPermits', "redis.call('zcard', permits)"),

  /**
   * Sets the number of permits, taken or not; creates the semaphore if there is none. Taken permits stay taken, so the
   * number of available ones may become negative.
   *
   * KEYS: name, permits, channel. ARGV: total, publish. Output: 1 = changed, 0 = it was that number already.
   */
  setPermits: defineScript({
    name: 'permitExpirableSemaphore.setPermits',
    keys: ['name', 'permits', 'channel'],
    ...TAKES,
    args: ['total', 'publish'],
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
tellAll(publish, channel, total)
return 1
`,
    decode: decodeFlag,
  }),

  /**
   * Changes the number of permits, also by a negative number. The key with the number of available permits then no
   * longer expires, as in Redisson.
   *
   * KEYS: name. Channels: channel. ARGV: added (any sign), publish.
   * Output: the permits available now, expired ones not counted.
   */
  addPermits: defineScript({
    name: 'permitExpirableSemaphore.addPermits',
    ...COUNTS,
    args: ['added', 'publish'],
    lua: lua`
local available = redis.call('incrby', name, added)
redis.call('persist', name)
if tonumber(added) > 0 then tellAll(publish, channel, added) end
return available
`,
    decode: Number,
  }),

  /**
   * Takes one permit per id if that many are available. Makes at most as many expired ones available as it wants, as in
   * Redisson.
   *
   * KEYS: name, permits, channel. ARGV: lease (ms, -1 = none), publish, old
   * (how many of the ids are old ones), then the ids (16 raw bytes each): those to take, and the old ones, whose
   * permits are given back before.
   * Output: nil = taken (a repeat takes those that are missing and sets its expiry for all of them); integer = fewer
   * are available: ms until the next one expires, -1: none will.
   */
  acquire: defineScript({
    name: 'permitExpirableSemaphore.acquire',
    keys: ['name', 'permits', 'channel'],
    args: ['lease', 'publish', 'old'],
    more: 'ids',
    ...ACQUIRES,
    lua: lua`${SERVER_TIME}${EXPIRY_OF}${READ_AVAILABLE}${PUT_BACK}
local available, failure = readAvailable(name)
if failure then return failure end
local last, givenBack = #ARGV - old, 0
for i = last + 1, #ARGV do givenBack = givenBack + redis.call('zrem', permits, ARGV[i]) end
if givenBack > 0 then available = redis.call('incrby', name, givenBack) end
local expired = math.min(redis.call('zcount', permits, '-inf', now - 1), last - moreArgs)
if expired > 0 then
  redis.call('zremrangebyrank', permits, 0, expired - 1)
  available = putBack(name, channel, publish, expired)
end
local missing = 0
for i = moreArgs + 1, last do
  if not redis.call('zscore', permits, ARGV[i]) then missing = missing + 1 end
end
if missing == 0 or (available and available >= missing) then
  if missing > 0 then redis.call('decrby', name, missing) end
  local expiry = expiryOf(now, lease)
  for i = moreArgs + 1, last do redis.call('zadd', permits, expiry, ARGV[i]) end
  local ttl = redis.call('pttl', name)
  if ttl > 0 then redis.call('pexpire', permits, ttl) end
  return nil
end
if givenBack > 0 then tellAll(publish, channel, available) end
local nearest = redis.call('zrange', permits, 0, 0, 'WITHSCORES')[2]
if not nearest or nearest == '${PERMIT_WITHOUT_LEASE}' then return -1 end
return math.max(math.ceil(nearest - now), 1)
`,
  }),

  /**
   * Releases one permit.
   *
   * KEYS: name, permits, channel. ARGV: id (16 raw bytes), publish, repeated (RESEND_FLAG).
   * Output: 1 = released; -1 = released after its lease had ended; 0 = there is no such permit. A repeat that finds
   * none returns 1: the first run released it.
   */
  release: defineScript({
    name: 'permitExpirableSemaphore.release',
    ...CHANGES,
    args: ['id', 'publish', 'repeated'],
    lua: lua`${SERVER_TIME}${READ_AVAILABLE}
local _, failure = readAvailable(name)
if failure then return failure end
local expiry = tonumber(redis.call('zscore', permits, id))
if not expiry then return tonumber(repeated) end
redis.call('zrem', permits, id)
tellAll(publish, channel, redis.call('incrby', name, 1))
return expiry >= now and 1 or -1
`,
    decode: Number,
  }),

  /**
   * Releases several permits: all of them, or none if one is missing or past its lease; an undo releases those that are
   * there.
   *
   * KEYS: name, permits, channel. ARGV: publish, repeated (RESEND_FLAG; {@link UNDO}), then the ids (16 raw bytes
   * each).
   * Output: how many were released, an id given twice counts once; 0 = none. A repeat that finds none of them returns
   * the number of ids, as if all were released by the first run.
   */
  releaseMany: defineScript({
    name: 'permitExpirableSemaphore.releaseMany',
    ...CHANGES,
    args: ['publish', 'repeated'],
    more: 'ids',
    lua: lua`${SERVER_TIME}${PURGE}
local seen, ids, there, live = {}, {}, 0, 0
for i = moreArgs + 1, #ARGV do
  local id = ARGV[i]
  if not seen[id] then
    seen[id] = true
    ids[#ids + 1] = id
    local expiry = tonumber(redis.call('zscore', permits, id))
    if expiry then there = there + 1 end
    if expiry and expiry >= now then live = live + 1 end
  end
end
if there == 0 and repeated == '1' then return #ids end
if live == 0 or (live < #ids and repeated ~= '${UNDO}') then return 0 end
local _, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
for _, id in ipairs(ids) do redis.call('zrem', permits, id) end
redis.call('incrby', name, live)
tellAll(publish, channel, live)
return live
`,
    decode: Number,
  }),

  /**
   * Checks many semaphores of one slot for permits that no caller owns.
   *
   * KEYS: the zset of each. ARGV: an id (16 raw bytes) of each. Output: per id 1 = taken, 0 = not.
   */
  find: defineFindScript(
    'permitExpirableSemaphore.find',
    "type(redis.pcall('zscore', KEYS[i], ARGV[moreArgs + i])) == 'string'",
  ),

  /**
   * Sets another lease for permits, counted from now: one of a caller (`updateLeaseTime`), or many of the watchdog's,
   * of all semaphores of one slot. A renewal leaves a longer lease as it is, and takes a key of another type for
   * permits that are gone. Waiters sleep until the first lease ends. If this one is now the first, and ends much
   * earlier, one waiter per process is notified to attempt again.
   *
   * KEYS: name1, permits1, name2, ... ARGV: lease (ms, -1 = none; 0 in a renewal = only checks), renewal (1 = it is
   * one), publish, then for each semaphore its channel, the number of its ids, and the ids (16 raw bytes each).
   * Output: per id, in that order, 1 = done, 0 = there is no such permit (any more).
   */
  updateLeases: defineScript({
    name: 'permitExpirableSemaphore.updateLeaseTime',
    keys: [],
    args: ['lease', 'renewal', 'publish'],
    more: 'ids',
    resend: 'always',
    synced: true,
    lua: lua`${SERVER_TIME}${EXPIRY_OF}${PURGE}
local expiry = expiryOf(now, lease)
local result, at = {}, moreArgs + 1
for k = 1, #KEYS, 2 do
  local name, permits, channel, last = KEYS[k], KEYS[k + 1], ARGV[at], at + 1 + ARGV[at + 1]
  local usable = type(redis.pcall('get', name)) ~= 'table' and type(redis.pcall('zcard', permits)) == 'number'
  if usable or renewal == '0' then
    local _, failure = purge(name, permits, channel, publish, now)
    if failure and renewal == '0' then return failure end
  end
  for i = at + 2, last do
    local current = (usable or renewal == '0') and redis.call('zscore', permits, ARGV[i])
    result[#result + 1] = current and 1 or 0
    if current and (renewal == '0' or tonumber(current) < tonumber(expiry)) then
      local nearest = redis.call('zrange', permits, 0, 0, 'WITHSCORES')[2]
      redis.call('zadd', permits, expiry, ARGV[i])
      if nearest - expiry > ${NOTICE_MS} then tellAll(publish, channel, 1) end
    end
  end
  at = last + 1
end
return result
`,
    decode: decodeFlags,
  }),

  /**
   * The remaining lease of a permit.
   *
   * KEYS: name, permits, channel. ARGV: id (16 raw bytes), publish.
   * Output: ms; -1: it has no lease; nil = there is no such permit (any more).
   */
  getLease: defineScript({
    name: 'permitExpirableSemaphore.getLeaseTime',
    query: true,
    keys: ['name', 'permits', 'channel'],
    args: ['id', 'publish'],
    lua: lua`${SERVER_TIME}${PURGE}
local _, failure = purge(name, permits, channel, publish, now)
if failure then return failure end
local expiry = redis.call('zscore', permits, id)
if not expiry then return nil end
if expiry == '${PERMIT_WITHOUT_LEASE}' then return -1 end
return expiry - now
`,
    decode: decodeNumber,
  }),

  /**
   * Deletes the semaphore with its permits; no waiter is notified, as in Redisson.
   *
   * KEYS: name, permits. ARGV: none. Output: 1 = there was one, 0 = there was none.
   */
  delete: defineScript({
    name: 'permitExpirableSemaphore.delete',
    keys: ['name', 'permits'],
    ...TAKES,
    lua: lua`
local available, taken = redis.call('get', name), redis.call('zcard', permits)
if not available and taken == 0 then return 0 end
redis.call('del', name, permits)
return 1
`,
    decode: decodeFlag,
  }),
} as const satisfies SynchronizerKind<PermitKeys> & Record<string, unknown>;
