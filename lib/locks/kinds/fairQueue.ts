import { NOTICE_MS } from '../../scripts/shortenLease';
import {
  AHEAD_OF,
  CLAIM,
  END_CLAIMS,
  FAIR_CLAIM_MS,
  PURGE_QUEUE,
  QUEUE,
  SCORE_OF,
  SCORES,
  SHIFT,
  TELL_WAITER,
  UNKNOWN_WAIT_MS,
  WAKE,
} from './fairFunctions';
import { lua } from '../../scripts/Script';

/*
 * The acquisitions of the fair locks: two scripts, and their shared functions. A kind of fair lock adds its `reenter`,
 * see {@link REENTER}.
 */

/** The keys, channels and arguments of the scripts that acquire a fair lock. */
export const FAIR_ACQUIRE = {
  keys: ['name', 'queue', 'timeouts', 'channelBase'],
  channels: ['channelBase'],
  args: ['lease', 'owner', 'wait', 'count', 'slept', 'message', 'publish'],
} as const;

/**
 * `reenter(name, owner, held, ttl, lease, count)`: the owner holds the lock `held` times, for `ttl` ms more, and wants
 * `count` holds. Returns the reply of the script. A repeat changes nothing.
 */
export const REENTER = lua`
local function reenter(name, owner, held, ttl, lease, count)
  local wanted = tonumber(count)
  if held < wanted then held = redis.call('hincrby', name, owner, 1) end
  if ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
  if held == wanted then return nil end
  return {held}
end
`;

/**
 * `leaveAsHead(q, owner, waitMs, lease, slept, moment)`: removes the head from the queue, since it gets the lock.
 * `enter` removes its score.
 *
 * The waiters behind it may sleep until this lease ends. They must not count as dead before then, nor at the moment at
 * which they attempt. The next one sleeps for about as long as this one did, while another owner had the lock. If this
 * lease is shorter than that, the next one is notified, so that it attempts again.
 */
const LEAVE_AS_HEAD = lua`
local function leaveAsHead(q, owner, waitMs, lease, slept, moment)
  shift(q, owner, -waitMs)
  redis.call('lpop', q.list)
  local floor = moment + math.ceil(tonumber(lease)) + ${FAIR_CLAIM_MS}
  endClaims(q, floor)
  local nextHead = redis.call('lindex', q.list, 0)
  local due = nextHead and scoreOf(q, nextHead)
  if due and due < floor then shift(q, nextHead, floor - due) end
  if slept - lease > ${NOTICE_MS} then wake(q) end
end
`;

/** `enter(q, name, owner, lease, count)`: the owner gets the free lock. Returns the reply of the script. */
const ENTER = lua`
local function enter(q, name, owner, lease, count)
  redis.call('zrem', q.timeouts, owner)
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  if count == '1' then return nil end
  return {1}
end
`;

/**
 * `refresh(q, waiter, score, free, waitMs)`: a waiter that attempts again is alive. It keeps its place, even if its
 * score has passed. `free` is the latest time at which the lock becomes free (epoch ms). Returns its new score.
 */
const REFRESH = lua`
local function refresh(q, waiter, score, free, waitMs)
  if not isProbed(score) then
    -- The holder goes on for longer than its lease. Order and distances stay.
    local late = free + waitMs - score
    if late <= waitMs / 2 then return score end
    shift(q, waiter, late)
    return score + late
  end
  local scores, due = allScores(q), free
  for _, ahead in ipairs(waiters(q)) do
    if ahead == waiter then break end
    local before = scores[ahead]
    if isProbed(before) then due = due + ${UNKNOWN_WAIT_MS} elseif before and before > due then due = before end
  end
  setScore(q, waiter, due + waitMs)
  return due + waitMs
end
`;

/**
 * `join(q, owner, ttl, waitMs, moment)`: puts the owner at the end of the queue. Returns its score, and for how many ms
 * those ahead may delay it.
 */
const JOIN = lua`
local function join(q, owner, ttl, waitMs, moment)
  local last = redis.call('lindex', q.list, -1)
  local lastScore = last and scoreOf(q, last)
  if isProbed(lastScore) then lastScore = math.floor(lastScore) + ${UNKNOWN_WAIT_MS} end
  local ahead = math.max(lastScore and lastScore - moment or 0, ttl, 0)
  local score = moment + ahead + waitMs
  setScore(q, owner, score)
  redis.call('rpush', q.list, owner)
  return score, ahead
end
`;

const FUNCTIONS =
  TELL_WAITER + WAKE + SCORE_OF + PURGE_QUEUE + SCORES + SHIFT + END_CLAIMS + CLAIM + LEAVE_AS_HEAD + ENTER;

/**
 * The state: `held` (the owner's holds, nil: none), `ttl` (-2: the lock is free), `score` (nil: the owner is not
 * queued). It reads every key before the first write, so that a key of another type causes an error and is not changed.
 */
const LOOK = lua`
local waitMs = tonumber(wait)
local held = tonumber(redis.call('hget', name, owner))
local first = redis.call('lindex', queue, 0)
local ttl = redis.call('pttl', name)
if ttl ~= -2 then endOldClaims(q, first, ttl, now) end
local score = scoreOf(q, owner)
`;

/**
 * If the lock is free and no waiter is ahead, or the owner has it already, the script ends here. Else `head` is the
 * head.
 */
const ENTER_OR_REENTER = lua`
local head = purge(q, now)
if ttl == -2 and (not head or head == owner) then
  if head then leaveAsHead(q, owner, waitMs, lease, slept, now) end
  return enter(q, name, owner, lease, count)
end
if held then return reenter(name, owner, held, ttl, lease, count) end
`;

/**
 * The acquisition that queues. As in Redisson, its reply says when to retry: a new waiter when the one ahead will have
 * given up, a queued one when the lock expires. But a waiter must retry one second before its own score passes, or at
 * half of that time. The reply is negative if its client must subscribe to the channels of others, see
 * {@link AHEAD_OF}.
 *
 * @param reenter - defines `reenter`, see {@link REENTER}
 */
export function queueingAcquire(reenter: string): string {
  return lua`${FUNCTIONS}${REFRESH}${JOIN}${AHEAD_OF}${reenter}${QUEUE}${LOOK}
if score and not held then score = refresh(q, owner, score, now + math.max(ttl, 0), waitMs) end
${ENTER_OR_REENTER}
local ahead = 0
if not score then score, ahead = join(q, owner, ttl, waitMs, now) end
local left = score - now
local retry = math.max(left - 1000, left / 2)
if ahead > 0 then retry = ahead elseif ttl >= 0 then retry = math.min(retry, ttl) end
if ttl == -2 then retry = math.min(retry, claim(q, head, owner, now, 0)) end
local answer = math.max(math.ceil(retry), 1)
return #aheadOf(q, name, string.match(owner, '^[^:]*')) > 0 and -answer or answer
`;
}

/**
 * The acquisition that never queues, and overtakes no waiter. It returns the ttl of the lock, or for how long a free
 * lock is kept for the head of the queue.
 *
 * @param reenter - as for {@link queueingAcquire}
 */
export function oneShotAcquire(reenter: string): string {
  return lua`${FUNCTIONS}${reenter}${QUEUE}${LOOK}${ENTER_OR_REENTER}
if ttl ~= -2 then return ttl end
return math.max(math.ceil(claim(q, head, false, now, 0)), 1)
`;
}
