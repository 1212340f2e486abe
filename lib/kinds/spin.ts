import { decodeFlag, decodeRelease } from '../scripts/replies';
import { defineScript, lua, TAKES } from '../scripts/Script';
import { LEAVE_HOLDS, SHORTEN_LEASE } from '../scripts/shortenLease';
import { acquireLock, handOverLock, USUAL } from './reentrant';
import type { LockDescriptor } from './Kind';

/*
 * The spin lock (Redisson: RedissonSpinLock): the lock of `reentrant.ts` without its channel. Acquisition and
 * renewal are the same scripts; a release notifies no one, and waiters retry after pauses.
 *
 * | Redis data | type | holds                                   |
 * |------------|------|-----------------------------------------|
 * | `name`     | hash | owner -> hold count, expires with lease |
 */

/**
 * Releases holds.
 *
 * KEYS: name. ARGV: owner, left (holds to leave), remaining (ms of lease those have; 0 leaves the expiry unchanged).
 * Output: nil = the owner holds nothing; 0 = it holds `left`; 1 = free.
 */
export const releaseSpinLock = defineScript({
  name: 'spinLock.release',
  args: ['owner', 'left', 'remaining'],
  resend: 'always',
  synced: true,
  lua: lua`
${SHORTEN_LEASE}${LEAVE_HOLDS}
local held = tonumber(redis.call('hget', name, owner))
if not held then return nil end
if left ~= '0' then
  leaveHolds(name, owner, held, left, remaining)
  return 0
end
redis.call('del', name)
return 1
`,
  decode: decodeRelease,
});

/**
 * Deletes the lock, whoever holds it. HLEN comes first, so that a key of another type causes an error and is not
 * deleted.
 *
 * KEYS: name. ARGV: none. Output: 1 = there was a lock, 0 = there was none.
 */
export const forceReleaseSpinLock = defineScript({
  name: 'spinLock.forceRelease',
  ...TAKES,
  lua: lua`
if redis.call('hlen', name) == 0 then return 0 end
return redis.call('del', name)
`,
  decode: decodeFlag,
});

/**
 * The spin lock (Redisson: RedissonSpinLock): it publishes nothing, so a waiter for a plain lock of the same name
 * learns of its release only by the ttl. There is no queue in this process, so there is no hand-over.
 */
export const SPIN = {
  ...USUAL,
  name: 'spin',
  noun: 'spin lock',
  report: 'lock',
  rights: 'spin',
  data: 'owners',
  keysOf: (rawName: string) => ({ name: rawName }),
  waitOrder: 'shared',
  acquire: acquireLock,
  release: releaseSpinLock,
  move: handOverLock,
  forceRelease: forceReleaseSpinLock,
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getSpinLock(name),
} as const satisfies LockDescriptor;
