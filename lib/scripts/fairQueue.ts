import { NEWS_MS } from './cutLife';
import { FAIR_CLAIM_MS, FAIR_FUNCTIONS, UNKNOWN_WAIT_MS } from './fairFunctions';

/*
 * The acquisitions of the fair locks, as pieces of Lua over the functions of `fairFunctions.ts`. A kind adds what is to
 * happen when the owner has the lock already.
 */

/** What the scripts that acquire a fair lock are given. */
export const FAIR_ACQUIRE = {
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  channels: ['channelBase'],
  args: ['lease', 'owner', 'wait', 'now', 'count', 'slept', 'message', 'publish'],
} as const;

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
local first = redis.call('lindex', queue, 0)
local score = scoreOf(owner)
local ttl = redis.call('pttl', name)
if ttl ~= -2 and first and isCalled(scoreOf(first)) then
  endClaims(moment + math.max(ttl, 0) + ${FAIR_CLAIM_MS})
  score = scoreOf(owner)
end
`;

/**
 * The lock is free and nobody is ahead: off the queue and in. Those behind may sleep until this lease ends and must not
 * count as dead before, nor at the moment they come. The next one sleeps for about as long as this one did, when the lock
 * belonged to somebody else; if this lease is shorter, it has to look again.
 */
const ENTER = `
local head = purge(moment)
if ttl == -2 and (not head or head == owner) then
  if head then
    shift(owner, -patience)
    redis.call('lpop', queue)
    local floor = moment + math.ceil(tonumber(lease)) + ${FAIR_CLAIM_MS}
    endClaims(floor)
    local heir = redis.call('lindex', queue, 0)
    local due = heir and scoreOf(heir)
    if due and due < floor then shift(heir, floor - due) end
    if slept - lease > ${NEWS_MS} then wake() end
  end
  redis.call('zrem', timeouts, owner)
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  if count == '1' then return nil end
  return {1}
end
`;

/** A waiter that comes back keeps its place, even when its time has passed. */
const REFRESH = `
if score and not held then score = refresh(owner, score, moment + math.max(ttl, 0), patience) end
`;

/**
 * Queues the owner unless it is queued, and says when to try again: as Redisson (a new waiter when the one ahead will have
 * given up, a queued one when the lock expires), but a second before the own score passes, or at half time.
 */
const AWAIT_TURN = `
local ahead = 0
if not score then
  local last = redis.call('lindex', queue, -1)
  local patient = last and scoreOf(last)
  if isCalled(patient) then patient = math.floor(patient) + ${UNKNOWN_WAIT_MS} end
  ahead = math.max(patient and patient - moment or 0, ttl, 0)
  score = moment + ahead + patience
  setScore(owner, score)
  redis.call('rpush', queue, owner)
end
local left = score - moment
local retry = math.max(left - 1000, left / 2)
if ahead > 0 then retry = ahead elseif ttl >= 0 then retry = math.min(retry, ttl) end
if ttl == -2 then retry = math.min(retry, claim(head, owner, moment, 0)) end
return math.max(math.ceil(retry), 1)
`;

/** Nothing is left behind: says how long the lock lives, or for how long it is kept for others. */
const DECLINE = `
if ttl ~= -2 then return ttl end
return math.max(math.ceil(claim(head, false, moment, 0)), 1)
`;

/** The acquisition that queues; `whenHeld` is what to do when the owner has the lock already ({@link REENTER}). */
export function queueingAcquire(whenHeld: string): string {
  return FAIR_FUNCTIONS + LOOK + REFRESH + ENTER + whenHeld + AWAIT_TURN;
}

/** The acquisition that never queues, and passes nobody who does. */
export function oneShotAcquire(whenHeld: string): string {
  return FAIR_FUNCTIONS + LOOK + ENTER + whenHeld + DECLINE;
}
