import { defineScript, lua } from '../scripts/Script';
import { FAIR } from './fair';
import { decodeFairAcquire, ENTER, FAIR_ACQUIRE, FAIR_TRY, oneShotAcquire, queueingAcquire } from './fairQueue';
import { ACQUIRES, LOCK } from './reentrant';
import type { LockDescriptor } from './Kind';

/*
 * The non-reentrant locks (Redisson: RedissonNonReentrantLock, RedissonNonReentrantFairLock). Data, release, forced
 * release and renewal are those of `reentrant.ts` and `fair.ts`; only the acquisition differs:
 *
 * | the owner's field is there because of                                         | `count` | answer   |
 * |-------------------------------------------------------------------------------|---------|----------|
 * | a hold this client knows of                                                   | > 1     | re-entry |
 * | an earlier send of this acquisition                                           | 1       | acquired |
 * | a leftover: of a hold that the client reported lost, gave up, or never saw   | 1       | acquired |
 *
 * A re-entry changes nothing. The reply is then `{0}`; Redisson's script fails instead.
 */

/** `reenter` as in `fairQueue.ts`, but without a second hold: see the table above. */
const REFUSE_REENTRY = lua`
local function reenter(name, owner, held, ttl, lease, count)
  if count ~= '1' then return {0} end
  if ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
  return nil
end
`;

/**
 * One attempt to acquire the lock.
 *
 * KEYS: name. ARGV: lease (ms), owner, count (known holds + 1).
 * Output: nil = acquired; `{1}` = acquired, but the hold that the client knew of was lost; `{0}` = this owner holds it
 * already; integer = held by another owner, its PTTL in ms (-1: no expiry).
 */
export const acquireNonReentrantLock = defineScript({
  name: 'nonReentrantLock.acquire',
  args: ['lease', 'owner', 'count'],
  ...ACQUIRES,
  lua: lua`${ENTER}${REFUSE_REENTRY}
local held = redis.call('hget', name, owner)
local ttl = redis.call('pttl', name)
if held then return reenter(name, owner, held, ttl, lease, count) end
if ttl ~= -2 then return ttl end
return enter(name, owner, lease, count)
`,
});

/**
 * One attempt that queues, as `acquireFairLock`.
 *
 * KEYS, channels and ARGV: as there.
 * Output: nil, `{1}` and `{0}` as in {@link acquireNonReentrantLock}; another integer = queued, as there.
 */
export const acquireNonReentrantFairLock = defineScript({
  name: 'nonReentrantFairLock.acquire',
  ...FAIR_ACQUIRE,
  lua: queueingAcquire(REFUSE_REENTRY),
  decode: decodeFairAcquire,
});

/**
 * One attempt that never queues, as `tryAcquireFairLock`.
 *
 * KEYS and ARGV: as {@link acquireNonReentrantFairLock}.
 * Output: nil, `{1}` and `{0}` as there; integer = not acquired: the lock's PTTL in ms (-1: no expiry), or how long
 * (ms) the free lock is kept for the head of the queue.
 */
export const tryAcquireNonReentrantFairLock = defineScript({
  name: 'nonReentrantFairLock.tryAcquire',
  ...FAIR_TRY,
  lua: oneShotAcquire(REFUSE_REENTRY),
});

/** The non-reentrant lock (Redisson: RedissonNonReentrantLock). */
export const NON_REENTRANT = {
  ...LOCK,
  name: 'nonReentrant',
  noun: 'non-reentrant lock',
  rights: 'nonReentrant',
  reentrant: false,
  acquire: acquireNonReentrantLock,
  lockOf: (client, name) => client.getNonReentrantLock(name),
} as const satisfies LockDescriptor;

/** The non-reentrant fair lock (Redisson: RedissonNonReentrantFairLock). */
export const NON_REENTRANT_FAIR = {
  ...FAIR,
  name: 'nonReentrantFair',
  noun: 'non-reentrant fair lock',
  reentrant: false,
  acquire: acquireNonReentrantFairLock,
  tryAcquire: tryAcquireNonReentrantFairLock,
  lockOf: (client, name) => client.getNonReentrantFairLock(name),
} as const satisfies LockDescriptor;
