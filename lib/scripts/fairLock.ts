import { CUT_FAIR_LIFE } from './cutLife';
import { FAIR_CLAIM_MS, FAIR_FUNCTIONS } from './fairFunctions';
import { FAIR_ACQUIRE, REENTER, oneShotAcquire, queueingAcquire } from './fairQueue';
import { decodeAcquire, decodeCount, decodeFairRelease, decodeFlag } from './replies';
import { defineScript } from './Script';

/*
 * The fair lock (Redisson: RedissonFairLock).
 *
 * | Redis data                                | type    | holds                                                      |
 * |-------------------------------------------|---------|------------------------------------------------------------|
 * | `name`                                    | hash    | owner -> hold count, expires with the lease (as `lock.ts`) |
 * | `redisson_lock_queue:{name}`              | list    | waiting owners, the head is next; gone when empty          |
 * | `redisson_lock_timeout:{name}`            | zset    | waiting owner -> epoch ms (clients' clocks) at which it counts as dead |
 * | `redisson_lock__channel:{name}:<owner>`   | channel | `0` when it is this waiter's turn, or may be sooner than it thinks |
 *
 * Where it differs from Redisson, all of it harmless to a Java peer in the same queue:
 *
 * - A live waiter is never purged for being patient: by coming back it moves its score, and those behind, to what they
 *   would be had it queued now. A Java waiter behind it lives longer by as much.
 * - A free lock whose head does not come is kept for it for 3 s, and those who do not come after it have the same 3 s
 *   (`fairFunctions.ts`); Redisson answers 0 (try at once) or -2 until the head's score passes, minutes later.
 * - Who leaves the queue while it is its turn passes the message on.
 * - The head is told, too, when the lock has less to live than it may think: its holder may die without a word. That is
 *   when a hold is given back that would have lived longer, when a waiter gets in for less time than it has slept for, and
 *   when somebody else finds the lock free.
 * - Releasing a lock that is gone still tells the head, but is not a success.
 */

/**
 * One attempt that queues: every form that waits.
 *
 * KEYS: name, queue, timeouts. Channels: channelBase (the channels are `channelBase:<owner>`). ARGV: lease (ms), owner, wait
 * (ms this waiter may cost the others: its wait time, or fairLockWaitTimeout), now (epoch ms), count (the holds the owner
 * shall have afterwards: known holds + 1), slept (the longest time in ms that this waiter went to sleep for; 0: never),
 * message, publish.
 * Output: nil = acquired with `count` holds; `{n}` = acquired, but with n holds (the earlier ones were lost);
 * integer > 0 = queued, to be tried again after so many ms at the latest.
 */
export const acquireFairLock = defineScript({
  name: 'fairLock.acquire',
  ...FAIR_ACQUIRE,
  resend: 'connection',
  synced: ({ acquired }) => acquired,
  lua: queueingAcquire(REENTER),
  decode: decodeAcquire,
});

/**
 * One attempt that never queues: `tryLock()`, `tryAcquire()`. It passes nobody who waits.
 *
 * KEYS and ARGV: as {@link acquireFairLock}.
 * Output: nil and `{n}` as there; integer = not acquired: the lock's PTTL in ms (-1: no expiry), or for how long the
 * free lock is kept for the head of the queue.
 */
export const tryAcquireFairLock = defineScript({
  name: 'fairLock.tryAcquire',
  ...FAIR_ACQUIRE,
  resend: 'connection',
  synced: ({ acquired }) => acquired,
  lua: oneShotAcquire(REENTER),
  decode: decodeAcquire,
});

/**
 * Gives holds back and tells the head of the queue.
 *
 * KEYS: name, queue, timeouts, channelBase (the channels are `channelBase:<owner>`). ARGV: message, owner, left (holds to
 * leave), remaining (ms of lease those have; 0 leaves the expiry alone), now (epoch ms), publish.
 * Output: nil = the owner holds nothing; 0 = it holds `left`; `{n, m}` = free, n subscribers were told, m waiters are queued.
 */
export const releaseFairLock = defineScript({
  name: 'fairLock.release',
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  args: ['message', 'owner', 'left', 'remaining', 'now', 'publish'],
  resend: 'always',
  synced: true,
  lua: `
local moment = tonumber(now)
local held = tonumber(redis.call('hget', name, owner))
${FAIR_FUNCTIONS}${CUT_FAIR_LIFE}
purge(moment)
if not held then
  if redis.call('exists', name) == 0 then wake() end
  return nil
end
local keep = tonumber(left)
if keep > 0 then
  -- the expiry comes first: a server without memory refuses HSET, but not behind a write that it has allowed
  if remaining ~= '0' then cutLife(remaining) end
  if held > keep then redis.call('hset', name, owner, keep) end
  return 0
end
redis.call('del', name)
return {wake(), redis.call('llen', queue)}
`,
  decode: decodeFairRelease,
});

/** {@link abandonFairLock}: it was the head of a free lock. */
export const LEFT_FREE_LOCK = 2;

/**
 * Leaves the queue (Redisson: acquireFailed): for a waiter whose time is up, who is aborted, or whose attempt is in doubt.
 * Whoever is behind moves up by this waiter's wait, and no more. `wait` must be the one it queued with.
 *
 * KEYS: name, queue, timeouts, channelBase. ARGV: message, owner, wait (ms), publish.
 * Output: 0 = it was not queued, 1 = it was, 2 = it was the head of a free lock, and the next one was told.
 */
export const abandonFairLock = defineScript({
  name: 'fairLock.abandon',
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  args: ['message', 'owner', 'wait', 'publish'],
  resend: 'always',
  synced: true,
  lua: `
local held = redis.call('hlen', name)
local head = redis.call('lindex', queue, 0)
redis.call('zcard', timeouts)
${FAIR_FUNCTIONS}
-- it goes before the others move up: a server without memory refuses ZADD, but not behind a write that it has allowed
redis.call('zrem', timeouts, owner)
shift(owner, -tonumber(wait))
local found = redis.call('lrem', queue, 0, owner)
if held > 0 or head ~= owner then return math.min(found, 1) end
-- the message may have come to the one who leaves
wake()
return ${LEFT_FREE_LOCK}
`,
  decode: decodeCount,
});

/**
 * Deletes the lock whoever holds it and tells the head; the queue stays (Redisson: forceUnlock).
 *
 * KEYS: name, queue, timeouts, channelBase. ARGV: message, now (epoch ms), publish.
 * Output: 1 = there was a lock, 0 = there was none.
 */
export const forceReleaseFairLock = defineScript({
  name: 'fairLock.forceRelease',
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  args: ['message', 'now', 'publish'],
  resend: 'always',
  synced: true,
  lua: `
local moment = tonumber(now)
local held = redis.call('hlen', name)
${FAIR_FUNCTIONS}
purge(moment)
if held == 0 then return 0 end
redis.call('del', name)
wake()
return 1
`,
  decode: decodeFlag,
});

/**
 * Looks whether the head of the queue has taken the lock that it was told of; if not, does what `claim()` in
 * `fairFunctions.ts` says. For the client that gave the lock back: every waiter may be asleep.
 *
 * KEYS: name, queue, timeouts, channelBase. ARGV: message, now (epoch ms), told (ms since the head was told), publish.
 * Output: 0 = held, or nobody waits; else to be asked again after so many ms.
 */
export const checkFairTurn = defineScript({
  name: 'fairLock.checkTurn',
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  args: ['message', 'now', 'told', 'publish'],
  resend: 'always',
  lua: `
local moment = tonumber(now)
local held = redis.call('hlen', name)
local first = redis.call('lindex', queue, 0)
redis.call('zcard', timeouts)
${FAIR_FUNCTIONS}
if held > 0 then
  if first and isCalled(scoreOf(first)) then
    endClaims(moment + math.max(redis.call('pttl', name), 0) + ${FAIR_CLAIM_MS})
  end
  return 0
end
local head = purge(moment)
if not head then return 0 end
return math.max(math.ceil(claim(head, false, moment, tonumber(told))), 1)
`,
  decode: decodeCount,
});
