import { decodeAcquire, decodeFlag, decodeRelease } from '../scripts/replies';
import { defineScript, lua } from '../scripts/Script';
import { LEAVE_HOLDS, SHORTEN_RW_LEASE, TELL, TELL_RELEASED } from '../scripts/shortenLease';
import { writeOwnerName } from '../util/names';
import { lockDescriptor } from './Kind';
import { handOverLock } from './reentrantScripts';
import { defineForceReleaseScript, LONGEST_READ, READ_WRITE } from './readWrite';

/*
 * The write half of the read/write lock (Redisson: RedissonWriteLock). The data is described in `read.ts`; the field of
 * its owner is `<owner>:write`. Renewal is that of `reentrantScripts.ts`, with that owner.
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
  keys: ['name'],
  args: ['lease', 'owner', 'count'],
  resend: 'connection',
  synced: ({ acquired }) => acquired,
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
  decode: decodeAcquire,
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
  args: ['message', 'owner', 'left', 'remaining', 'publish'],
  resend: 'always',
  synced: true,
  lua: lua`
${LONGEST_READ}${TELL}${TELL_RELEASED}${SHORTEN_RW_LEASE}${LEAVE_HOLDS}
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
  decode: decodeRelease,
});

/** Deletes the writer's read holds as well (Redisson: RedissonWriteLock.forceUnlock). */
export const forceReleaseWriteLock = defineForceReleaseScript('writeLock.forceRelease', 'write');

/**
 * Whether an owner holds it for writing.
 *
 * KEYS: name. ARGV: none. Output: 1 = yes, 0 = no.
 */
export const isWriteLocked = defineScript({
  name: 'writeLock.isLocked',
  keys: ['name'],
  args: [],
  resend: 'always',
  lua: lua`
if redis.call('hget', name, 'mode') == 'write' then return 1 end
return 0
`,
  decode: decodeFlag,
});

/** The write half of the read/write lock. No hand-over from writer to writer: readers would never get the lock. */
export const WRITE = lockDescriptor({
  ...READ_WRITE,
  name: 'write',
  noun: 'write lock',
  ownerOf: writeOwnerName,
  waitOrder: 'fifo',
  // All waiters may try, including readers.
  message: '1',
  acquire: acquireWriteLock,
  release: releaseWriteLock,
  move: handOverLock,
  forceRelease: forceReleaseWriteLock,
  isLocked: isWriteLocked,
  lockOf: (client, name) => client.getReadWriteLock(name).writeLock(),
});
