import { LEAVE_HOLDS, SHORTEN_LEASE } from '../scripts/shortenLease';
import {
  AHEAD_OF,
  CLAIM,
  decodeFairAcquire,
  FAIR_ACQUIRE,
  FAIR_TRY,
  FOREIGN,
  MAY_BE_JAVA,
  oneShotAcquire,
  PURGE,
  QUEUE,
  queueingAcquire,
  REENTER,
  SCORES_AND_CLAIMS,
  SHIFT,
  TELL_WAITER,
  WAITERS,
  WAKE,
} from './fairQueue';
import { decodeFlag, decodeRelease, type ReleaseReply } from '../scripts/replies';
import { defineScript, lua, TAKES } from '../scripts/Script';
import { prefixName } from '../util/names';
import { lockChannel, handOverLock, USUAL } from './reentrant';
import type { Settings } from '../config/Settings';
import type { AttemptRequest, LockDescriptor } from './Kind';

/*
 * The fair lock (Redisson: RedissonFairLock).
 *
 * | Redis data                              | type    | holds                                               |
 * |-----------------------------------------|---------|-----------------------------------------------------|
 * | `name`                                  | hash    | owner -> hold count, expires with the lease         |
 * | `redisson_lock_queue:{name}`            | list    | waiting owners, the head is next; gone when empty   |
 * | `redisson_lock_timeout:{name}`          | zset    | waiting owner -> when it counts as dead             |
 * |                                         |         | (epoch ms, by the server's clock; Java: by its own) |
 * | `redisson_lock_claim:{name}`            | hash    | waiting owner -> until when the free lock is kept   |
 * |                                         |         | for it: `score:end:probed`, see `fairQueue.ts`;     |
 * |                                         |         | not of Redisson, expires after 10 s                 |
 * | `redisson_lock__channel:{name}:<owner>` | channel | `0`: it is this waiter's turn, or may be soon       |
 *
 * It differs from Redisson in these points. None of them harms a Java client in the same queue.
 *
 * - A live waiter is never removed because it waits for long. When it attempts again, its score becomes what it would
 *   be if it queued now, and the scores behind it move as well. A Java waiter behind it counts as live for that much
 *   longer. Where waiters of Java may be ahead, it keeps 300 s more for each of them, which Java may subtract.
 * - A free lock is kept for its head for 3 s. All waiters that do not attempt share these 3 s (`fairQueue.ts`).
 *   Redisson's script returns 0 (retry at once) or -2 until the head's score passes, minutes later.
 * - A head that leaves the queue notifies the next one: it may have heard what the next one does not know.
 * - The head is also notified when the lease may end earlier than it knows, since the holder may die: when a hold with
 *   a longer lease is released, when a waiter gets the lock for less time than it has slept, and when another caller
 *   finds the lock free.
 * - The release of a lock that is gone notifies the head, too, but it is not a success.
 */

/**
 * One attempt that queues, for every call that waits.
 *
 * KEYS: name, queue, timeouts, claims. Channels: channelBase (the channels are `channelBase:<owner>`). ARGV: lease
 * (ms), owner, wait (ms by which this waiter may delay those behind it: its wait time, or fairLockWaitTimeout), count
 * (the holds that the owner is to have afterwards: known holds + 1), slept (the longest time in ms that this waiter
 * went to sleep for; 0: never), message, publish. Output: nil = acquired with `count` holds; `{n}` = acquired, but with
 * n holds (the earlier ones were lost); integer = queued, to be retried after so many ms at the latest; negative: the
 * same, and only the channels of waiters ahead may say that the lock is free (Java), see `aheadOf` in `fairQueue.ts`.
 */
export const acquireFairLock = defineScript({
  name: 'fairLock.acquire',
  ...FAIR_ACQUIRE,
  lua: queueingAcquire(REENTER),
  decode: decodeFairAcquire,
});

/**
 * One attempt that never queues: `tryLock()`, `tryAcquire()`. It overtakes no waiter.
 *
 * KEYS and ARGV: as {@link acquireFairLock}, without `wait`.
 * Output: nil and `{n}` as there; integer = not acquired: the lock's PTTL in ms (-1: no expiry), or how long (ms) the
 * free lock is kept for the head of the queue.
 */
export const tryAcquireFairLock = defineScript({
  name: 'fairLock.tryAcquire',
  ...FAIR_TRY,
  lua: oneShotAcquire(REENTER),
});

/** The keys and rules of the scripts that end the hold or the wait of an owner. */
const ENDS = { keys: FAIR_ACQUIRE.keys, resend: 'always', synced: true } as const;

/**
 * Releases holds and notifies the head of the queue.
 *
 * KEYS: as {@link acquireFairLock}. ARGV: message, owner, left (holds
 * to leave), remaining (ms of lease those have; 0 leaves the expiry unchanged), publish.
 * Output: nil = the owner holds nothing; 0 = it holds `left`; `{n, m}` = free, n subscribers were notified, m waiters
 * are queued.
 */
export const releaseFairLock = defineScript({
  name: 'fairLock.release',
  ...ENDS,
  args: ['message', 'owner', 'left', 'remaining', 'publish'],
  lua: lua`${WAKE}${PURGE}${SHORTEN_LEASE}${LEAVE_HOLDS}${QUEUE}
local held = tonumber(redis.call('hget', name, owner))
local free = not held and redis.call('exists', name) == 0
purge(q, open(q, not free))
if not held then
  if free then wake(q) end
  return nil
end
if left ~= '0' then
  if leaveHolds(name, owner, held, left, remaining) then wake(q) end
  return 0
end
redis.call('del', name)
return {wake(q), redis.call('llen', queue)}
`,
  decode: (reply): ReleaseReply =>
    Array.isArray(reply)
      ? { kind: 'released', receivers: Number(reply[0]), queued: Number(reply[1]) }
      : decodeRelease(reply),
});

/** Reply of {@link abandonFairLock}: it was the head of a free lock. */
export const LEFT_FREE_LOCK = 2;

/**
 * Leaves the queue (Redisson: acquireFailed): for a waiter whose time is up, which was aborted, or whose attempt got no
 * reply. Its wait is subtracted from the scores behind it; `wait` must be the one with which it queued. But the next
 * waiter may have counted from elsewhere, since the leaver was late: if too little is left of its own wait, it counts
 * anew from the waiter ahead, or from the end of the lease.
 *
 * KEYS: as {@link acquireFairLock}. ARGV: message, owner, wait (ms), publish.
 * Output: 0 = it was not queued, 1 = it was, 2 = it was the head of a free lock, and the next one was notified.
 */
export const abandonFairLock = defineScript({
  name: 'fairLock.abandon',
  ...ENDS,
  args: ['message', 'owner', 'wait', 'publish'],
  lua: lua`${WAKE}${SCORES_AND_CLAIMS}${MAY_BE_JAVA}${FOREIGN}${WAITERS}${SHIFT}${QUEUE}
local held = redis.call('hlen', name) > 0
local head = open(q, held)
local ahead = waiters(q, owner)
if redis.call('lindex', queue, #ahead) ~= owner then return 0 end
local own, before, behind = tonumber(scoreOf(q, owner)), ahead[#ahead], redis.call('lindex', queue, #ahead + 1)
-- it leaves before the others move up: a server without memory refuses ZADD, but not behind a write that it has allowed
redis.call('zrem', timeouts, owner)
if q.claimed then redis.call('hdel', claims, owner) end
local base = math.max(now + math.max(redis.call('pttl', name), 0), before and tonumber(scoreOf(q, before)) or 0)
recount(q, string.match(owner, '^[^:]*'), behind, own, base, -tonumber(wait))
redis.call('lrem', queue, 0, owner)
if q.claimed and redis.call('llen', queue) == 0 then redis.call('del', claims) end
if head ~= owner then return 1 end
-- the message of the unlock, or of a lease that ends earlier, may have gone to the one that leaves
wake(q)
return held and 1 or ${LEFT_FREE_LOCK}
`,
  decode: Number,
});

/**
 * Deletes the lock, whoever holds it, and notifies the head; the queue stays (Redisson: forceUnlock).
 *
 * KEYS: as {@link acquireFairLock}. ARGV: message, publish.
 * Output: 1 = there was a lock, 0 = there was none.
 */
export const forceReleaseFairLock = defineScript({
  name: 'fairLock.forceRelease',
  keys: FAIR_ACQUIRE.keys,
  ...TAKES,
  args: ['message', 'publish'],
  lua: lua`${WAKE}${PURGE}${QUEUE}
local held = redis.call('hlen', name)
purge(q, open(q, held > 0))
if held == 0 then return 0 end
redis.call('del', name)
wake(q)
return 1
`,
  decode: decodeFlag,
});

/**
 * The reply of {@link checkFairTurn}: the time until the next check, in ms (0: the lock is held, or no one waits), and
 * the waiters ahead of the first one of the client (see `aheadOf` in `fairQueue.ts`).
 */
export type FairTurn = readonly [againMs: number, ahead: readonly string[]];

/**
 * Checks whether the head of the queue has acquired the lock of which it was notified. If not, takes the next step of
 * the table in `fairQueue.ts`. For the client that released the lock, since every waiter may be asleep, and for a
 * client that waits, since Java notifies only the head. A head of that client is notified, too, where a Java client may
 * hold the lock: its lease may end before the one that the head has seen, and Java notifies no waiter of that.
 *
 * It is not sent again: `told` would be too long for a head that has come meanwhile. The watch makes another check.
 *
 * KEYS: as {@link acquireFairLock}. ARGV: message, told (ms since the head was notified),
 * client (the id of a client with waiters; empty: none), publish.
 * Output: `{again, owners}`, a {@link FairTurn}.
 */
export const checkFairTurn = defineScript({
  name: 'fairLock.checkTurn',
  keys: FAIR_ACQUIRE.keys,
  args: ['message', 'told', 'client', 'publish'],
  lua: lua`${TELL_WAITER}${PURGE}${FOREIGN}${WAITERS}${CLAIM}${AHEAD_OF}${QUEUE}
local held = redis.call('hlen', name) > 0
local head = open(q, held)
if not held then head = purge(q, head) end
local again = 0
if head and not held then again = math.max(math.ceil(claim(q, head, false, tonumber(told))), 1) end
if client == '' then return {again, {}} end
if held and head and isOf(client, head) and isForeign(client, redis.call('hkeys', name)[1]) then tellWaiter(q, head) end
return {again, aheadOf(q, name, client)}
`,
  decode: (reply) => reply as FairTurn,
});

/** `name`; `redisson_lock_queue`, `_timeout` and `_claim` with `:{name}`; the prefix of the waiters' channels. */
export function fairKeys(rawName: string): Readonly<Record<(typeof FAIR_ACQUIRE.keys)[number], string>> {
  return {
    name: rawName,
    queue: prefixName('redisson_lock_queue', rawName),
    timeouts: prefixName('redisson_lock_timeout', rawName),
    claims: prefixName('redisson_lock_claim', rawName),
    channelBase: lockChannel(rawName),
  };
}

/** All commands of one acquisition must send the same number: it is added to scores and subtracted again. */
export function waitOnWire({ acquisition: { waitMs } }: AttemptRequest, settings: Settings): number {
  // A whole number: Java's scores are.
  return waitMs > 0 && waitMs !== Infinity ? Math.ceil(waitMs) : settings.fairLockWaitTimeout;
}

/**
 * The fair lock (Redisson: RedissonFairLock): a queue in Redis, in which each waiter has its own channel. Redis decides
 * the order, so there is no hand-over within the process. Its data is described above.
 */
export const FAIR = {
  ...USUAL,
  name: 'fair',
  noun: 'fair lock',
  report: 'fair',
  data: 'owners',
  keysOf: fairKeys,
  channelOf: (rawName: string, owner: string) => `${lockChannel(rawName)}:${owner}`,
  waitOrder: 'shared',
  acquire: acquireFairLock,
  attemptArgs: (request, settings) => ({ wait: waitOnWire(request, settings), slept: request.sleptMs }),
  tryAcquire: tryAcquireFairLock,
  release: releaseFairLock,
  move: handOverLock,
  abandon: abandonFairLock,
  checkTurn: checkFairTurn,
  forceRelease: forceReleaseFairLock,
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getFairLock(name),
} as const satisfies LockDescriptor;
