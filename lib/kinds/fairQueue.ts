import type { AcquireReply } from '../scripts/replies';
import { lua, SERVER_TIME } from '../scripts/Script';
import { NOTICE_MS, TELL } from '../scripts/shortenLease';
import { FIRST_AUTOMATIC_THREAD_ID } from '../thread/threadScope';
import { ACQUIRES, decodeAcquire } from './reentrant';

/*
 * The queue of a fair lock, as Lua functions that its scripts share, and the acquisitions of the fair locks. Most
 * functions take the queue `q` first ({@link QUEUE}).
 *
 * The zset `timeouts` is Redisson's. It gives each waiter a score: the time (epoch ms) at which it counts as dead. That
 * is the end of the lease, plus the waits of all waiters ahead, plus its own wait. Java sets a score once. When a
 * waiter leaves or gets the lock, Java subtracts that waiter's wait from the scores behind it, or from all of them.
 *
 * A free lock is kept for the head of the queue, but only for a few seconds: the head may be dead, or frozen with its
 * subscription open. The hash `claims` is ours. It says until when a waiter may still come: its claim. Java knows
 * nothing of claims, and scores know nothing of them. These steps follow, counted from when the head was notified (by
 * an unlock) or was found absent (by an attempt of another caller):
 *
 * | after              | step                                                                                        |
 * |--------------------|---------------------------------------------------------------------------------------------|
 * | 0                  | the head gets a claim of 3 s                                                                |
 * | 0.5 s              | the next caller probes all waiters ahead of it: each is notified, and gets a claim of 2.5 s |
 * |                    | and a little more the further back it stands                                                |
 * | milliseconds later | live waiters answer with an attempt, which deletes their claim                              |
 * | 3 s to 3.75 s      | claims without an answer end; the first live waiter removes those ahead and gets the lock   |
 *
 * So dead and frozen waiters cost 3.75 s once, however many there are. All claims end when an owner gets the lock. A
 * Java waiter cannot answer a probe: it retries until it is its turn.
 */

/**
 * How long (ms) a free lock is kept for the head of the queue, from when the head was notified or found absent. A live
 * head attempts within milliseconds; a client that must reconnect needs up to 2 s.
 */
const CLAIM_MS = 3000;

/** If the head has not attempted for this long (ms), the waiters behind it are probed, too. */
const PROBE_AFTER_MS = 500;

/**
 * The claims of probed waiters end one after the other within this time (ms), at most {@link LONGEST_TURN_MS} apart. A
 * Java waiter, which cannot answer a probe, gets as much as its turn: it retries without a pause until it is the head.
 */
const TURNS_MS = 750;
const LONGEST_TURN_MS = 100;

/** A Java waiter gets no turn later than this (ms) after the end of its claim: dead ones must not add up. */
const LATE_TURN_MS = 500;

/**
 * The hash of the claims expires after this time (ms), longer than any claim: there may be no client left to delete it.
 */
const CLAIMS_EXPIRE_MS = 10_000;

/** A waiter behind a live one retries this long (ms) after the live one should have got the lock. */
const FALLBACK_MS = 2000;

/**
 * What a Java waiter by default subtracts (ms) from the scores behind it, also where it has added less: after a repeat
 * of its clean-up, or when a waiter behind it has set a new score meanwhile.
 */
const JAVA_WAIT_MS = 300_000;

/** What is far more (ms) than that: leases of different lengths alone do not make it. */
const FAR_MORE_MS = 1.5 * JAVA_WAIT_MS;

/** The most waiters that an unlock notifies: the head, and the next ones as long as a message has no subscriber. */
const WAKE_LIMIT = 3;

/**
 * The most waiters whose channels one process subscribes to. A message goes to the head, so more would matter only if
 * so many left the queue unnoticed between two checks.
 */
const AHEAD_LIMIT = 1000;

/**
 * The queue as one value, `q`: its keys, what is needed to notify its waiters, and the time. All scripts of a fair lock
 * have keys and arguments with these names.
 *
 * `open(q, held)`: reads the queue. Returns its head, false if none waits. Claims are made while the lock is free, so
 * those that are left when it is `held` end. (A key of another type causes an error before the first write.)
 */
export const QUEUE = lua`${SERVER_TIME}
local q = {list = queue, timeouts = timeouts, claims = claims, channelBase = channelBase, message = message,
  publish = publish, now = now}
local function open(q, held)
  local head = redis.call('lindex', q.list, 0)
  redis.call('zcard', q.timeouts)
  q.claimed = head and redis.call('hlen', q.claims) > 0
  if q.claimed and held then
    redis.call('del', q.claims)
    q.claimed = false
  end
  return head
end
`;

/** `tellWaiter(q, waiter)`. Returns the number of subscribers, -1 if the user may not publish. Includes `TELL`. */
export const TELL_WAITER = lua`${TELL}
local function tellWaiter(q, waiter)
  return tell(q.publish, q.channelBase .. ':' .. waiter, q.message)
end
`;

/**
 * `wake(q)`: notifies the head that it is its turn. If the head has no subscription, the next waiter is notified, too,
 * and finds out that the head is gone. Returns the number of subscribers.
 */
export const WAKE = lua`${TELL_WAITER}
local function wake(q)
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, ${WAKE_LIMIT - 1})) do
    local receivers = tellWaiter(q, waiter)
    if receivers > 0 then return receivers end
  end
  return 0
end
`;

/**
 * `scoreOf(q, waiter)`: as text, empty without a score.
 *
 * `claimOf(q, waiter, score)`: when the claim of the waiter ends (epoch ms; nil: it has none), and whether it was
 * probed: 0 = no, 1 = yes, 2 = yes, and it has had its turn as the head. A claim is `score:end:probed`, and counts only
 * while the waiter has that score: when Java gets the lock it changes all scores, which ends all claims.
 * `setClaim(q, waiter, score, ends, probed)`.
 */
export const SCORES_AND_CLAIMS = lua`
local function scoreOf(q, waiter)
  return redis.call('zscore', q.timeouts, waiter) or ''
end
local function claimOf(q, waiter, score)
  local claim = q.claimed and redis.call('hget', q.claims, waiter)
  local length = #score + 1
  if not claim or string.sub(claim, 1, length) ~= score .. ':' then return nil end
  return tonumber(string.sub(claim, length + 1, -3)), tonumber(string.sub(claim, -1))
end
local function setClaim(q, waiter, score, ends, probed)
  redis.call('hset', q.claims, waiter, score .. ':' .. ends .. ':' .. probed)
  q.claimed = true
end
`;

/** `waiters(q, asker)`: those ahead of the asker, in order; all of them without one, or if it is not queued. */
export const WAITERS = lua`
local function waiters(q, asker)
  local ahead = {}
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, -1)) do
    if waiter == asker then break end
    ahead[#ahead + 1] = waiter
  end
  return ahead
end
`;

/** `mayBeJava(owner)`: its thread id is not in the range that only this package generates. */
export const MAY_BE_JAVA = lua`
local function mayBeJava(owner)
  local threadId = tonumber(string.match(owner, ':(%d+)$'))
  return not threadId or threadId < ${FIRST_AUTOMATIC_THREAD_ID} or threadId > ${Number.MAX_SAFE_INTEGER}
end
`;

/**
 * `isOf(client, owner)`: it is of that client. `isForeign(client, owner)`: it is not, and may be of Java. Needs
 * {@link MAY_BE_JAVA}.
 */
export const FOREIGN = lua`
local function isOf(client, owner)
  return string.sub(owner, 1, #client + 1) == client .. ':'
end
local function isForeign(client, owner)
  return not isOf(client, owner) and mayBeJava(owner)
end
`;

/**
 * `purge(q, head)`: removes heads whose score or claim has passed; every script of Redisson first removes those whose
 * score has. A waiter that may be of Java could not answer a probe: once it is the head it gets its turn. Returns the
 * head, false if none waits. Needs {@link TELL_WAITER}.
 */
export const PURGE = lua`${SCORES_AND_CLAIMS}${MAY_BE_JAVA}
local function purge(q, head)
  while head do
    local score = scoreOf(q, head)
    local due = tonumber(score)
    local ends, probed = claimOf(q, head, score)
    if not (due and due <= q.now) then
      if not ends or ends > q.now then return head end
      if probed == 1 and q.now - ends < ${LATE_TURN_MS} and mayBeJava(head) then
        local turn = math.min(${TURNS_MS} / redis.call('llen', q.list), ${LONGEST_TURN_MS})
        setClaim(q, head, score, math.ceil(q.now + turn), 2)
        tellWaiter(q, head)
        return head
      end
    end
    redis.call('zrem', q.timeouts, head)
    redis.call('lpop', q.list)
    if q.claimed then redis.call('hdel', q.claims, head) end
    head = redis.call('lindex', q.list, 0)
  end
  if q.claimed then redis.call('del', q.claims) end
  return head
end
`;

/**
 * `shift(q, client, from, by)`: moves the scores of a waiter and of all behind it. Their claims stay. A Java waiter
 * sleeps until shortly before the score that it set. One whose score loses far more than Java ever subtracts at once
 * would be removed in its sleep, and never hear of its turn: it is notified, attempts, and learns its new time.
 * `client` is the id of the caller's client.
 *
 * `recount(q, client, waiter, own, base, by)`: the one ahead of the waiter, with the score `own`, goes: the waiter and
 * all behind it count from `base` (epoch ms) on, or move `by` ms if that leaves the waiter at least half of its own
 * wait. Their distances stay. Both need {@link SCORES_AND_CLAIMS}, {@link FOREIGN}, {@link WAITERS} and
 * {@link TELL_WAITER}.
 */
export const SHIFT = lua`
local function shift(q, client, from, by)
  local reached = false
  for _, waiter in ipairs(by == 0 and {} or waiters(q)) do
    reached = reached or waiter == from
    local score = reached and scoreOf(q, waiter) or ''
    if score ~= '' then
      local ends, probed = claimOf(q, waiter, score)
      redis.call('zadd', q.timeouts, tonumber(score) + by, waiter)
      if ends then setClaim(q, waiter, scoreOf(q, waiter), ends, probed) end
      if by < -${FAR_MORE_MS} and isForeign(client, waiter) then tellWaiter(q, waiter) end
    end
  end
end
local function recount(q, client, waiter, own, base, by)
  local due = waiter and tonumber(scoreOf(q, waiter))
  if not due then return end
  local distance = math.max(own and due - own or 0, ${CLAIM_MS})
  if not by or due + by < base + distance / 2 then by = base + distance - due end
  shift(q, client, waiter, by)
end
`;

/**
 * `claim(q, head, asker, told)`: the lock is free, and the head, which was notified `told` ms ago, has not attempted.
 * The asker is another waiter, or false if it is not queued. Takes the step of the table above that is due. Returns
 * after how many ms the asker should retry, at the latest.
 *
 * `probe(q, asker)`: its second step. The claims of all waiters ahead of the asker (false: of all waiters) run at the
 * same time, and end in the order of the queue. Both need {@link PURGE}, {@link WAITERS} and {@link TELL_WAITER}.
 */
export const CLAIM = lua`
local function probe(q, asker)
  local ahead = waiters(q, asker)
  local turn = math.min(${TURNS_MS} / #ahead, ${LONGEST_TURN_MS})
  for i, waiter in ipairs(ahead) do
    local score = scoreOf(q, waiter)
    local ends = math.floor(q.now + ${CLAIM_MS - PROBE_AFTER_MS} + turn * (i - 1))
    setClaim(q, waiter, score, math.min(claimOf(q, waiter, score) or ends, ends), i == 1 and 2 or 1)
    tellWaiter(q, waiter)
  end
end
local function claim(q, head, asker, told)
  local score = scoreOf(q, head)
  local ends, probed = claimOf(q, head, score)
  if not ends then
    ends = q.now + ${CLAIM_MS} - told
    setClaim(q, head, score, ends, 0)
    probed = 0
  end
  local rest = ends - q.now - ${CLAIM_MS - PROBE_AFTER_MS}
  if probed == 0 and rest <= 0 then probe(q, asker) end
  redis.call('pexpire', q.claims, ${CLAIMS_EXPIRE_MS})
  if probed == 0 and rest > 0 then
    tellWaiter(q, head)
    return rest
  end
  -- one that may be of Java gets its turn when its claim ends, so the asker comes at each of these ends
  local last, java = nil, false
  for _, waiter in ipairs(waiters(q, asker)) do
    local due = scoreOf(q, waiter)
    ends, probed = claimOf(q, waiter, due)
    if not ends or probed == 0 then return last - q.now + ${FALLBACK_MS} end
    ends = math.min(ends, tonumber(due) or ends)
    java = java or (last and mayBeJava(waiter))
    if not java then last = math.max(last or 0, ends) end
  end
  return last - q.now
end
`;

/**
 * `aheadOf(q, name, client)`: the waiters ahead of the first one of that client, to whose channels it must subscribe:
 * Java notifies only the head, which may be dead. Empty if none of them, and not the holder, may be Java's: our clients
 * check by themselves that the head attempts.
 */
export const AHEAD_OF = lua`
local function aheadOf(q, name, client)
  local first = redis.call('lindex', q.list, 0)
  if not first or isOf(client, first) then return {} end
  local holder = redis.call('hkeys', name)[1]
  local ahead, java = {}, holder and isForeign(client, holder)
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, ${AHEAD_LIMIT - 1})) do
    if isOf(client, waiter) then break end
    ahead[#ahead + 1] = waiter
    java = java or mayBeJava(waiter)
  end
  return java and ahead or {}
end
`;

/** Reads nil / `{holds}` / ms to the next attempt, negative if the waiter may never be notified. */
export function decodeFairAcquire(reply: unknown): AcquireReply {
  return typeof reply === 'number' && reply < 0
    ? { acquired: false, ttl: -reply, unheard: true }
    : decodeAcquire(reply);
}

/** The keys, arguments and rules of the scripts that acquire a fair lock. */
export const FAIR_ACQUIRE = {
  keys: ['name', 'queue', 'timeouts', 'claims', 'channelBase'],
  args: ['lease', 'owner', 'wait', 'count', 'slept', 'message', 'publish'],
  ...ACQUIRES,
} as const;

/** The same for a caller that does not queue. */
export const FAIR_TRY = { ...FAIR_ACQUIRE, args: ['lease', 'owner', 'count', 'slept', 'message', 'publish'] } as const;

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
 * `leaveAsHead(q, client, owner, lease, slept)`: removes the head from the queue, since it gets the lock. Its score
 * goes behind it.
 *
 * The scores behind it count from the end of this lease; their distances stay. But those waiters sleep until the end of
 * the lease that they saw, and must not count as dead before. The next one has slept for about as long as this one. If
 * this lease is shorter than that, the next one is notified, so that it attempts again.
 */
const LEAVE_AS_HEAD = lua`
local function leaveAsHead(q, client, owner, lease, slept)
  local own = tonumber(scoreOf(q, owner))
  redis.call('lpop', q.list)
  if q.claimed then redis.call('del', q.claims) end
  q.claimed = false
  recount(q, client, redis.call('lindex', q.list, 0), own, q.now + math.ceil(math.max(lease, slept)))
  if slept - lease > ${NOTICE_MS} then wake(q) end
end
`;

/** `enter(name, owner, lease, count)`: the owner gets the free lock. Returns the reply of the script. */
export const ENTER = lua`
local function enter(name, owner, lease, count)
  redis.call('hset', name, owner, 1)
  redis.call('pexpire', name, lease)
  if count == '1' then return nil end
  return {1}
end
`;

/**
 * `slackOf(q, client, owner, head)`: what Java may subtract from the score of the owner before it attempts again: a
 * wait for each waiter ahead that may be Java's. A waiter of ours keeps that much more, and must attempt as if it had
 * not.
 */
const SLACK_OF = lua`
local function slackOf(q, client, owner, head)
  local slack = 0
  if not head or head == owner then return slack end
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, ${AHEAD_LIMIT - 1})) do
    if waiter == owner then break end
    if isForeign(client, waiter) then slack = slack + ${JAVA_WAIT_MS} end
  end
  return slack
end
`;

/**
 * `refresh(q, client, waiter, score, free, waitMs)`: a waiter that attempts again is alive. It keeps its place, even if
 * its score or its claim has passed. `free` is the latest time at which the lock becomes free (epoch ms), and the slack
 * of the waiter. Returns its new score.
 */
const REFRESH = lua`
local function refresh(q, client, waiter, score, free, waitMs)
  if q.claimed then redis.call('hdel', q.claims, waiter) end
  -- The holder goes on for longer than its lease. Order and distances stay.
  local late = free + waitMs - score
  if late <= waitMs / 2 then return score end
  shift(q, client, waiter, late)
  return score + late
end
`;

/** `join(q, owner, ttl, waitMs, slack)`: puts the owner at the end of the queue. Returns its score. */
const JOIN = lua`
local function join(q, owner, ttl, waitMs, slack)
  local last = redis.call('lindex', q.list, -1)
  local lastScore = last and tonumber(scoreOf(q, last))
  local ahead = math.max(lastScore and lastScore - q.now or 0, ttl, 0)
  local score = q.now + math.max(ahead, math.max(ttl, 0) + slack) + waitMs
  redis.call('zadd', q.timeouts, score, owner)
  redis.call('rpush', q.list, owner)
  return score
end
`;

const FUNCTIONS = WAKE + PURGE + FOREIGN + WAITERS + SHIFT + CLAIM + LEAVE_AS_HEAD + ENTER;

/**
 * The state: `client`, `held` (the owner's holds, nil: none), `ttl` (-2: the lock is free), `score` (nil: the owner is
 * not queued). It reads every key before the first write, so that a key of another type causes an error and is not
 * changed.
 */
const STATE = lua`
local client = string.match(owner, '^[^:]*')
local held = tonumber(redis.call('hget', name, owner))
local ttl = redis.call('pttl', name)
local head = open(q, ttl ~= -2)
`;

/**
 * If the lock is free and no waiter is ahead, or the owner has it already, the script ends here. Else `head` is the
 * head.
 */
const ENTER_OR_REENTER = lua`
head = purge(q, head)
if ttl == -2 and (not head or head == owner) then
  if head then leaveAsHead(q, client, owner, tonumber(lease), tonumber(slept)) end
  redis.call('zrem', timeouts, owner)
  return enter(name, owner, lease, count)
end
if held then return reenter(name, owner, held, ttl, lease, count) end
`;

/**
 * The acquisition that queues. Its reply says when to retry: when the lock expires. But a waiter must retry one second
 * before its own score passes, or at half of that time. When those ahead go, its score keeps at least half of its own
 * wait, but not the lease that it has seen: so it must retry after half of its wait, too (one second at least).
 * (Redisson lets a new waiter sleep until the one ahead will have given up. Here one that joins again is a new one,
 * too, and those ahead may leave without a message.) The reply is negative if its client must subscribe to the channels
 * of others, see {@link AHEAD_OF}.
 *
 * @param reenter - defines `reenter`, see {@link REENTER}
 */
export function queueingAcquire(reenter: string): string {
  return lua`${FUNCTIONS}${REFRESH}${JOIN}${AHEAD_OF}${SLACK_OF}${reenter}${QUEUE}${STATE}
local score, waitMs = tonumber(scoreOf(q, owner)), tonumber(wait)
local slack = held and 0 or slackOf(q, client, owner, head)
if score and not held then score = refresh(q, client, owner, score, now + math.max(ttl, 0) + slack, waitMs) end
${ENTER_OR_REENTER}
if not score then score = join(q, owner, ttl, waitMs, slack) end
local left = score - slack - now
local retry = math.min(math.max(left - 1000, left / 2), math.max(waitMs / 2, 1000))
if ttl >= 0 then retry = math.min(retry, ttl) end
if ttl == -2 then retry = math.min(retry, claim(q, head, owner, 0)) end
local answer = math.max(math.ceil(retry), 1)
return #aheadOf(q, name, client) > 0 and -answer or answer
`;
}

/**
 * The acquisition that never queues, and overtakes no waiter. It returns the ttl of the lock, or for how long a free
 * lock is kept for the head of the queue.
 *
 * @param reenter - as for {@link queueingAcquire}
 */
export function oneShotAcquire(reenter: string): string {
  return lua`${FUNCTIONS}${reenter}${QUEUE}${STATE}${ENTER_OR_REENTER}
if ttl ~= -2 then return ttl end
return math.max(math.ceil(claim(q, head, false, 0)), 1)
`;
}
