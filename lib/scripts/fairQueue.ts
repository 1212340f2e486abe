import { NEWS_MS } from './cutLife';

/*
 * The steps that the scripts of the fair locks share, as pieces of Lua over the keys `name`, `queue`, `timeouts` and, where
 * messages are sent, `channelBase`.
 *
 * A score in `timeouts` says when its waiter will have given up, at the latest: what the lock has still to live, plus the
 * waits of everybody ahead, plus its own. So when a waiter leaves or gets the lock, its wait is taken off everybody behind;
 * but what it gets the lock for they have still to wait for, whatever was predicted.
 */

/** What the scripts that acquire a fair lock are given. */
export const FAIR_ACQUIRE = {
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  channels: ['channelBase'],
  args: ['lease', 'owner', 'wait', 'now', 'count', 'slept', 'message', 'publish'],
} as const;

/**
 * The lock is free and the head of the queue has not come: so long (ms) it has from then on until it counts as dead. A
 * live head comes within milliseconds of its message; a client that has to connect again needs up to 2 s.
 */
export const FAIR_CLAIM_MS = 3000;

/** So many waiters at most are told of a free lock: the head, and who comes next while nobody listens to the message. */
const WAKE_LIMIT = 3;

/**
 * Reads the head and drops waiters whose time has passed, as every script of Redisson does first. Needs `moment`; leaves
 * `head` (false: nobody waits). ZCARD only asks for the type: an error has to come before the first write.
 */
export const PURGE = `
local head = redis.call('lindex', queue, 0)
redis.call('zcard', timeouts)
while head do
  local score = tonumber(redis.call('zscore', timeouts, head))
  if not score or score > moment then break end
  redis.call('zrem', timeouts, head)
  redis.call('lpop', queue)
  head = redis.call('lindex', queue, 0)
end
`;

/** Defines `shift(from, by)`: moves the score of `from` and of everybody behind it. XX: who has no score gets none. */
export const SHIFT = `
local function shift(from, by)
  local reached = false
  for _, waiter in ipairs(redis.call('lrange', queue, 0, -1)) do
    reached = reached or waiter == from
    if reached then redis.call('zadd', timeouts, 'XX', 'INCR', by, waiter) end
  end
end
`;

/**
 * Defines `wake()`: tells the head that it is its turn. A head without a subscriber is dead, or not yet subscribed (then
 * it tries again by itself): the next one is told as well, who tries in vain and by that limits the head's time.
 */
export const WAKE = `
local function wake()
  for _, waiter in ipairs(redis.call('lrange', queue, 0, ${WAKE_LIMIT - 1})) do
    local receivers = redis.call(publish, channelBase .. ':' .. waiter, message)
    if receivers > 0 then return receivers end
  end
  return 0
end
`;

/** Needs `held` and `ttl`: the owner has the lock and wants it `count` times; a repeat of that changes nothing. */
export const REENTER = `
if held then
  local wanted = tonumber(count)
  if held < wanted then held = redis.call('hincrby', name, owner, 1) end
  if ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
  if held == wanted then return nil end
  return {held}
end
`;

/**
 * Whether the owner holds the lock, whether it is queued, and how long the lock lives (-2: it is free). The first write
 * comes after a read of every key, so that a key of another type is an error and stays.
 */
const LOOK = `
local moment, patience = tonumber(now), tonumber(wait)
local held = tonumber(redis.call('hget', name, owner))
local score = tonumber(redis.call('zscore', timeouts, owner))
local ttl = redis.call('pttl', name)
`;

/**
 * The lock is free and nobody is ahead: off the queue and in. Those behind may sleep until this lease ends and must not
 * count as dead before, nor at the moment they come. The next one sleeps for about as long as this one did, when the lock
 * belonged to somebody else; if this lease is shorter, it has to look again.
 */
const ENTER = `
if ttl == -2 and (not head or head == owner) then
  if head then
    shift(owner, -patience)
    redis.call('lpop', queue)
    local heir = redis.call('lindex', queue, 0)
    local due = heir and tonumber(redis.call('zscore', timeouts, heir))
    local late = due and moment + lease + ${FAIR_CLAIM_MS} - due or 0
    if late > 0 then shift(heir, late) end
    if slept - lease > ${NEWS_MS} then wake() end
  end
  redis.call('zrem', timeouts, owner)
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  if count == '1' then return nil end
  return {1}
end
`;

/**
 * A waiter that comes back is alive: when its prediction has come nearer than half its wait (the holder went on for
 * longer than its lease), it is made anew, for everybody behind too. Order and distances stay.
 */
const REFRESH = `
if score and not held then
  local late = moment + math.max(ttl, 0) + patience - score
  if late > patience / 2 then
    shift(owner, late)
    score = score + late
  end
end
`;

/**
 * The lock is free and its head may not know: nobody was there to say so. Only the head is told: somebody else could but
 * do the same.
 */
const REMIND = "redis.call(publish, channelBase .. ':' .. head, message)";

/**
 * Queues the owner unless it is queued, and says when to try again: as Redisson (a new waiter when the one ahead will have
 * given up, a queued one when the lock expires), but a second before the own score passes, or at half time.
 */
const AWAIT_TURN = `
local ahead = 0
if not score then
  local last = redis.call('lindex', queue, -1)
  local patient = tonumber(last and redis.call('zscore', timeouts, last))
  ahead = math.max(patient and patient - moment or 0, ttl, 0)
  score = moment + ahead + patience
  redis.call('zadd', timeouts, score, owner)
  redis.call('rpush', queue, owner)
end
local left = score - moment
local retry = math.max(left - 1000, left / 2)
if ahead > 0 then retry = ahead elseif ttl >= 0 then retry = math.min(retry, ttl) end
if ttl == -2 then
  -- free, but the head's: it has a moment to come, and the next attempt is due when that has passed
  ${REMIND}
  local turn = tonumber(redis.call('zscore', timeouts, head))
  if not turn or turn > moment + ${FAIR_CLAIM_MS} then
    turn = moment + ${FAIR_CLAIM_MS}
    redis.call('zadd', timeouts, turn, head)
  end
  retry = math.min(retry, turn - moment)
end
return math.max(math.ceil(retry), 1)
`;

/** Nothing is left behind: says how long the lock lives, or for how long it is the head's. */
const DECLINE = `
if ttl ~= -2 then return ttl end
${REMIND}
local turn = tonumber(redis.call('zscore', timeouts, head))
return turn and math.max(math.ceil(turn - moment), 1) or ${FAIR_CLAIM_MS}
`;

/** The acquisition that queues; `whenHeld` is what to do when the owner has the lock already ({@link REENTER}). */
export function queueingAcquire(whenHeld: string): string {
  return LOOK + SHIFT + WAKE + REFRESH + PURGE + ENTER + whenHeld + AWAIT_TURN;
}

/** The acquisition that never queues, and passes nobody who does. */
export function oneShotAcquire(whenHeld: string): string {
  return LOOK + SHIFT + WAKE + PURGE + ENTER + whenHeld + DECLINE;
}
