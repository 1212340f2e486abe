import { decodeAcquire, decodeFlag, decodeFlags, decodeRelease } from '../scripts/replies';
import { defineScript, lua } from '../scripts/Script';
import { SHORTEN_RW_LEASE, TELL, TELL_RELEASED } from '../scripts/shortenLease';
import { lockDescriptor } from './Kind';
import { defineForceReleaseScript, HELD_ASIDE, LONGEST_READ, READ_WRITE } from './readWrite';

/*
 * The read half of the read/write lock (Redisson: RedissonReadLock); the write half is `write.ts`.
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

/**
 * One attempt to acquire a read hold, or one more. A writer may read under its own write lock.
 *
 * KEYS: name, timeoutPrefix (`{name}:<owner>:rwlock_timeout`). ARGV: lease (ms), owner, writer (the owner's name as a
 * writer), count (the read holds that the owner is to have afterwards: known holds + 1).
 * Output: nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost); integer =
 * held by a writer, its PTTL in ms (-1: no expiry).
 */
export const acquireReadLock = defineScript({
  name: 'readLock.acquire',
  keys: ['name', 'timeoutPrefix'],
  args: ['lease', 'owner', 'writer', 'count'],
  resend: 'connection',
  synced: ({ acquired }) => acquired,
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
  decode: decodeAcquire,
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
  args: ['message', 'owner', 'left', 'remaining', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${LONGEST_READ}${HELD_ASIDE}${TELL}${TELL_RELEASED}${SHORTEN_RW_LEASE}
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
-- deletions come first: a server without memory refuses HSET, but not behind a write that it has allowed
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
  decode: decodeRelease,
});

/** The keys of the holds are left to expire (Redisson: RedissonReadLock.forceUnlock). */
export const forceReleaseReadLock = defineForceReleaseScript('readLock.forceRelease', 'read');

/**
 * Whether any owner holds it for reading, including the writer itself.
 *
 * KEYS: name. ARGV: none. Output: 1 = yes, 0 = no.
 */
export const isReadLocked = defineScript({
  name: 'readLock.isLocked',
  keys: ['name'],
  args: [],
  resend: 'always',
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
 * KEYS: name1, keyPrefix1, name2, keyPrefix2, ... (keyPrefix: `{name}`). ARGV: lease (ms; 0 = only looks), then for
 * each name: the number of its owners, and the owners.
 * Output: per owner, in that order, 1 = renewed, 0 = not held any more.
 */
export const renewReadLocks = defineScript({
  name: 'readLock.renew',
  keys: [],
  args: ['lease'],
  resend: 'never',
  synced: true,
  lua: lua`
local period = tonumber(lease)
local result = {}
local at = moreArgs + 1
for k = 1, #KEYS, 2 do
  local name, keyPrefix, held = KEYS[k], KEYS[k + 1], false
  for o = at + 1, at + tonumber(ARGV[at]) do
    -- pcall: a name that now holds another type is a lost lock, but must not fail the whole batch
    local count = redis.pcall('hget', name, ARGV[o])
    local alive = type(count) == 'string'
    result[#result + 1] = alive and 1 or 0
    held = held or alive
    for hold = 1, alive and period > 0 and tonumber(count) or 0 do
      local key = keyPrefix .. ':' .. ARGV[o] .. ':rwlock_timeout:' .. hold
      local ttl = redis.call('pttl', key)
      if ttl == -2 then redis.call('set', key, '1', 'px', lease)
      elseif ttl < period then redis.call('pexpire', key, lease) end
    end
  end
  if held and period > 0 and redis.call('pttl', name) < period then redis.call('pexpire', name, lease) end
  at = at + 1 + tonumber(ARGV[at])
end
return result
`,
  decode: decodeFlags,
});

/**
 * The read half of the read/write lock. Each waiter attempts for itself, since any number of readers may hold the lock.
 * There is no hand-over: only writers wait until the last reader releases the lock.
 */
export const READ = lockDescriptor({
  ...READ_WRITE,
  name: 'read',
  noun: 'read lock',
  waitOrder: 'shared',
  renewal: 'read',
  acquire: acquireReadLock,
  release: releaseReadLock,
  forceRelease: forceReleaseReadLock,
  isLocked: isReadLocked,
  renew: renewReadLocks,
  lockOf: (client, name) => client.getReadWriteLock(name).readLock(),
});
