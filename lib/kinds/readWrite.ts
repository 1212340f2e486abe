import { lua, defineScript, RELEASES, RENEWS } from '../scripts/Script';
import { prefixName, remembered, suffixName, WRITER } from '../util/names';
import { decodeFlag, decodeFlags } from '../scripts/replies';
import { LEAVE_HOLDS, SHORTEN_RW_LEASE, TELL_RELEASED, TOUCH } from '../scripts/shortenLease';
import { ACQUIRES, defineForceReleaseScript, handOverLock, ownerName, USUAL } from './reentrant';
import type { LockDescriptor } from './Kind';

/*
 * The read half of the read/write lock (Redisson: RedissonReadLock); the write half follows it.
 *
 * | Redis data                          | type    | holds                                                          |
 * |-------------------------------------|---------|----------------------------------------------------------------|
 * | `name`                              | hash    | `mode` -> `read` or `write`; owner -> read holds;              |
 * |                                     |         | owner`:write` -> write holds                                   |
 * | `{name}:<owner>:rwlock_timeout:<i>` | string  | `1`: the owner's i-th read hold, expires with its own lease    |
 * | `redisson_rwlock:{name}`            | channel | `0` = the last read hold was released, `1` = a write lock was; |
 * |                                     |         | either: its lease became much shorter                          |
 *
 * The hash lives as long as the longest hold. It does not show which reader's lease that is, so each hold has its own
 * key. A release reads the remaining leases of the others from these keys, and deletes a lock if only dead readers are
 * left. The locks `x` and `{x}` share the keys of an owner that reads both: see {@link HELD_ASIDE}.
 */

/** The channel of both halves: `redisson_rwlock:{name}`. */
const readWriteChannel = remembered((rawName) => prefixName('redisson_rwlock', rawName));

/** The prefix of the keys of an owner's read holds: `{name}:<owner>:rwlock_timeout`. */
function timeoutPrefix(rawName: string, owner: string): string {
  return `${suffixName(rawName, owner)}:rwlock_timeout`;
}

/** The prefix of the keys of all read holds: `{name}`, or the name itself if it contains `{`. */
export function readKeyPrefix(rawName: string): string {
  return rawName.includes('{') ? rawName : `{${rawName}}`;
}

/** What the descriptors of both halves have in common. */
export const READ_WRITE = {
  ...USUAL,
  report: 'readWrite',
  data: 'mode',
  keysOf: (rawName: string, owner: string) => ({
    name: rawName,
    channel: readWriteChannel(rawName),
    timeoutPrefix: timeoutPrefix(rawName, owner),
    keyPrefix: readKeyPrefix(rawName),
  }),
  channelOf: readWriteChannel,
  commands: ['hget'],
} as const;

/* Lua functions that both halves of the read/write lock use: which read holds there are, and how long they live. */

/**
 * `longestRead(name, keyPrefix)`: the longest time to live (ms) of all read holds of all owners; 0 or less: there is
 * none. A writer's field is skipped: it has no such keys, and its count may be high.
 */
export const LONGEST_READ = lua`
local function longestRead(name, keyPrefix)
  local longest = 0
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do
    local isWriter = string.sub(fields[i], -6) == ':write'
    for hold = 1, not isWriter and tonumber(fields[i + 1]) or 0 do
      local ttl = redis.call('pttl', keyPrefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
      if ttl > longest then longest = ttl end
    end
  end
  return longest
end
`;

/**
 * `heldAside(name, owner)`: how many read holds the owner has on the other lock that uses the same hold keys. Redisson
 * builds these keys from `{name}`, so the locks `x` and `{x}` share them. A key that is still a hold of the other lock
 * must not be deleted or shortened. If the user may not read that name, this client cannot have acquired a hold on it.
 */
export const HELD_ASIDE = lua`
local function heldAside(name, owner)
  local other = string.match(name, '^{([^{]*)}$')
  if not other and not string.find(name, '{', 1, true) then other = '{' .. name .. '}' end
  -- pcall: the name may hold another type, be forbidden, or (with odd braces) be of another slot
  if not other or type(redis.pcall('hget', other, 'mode')) ~= 'string' then return 0 end
  return tonumber(redis.call('hget', other, owner)) or 0
end
`;

/**
 * One attempt to acquire a read hold, or one more. A writer may read under its own write lock.
 *
 * KEYS: name, timeoutPrefix (`{name}:<owner>:rwlock_timeout`). ARGV: lease (ms), owner, writer (the owner's name as a
 * writer, if its client knows that it has the write lock, else empty: what Redis has of it may be on its way to another
 * owner), count (the read holds that the owner is to have afterwards: known holds + 1).
 * Output: nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost); integer =
 * held by a writer, its PTTL in ms (-1: no expiry).
 */
export const acquireReadLock = defineScript({
  name: 'readLock.acquire',
  keys: ['name', 'timeoutPrefix'],
  args: ['lease', 'owner', 'writer', 'count'],
  ...ACQUIRES,
  lua: lua`
${HELD_ASIDE}
local mode = redis.call('hget', name, 'mode')
local ttl = redis.call('pttl', name)
-- a hash without a mode is a lock of another kind, which keeps readers out as a writer does
if not mode and ttl ~= -2 then return ttl end
if mode == 'write' and redis.call('hexists', name, writer) == 0 then return ttl end
local held = tonumber(redis.call('hget', name, owner)) or 0
local wanted = tonumber(count)
local repeated = held >= wanted
if not repeated then held = held + 1 end
local hold = timeoutPrefix .. ':' .. held
-- SET would replace a key of any type, GET does not
local alive = redis.call('get', hold)
local kept = alive and (repeated or heldAside(name, owner) >= held)
if not mode then redis.call('hset', name, 'mode', 'read') end
if not repeated then redis.call('hset', name, owner, held) end
if not kept or redis.call('pttl', hold) < tonumber(lease) then
  redis.call('set', hold, '1', 'px', lease)
end
if ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
if held == wanted then return nil end
return {held}
`,
});

/**
 * Releases read holds, the last one first. The hash then lives as long as the longest hold that is left. Waiting
 * writers are notified if that is much shorter than before. Under the owner's write lock the lease is never shortened.
 *
 * KEYS: name, channel, timeoutPrefix (as in {@link acquireReadLock}), keyPrefix (`{name}`). ARGV: message, owner, left
 * (holds to leave), remaining (ms of lease those have, whichever hold was released; 0 leaves the keys of those holds
 * unchanged), publish.
 * Output: nil = the owner holds nothing (if the whole lock is gone, a message is published all the same, as by
 * Redisson); 0 = it holds `left`, and the lock is still held by it or by others; 1 + n = free, n subscribers were
 * notified; -2 = free, but the user may not publish.
 */
export const releaseReadLock = defineScript({
  name: 'readLock.release',
  keys: ['name', 'channel', 'timeoutPrefix', 'keyPrefix'],
  ...RELEASES,
  lua: lua`
${LONGEST_READ}${HELD_ASIDE}${TELL_RELEASED}${SHORTEN_RW_LEASE}${TOUCH}
local mode = redis.call('hget', name, 'mode')
if not mode then
  if redis.call('exists', name) == 0 then tell(publish, channel, message) end
  return nil
end
local held = tonumber(redis.call('hget', name, owner))
if not held then return nil end
local keep = tonumber(left)
if held <= keep and remaining == '0' then return 0 end
local aside = heldAside(name, owner)
if keep > 0 then touch(name) end
for hold = math.max(keep, aside) + 1, held do redis.call('del', timeoutPrefix .. ':' .. hold) end
if keep == 0 then redis.call('hdel', name, owner)
elseif held > keep then redis.call('hset', name, owner, keep) end
local rest = tonumber(remaining)
for hold = 1, rest > 0 and math.min(keep, held) or 0 do
  local key = timeoutPrefix .. ':' .. hold
  local ttl = redis.call('pttl', key)
  if ttl < rest and hold == math.min(keep, held) or ttl > rest and hold > aside then
    redis.call('set', key, '1', 'px', rest)
  end
end
if redis.call('hlen', name) > 1 then
  local longest = longestRead(name, keyPrefix)
  if mode == 'write' then
    if longest > redis.call('pttl', name) then redis.call('pexpire', name, longest) end
    return 0
  end
  if longest > 0 then
    if shortenLease(name, longest) then tell(publish, channel, message) end
    return 0
  end
end
redis.call('del', name)
return tellReleased(publish, channel, message)
`,
});

/** The keys of the holds are left to expire (Redisson: RedissonReadLock.forceUnlock). */
export const forceReleaseReadLock = defineForceReleaseScript(
  'readLock.forceRelease',
  "redis.call('hget', name, 'mode') == 'read'",
);

/**
 * Whether any owner holds it for reading, including the writer itself.
 *
 * KEYS: name. ARGV: none. Output: 1 = yes, 0 = no.
 */
export const isReadLocked = defineScript({
  name: 'readLock.isLocked',
  query: true,
  lua: lua`
local mode = redis.call('hget', name, 'mode')
if mode == 'read' then return 1 end
-- under a write lock: the mode and the writer are two fields
if mode == 'write' and redis.call('hlen', name) > 2 then return 1 end
return 0
`,
  decode: decodeFlag,
});

/**
 * Renews the read holds of this client on many locks of one slot (the watchdog). Only the named owners get more time,
 * so that the holds of dead readers expire. A longer lease stays. If the key of a hold has expired but the owner's
 * field is still there, the key is set again: no writer can have held the lock in between, and without the key the next
 * reader that releases would delete the lock of this owner.
 *
 * KEYS: for each owner name and keyPrefix (`{name}`). ARGV: lease (ms; 0 = only checks), then the owners.
 * Output: per owner 1 = renewed, 0 = not held any more.
 */
export const renewReadLocks = defineScript({
  name: 'readLock.renew',
  ...RENEWS,
  lua: lua`${TOUCH}
local period = tonumber(lease)
local result = {}
for k = 1, #KEYS, 2 do
  local name, owner = KEYS[k], ARGV[moreArgs + #result + 1]
  -- pcall: a name that now holds another type is a lost lock, but must not fail the whole batch
  local count = redis.pcall('hget', name, owner)
  local alive = type(count) == 'string'
  result[#result + 1] = alive and 1 or 0
  for hold = 1, alive and period > 0 and tonumber(count) or 0 do
    local key = KEYS[k + 1] .. ':' .. owner .. ':rwlock_timeout:' .. hold
    local ttl = redis.call('pttl', key)
    if ttl == -2 then
      touch(name)
      redis.call('set', key, '1', 'px', lease)
    elseif ttl < period then redis.call('pexpire', key, lease) end
  end
  if alive and period > 0 and redis.call('pttl', name) < period then redis.call('pexpire', name, lease) end
end
return result
`,
  decode: decodeFlags,
});

/**
 * The read half of the read/write lock. Each waiter attempts for itself, since any number of readers may hold the lock.
 * There is no hand-over: only writers wait until the last reader releases the lock.
 */
export const READ = {
  ...READ_WRITE,
  name: 'read',
  noun: 'read lock',
  half: 'read',
  waitOrder: 'shared',
  renewal: 'read',
  acquire: acquireReadLock,
  // The writer above a thread that reads already can only be that thread.
  attemptArgs: ({ count, writer, ownership: { owner } }) => ({
    writer: count > 1 || writer !== undefined ? owner + WRITER : '',
  }),
  release: releaseReadLock,
  forceRelease: forceReleaseReadLock,
  isLocked: isReadLocked,
  renew: renewReadLocks,
  lockOf: (client, name) => client.getReadWriteLock(name).readLock(),
} as const satisfies LockDescriptor;

/*
 * The write half of the read/write lock (Redisson: RedissonWriteLock). Its data is described above; the field of
 * its owner is `<owner>:write`. Renewal is that of `reentrant.ts`, with that owner.
 */

/**
 * One attempt to acquire the write lock, or to acquire it once more. Readers keep a writer out, and so do the owner's
 * own read holds: there is no upgrade. A re-entry adds its lease to the remaining ttl, as in Redisson.
 *
 * KEYS: name. ARGV: lease (ms), owner (as a writer), count (the holds that the owner is to have afterwards: known holds
 * + 1).
 * Output: nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost); integer =
 * held by others, its PTTL in ms (-1: no expiry).
 */
export const acquireWriteLock = defineScript({
  name: 'writeLock.acquire',
  args: ['lease', 'owner', 'count'],
  ...ACQUIRES,
  lua: lua`
local held = tonumber(redis.call('hget', name, owner))
local ttl = redis.call('pttl', name)
if not held and ttl ~= -2 then return ttl end
local wanted = tonumber(count)
if not held then
  held = 1
  redis.call('hset', name, 'mode', 'write', owner, 1)
  redis.call('pexpire', name, lease)
elseif held < wanted then
  held = redis.call('hincrby', name, owner, 1)
  redis.call('pexpire', name, math.max(ttl, 0) + lease)
elseif ttl < tonumber(lease) then
  -- a repeat: the lease was added by the first run
  redis.call('pexpire', name, lease)
end
if held == wanted then return nil end
return {held}
`,
});

/**
 * Releases write holds. Waiters are notified if the holds that are left have a much shorter lease. With the last one
 * the lock becomes free; or, if the owner also reads, it becomes a read lock that lives as long as those read holds
 * (the downgrade). Waiters are notified in both cases, since waiting readers can acquire it after a downgrade, too
 * (Redisson does not wake them).
 *
 * KEYS: name, channel, keyPrefix (`{name}`). ARGV: message, owner (as a writer), left (holds to leave), remaining (ms
 * of lease those have; 0 leaves the expiry unchanged), publish.
 * Output: nil = the owner holds nothing (if the whole lock is gone, a message is published all the same, as by
 * Redisson); 0 = it holds `left`; 1 + n = no writer any more, n subscribers were notified; -2 = the same, but the user
 * may not publish.
 */
export const releaseWriteLock = defineScript({
  name: 'writeLock.release',
  keys: ['name', 'channel', 'keyPrefix'],
  ...RELEASES,
  lua: lua`
${LONGEST_READ}${TELL_RELEASED}${SHORTEN_RW_LEASE}${LEAVE_HOLDS}
local held = tonumber(redis.call('hget', name, owner))
if not held then
  if redis.call('exists', name) == 0 then tell(publish, channel, message) end
  return nil
end
local longest = longestRead(name, keyPrefix)
if left ~= '0' then
  local rest = remaining == '0' and 0 or math.max(tonumber(remaining), longest)
  if leaveHolds(name, owner, held, left, rest) then tell(publish, channel, message) end
  return 0
end
if longest > 0 then
  redis.call('pexpire', name, longest)
  redis.call('hset', name, 'mode', 'read')
  redis.call('hdel', name, owner)
else
  redis.call('del', name)
end
return tellReleased(publish, channel, message)
`,
});

/** Deletes the writer's read holds as well (Redisson: RedissonWriteLock.forceUnlock). */
export const forceReleaseWriteLock = defineForceReleaseScript(
  'writeLock.forceRelease',
  "redis.call('hget', name, 'mode') == 'write'",
);

/**
 * Whether an owner holds it for writing.
 *
 * KEYS: name. ARGV: none. Output: 1 = yes, 0 = no.
 */
export const isWriteLocked = defineScript({
  name: 'writeLock.isLocked',
  query: true,
  lua: lua`
if redis.call('hget', name, 'mode') == 'write' then return 1 end
return 0
`,
  decode: decodeFlag,
});

/**
 * The owner of a write lock on the wire: `<clientId>:<threadId>:write`.
 *
 * @param clientId - lower-case UUID of the client
 * @param threadId - the logical thread
 * Source: `RedissonWriteLock.getLockName`.
 */
export function writeOwnerName(clientId: string, threadId: number): string {
  return `${ownerName(clientId, threadId)}${WRITER}`;
}

/**
 * The write half of the read/write lock. It is handed over while no reader of this process sleeps, by a thread that
 * does not read as well: only the writer's field moves.
 */
export const WRITE = {
  ...READ_WRITE,
  name: 'write',
  noun: 'write lock',
  half: 'write',
  ownerOf: writeOwnerName,
  waitOrder: 'fifo',
  // All waiters may try, including readers.
  message: '1',
  acquire: acquireWriteLock,
  release: releaseWriteLock,
  handOver: handOverLock,
  move: handOverLock,
  forceRelease: forceReleaseWriteLock,
  isLocked: isWriteLocked,
  lockOf: (client, name) => client.getReadWriteLock(name).writeLock(),
} as const satisfies LockDescriptor;
