import { LEAVE_HOLDS, SHORTEN_LEASE, TELL, TELL_RELEASED } from '../scripts/shortenLease';
import { defineScript, RELEASES, lua, RENEWS, type Script, TAKES } from '../scripts/Script';
import {
  ACQUIRED,
  type AcquireReply,
  decodeFlag,
  decodeFlags,
  decodeRelease,
  REFUSED,
  RELEASED_HANDED,
} from '../scripts/replies';
import { prefixName, remembered } from '../util/names';
import type { Kind, LockDescriptor } from './Kind';
import { lockWakeRule } from '../waiters/wakeRules';

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
 * The owner of a lock on the wire: `<clientId>:<threadId>`.
 *
 * @param clientId - lower-case UUID of the client
 * @param threadId - the logical thread
 * Source: `RedissonBaseLock.getLockName`.
 */
export function ownerName(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`;
}

const REENTRY: AcquireReply = Object.freeze({ ...REFUSED, reentry: true });

/** Reads nil / `{holds}` (0 holds = a re-entry that was refused) / pttl. */
export function decodeAcquire(reply: unknown): AcquireReply {
  if (reply === null) return ACQUIRED;
  if (Array.isArray(reply)) return reply[0] === 0 ? REENTRY : { acquired: true, holds: Number(reply[0]) };
  return { acquired: false, ttl: Number(reply) };
}

/** The rules of a script that acquires: at least one replica must have an acquisition, or a failover loses it. */
export const ACQUIRES = {
  resend: 'connection',
  synced: ({ acquired }: AcquireReply): boolean => acquired,
  decode: decodeAcquire,
} as const;

/**
 * One attempt to acquire the lock, or to acquire it once more.
 *
 * KEYS: name. ARGV: lease (ms), owner, count (the holds that the owner is to have afterwards: known holds + 1). Output:
 * nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost); integer = held by
 * another owner, its PTTL in ms (-1: no expiry).
 */
export const acquireLock = defineScript({
  name: 'lock.acquire',
  args: ['lease', 'owner', 'count'],
  ...ACQUIRES,
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
  ...RELEASES,
  lua: lua`
${TELL_RELEASED}${SHORTEN_LEASE}${LEAVE_HOLDS}
local held = tonumber(redis.call('hget', name, owner))
if not held then return nil end
if left ~= '0' then
  if leaveHolds(name, owner, held, left, remaining) then tell(publish, channel, message) end
  return 0
end
redis.call('del', name)
return tellReleased(publish, channel, message)
`,
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
  args: ['owner', 'heir', 'lease'],
  resend: 'always',
  synced: ({ kind }) => kind === 'handed',
  lua: lua`
if redis.call('hexists', name, owner) == 0 then
  if redis.call('hexists', name, heir) == 0 then return nil end
  -- a repeat writes, too: replicas confirm no earlier writes than those of this connection
  if redis.call('pttl', name) < tonumber(lease) then redis.call('pexpire', name, lease) end
  return ${RELEASED_HANDED}
end
-- the lease comes first: see touch in shortenLease.ts
redis.call('pexpire', name, lease)
-- the heir goes in first: Redis deletes an empty hash, and sends an event for it
redis.call('hset', name, heir, 1)
redis.call('hdel', name, owner)
return ${RELEASED_HANDED}
`,
  decode: decodeRelease,
});

/**
 * The script that deletes a lock, whoever holds it (Redisson: forceUnlock).
 *
 * KEYS: name. Channels: channel. ARGV: message, publish. Output: 1 = there was a lock, 0 = there was none.
 *
 * @param name - of the script
 * @param isLocked - Lua: whether there is a lock; an error for a key of another type, which is not deleted then
 */
export function defineForceReleaseScript(
  name: string,
  isLocked: string,
): Script<'name' | 'channel', 'message' | 'publish', boolean> {
  return defineScript({
    name,
    keys: ['name', 'channel'],
    args: ['message', 'publish'],
    ...TAKES,
    lua: lua`
${TELL}
if not (${isLocked}) then return 0 end
redis.call('del', name)
tell(publish, channel, message)
return 1
`,
    decode: decodeFlag,
  });
}

/** Deletes the lock. */
export const forceReleaseLock = defineForceReleaseScript('lock.forceRelease', "redis.call('hlen', name) > 0");

/**
 * The script that checks many objects of one slot for holds that no caller owns.
 *
 * KEYS: the key of each. ARGV: whose hold, for each. Output: per key 1 = held, 0 = not.
 *
 * @param name - of the script
 * @param isHeld - Lua: whether the `i`th is held. By pcall: a key of another type must not fail the whole batch
 */
export function defineFindScript(name: string, isHeld: string): Script<never, never, boolean[]> {
  return defineScript({
    name,
    query: true,
    keys: [],
    lua: lua`
local result = {}
for i = 1, #KEYS do result[i] = ${isHeld} and 1 or 0 end
return result
`,
    decode: decodeFlags,
  });
}

/** Every kind of lock but group locks has its owners as fields of one hash. */
export const findHolds = defineFindScript('lock.find', "redis.pcall('hexists', KEYS[i], ARGV[moreArgs + i]) == 1");

/**
 * Renews many locks of one slot (the watchdog). A lock with a longer lease keeps it.
 *
 * KEYS: the names. ARGV: lease (ms; 0 = only checks), then the owner of each name. Output: per name 1 = renewed, 0 =
 * not held any more.
 */
export const renewLocks = defineScript({
  name: 'lock.renew',
  ...RENEWS,
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
  query: true,
  lua: lua`
redis.call('hlen', name)
return redis.call('pttl', name)
`,
  decode: Number,
});

/** What most kinds of lock have in common. */
export const USUAL = {
  wakeRule: lockWakeRule,
  find: findHolds,
  renew: renewLocks,
  timeToLive: lockTimeToLive,
} as const;

/** The channel of plain, fenced and non-reentrant locks: `redisson_lock__channel:{name}`. */
export const lockChannel = remembered((rawName) => prefixName('redisson_lock__channel', rawName));

/** The message of an unlock. */
export const UNLOCK_MESSAGE = '0';

/** The reentrant lock (Redisson: RedissonLock). Its data is described above. */
export const LOCK = {
  ...USUAL,
  name: 'lock',
  noun: 'lock',
  report: 'lock',
  data: 'owners',
  keysOf: (rawName: string) => ({ name: rawName, channel: lockChannel(rawName) }),
  channelOf: lockChannel,
  waitOrder: 'fifo',
  acquire: acquireLock,
  release: releaseLock,
  handOver: handOverLock,
  move: handOverLock,
  forceRelease: forceReleaseLock,
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getLock(name),
} as const satisfies LockDescriptor;

/** Several locks as one: in Redis there are only its members. */
const COMPOSITION = { report: 'lock', data: 'owners', keysOf: () => ({}), commands: [] } as const;
export const MULTI = { name: 'multi', noun: 'multi-lock', ...COMPOSITION } as const satisfies Kind;
/** As {@link MULTI}, where the majority counts. */
export const RED = { name: 'red', noun: 'red lock', ...COMPOSITION } as const satisfies Kind;
