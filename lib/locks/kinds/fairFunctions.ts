import { TELL } from '../../scripts/shortenLease';
import { lua, SERVER_TIME } from '../../scripts/Script';
import { FIRST_AUTOMATIC_THREAD_ID } from '../../thread/threadScope';

/*
 * The queue of a fair lock, as Lua functions that its scripts share. Most take the queue `q` first ({@link QUEUE}).
 *
 * The zset `timeouts` gives each waiter a score: the latest time at which it will have given up (epoch ms). That is the
 * ttl of the lock, plus the waits of all waiters ahead, plus its own wait. When a waiter leaves or gets the lock, its
 * wait is subtracted from the scores behind it. But those waiters must still wait for the lease of the new holder,
 * whatever their scores predicted.
 *
 * A free lock is kept for the head of the queue. The head may be dead, or frozen with its subscription open. These
 * steps follow, counted from when the head was notified (by an unlock) or was found absent (by an attempt of another
 * caller):
 *
 * | after              | step                                                                                        |
 * |--------------------|---------------------------------------------------------------------------------------------|
 * | 0                  | the head's score is cut to 3 s: its claim                                                   |
 * | 0.5 s              | the next caller probes all waiters ahead of it: each is notified, its score is cut to 2.5 s |
 * |                    | and a little more the further back it stands, and ends in .5, which means "probed"          |
 * | milliseconds later | live waiters answer with an attempt, which removes the mark and sets a new score            |
 * | 3 s to 3.75 s      | claims without an answer end; the first live waiter removes those ahead and gets the lock   |
 *
 * So dead and frozen waiters cost 3.75 s once, however many there are. All claims end when an owner gets the lock. A
 * Java waiter cannot answer a probe, since its attempts do not change its score: it retries until it is its turn.
 */

/**
 * How long (ms) a free lock is kept for the head of the queue, from when the head was notified or found absent. A live
 * head attempts within milliseconds; a client that must reconnect needs up to 2 s.
 */
export const FAIR_CLAIM_MS = 3000;

/** If the head has not attempted for this long (ms), the waiters behind it are probed, too. */
const FAIR_PROBE_AFTER_MS = 500;

/**
 * The claims of probed waiters end one after the other within this time (ms), at most {@link LONGEST_TURN_MS} apart. So
 * a Java waiter, which cannot answer a probe, gets its turn: it is the head for a while before its own claim ends.
 */
const TURNS_MS = 750;
const LONGEST_TURN_MS = 100;

/**
 * A mark on a score that is further away (ms) is no claim. A Java waiter that queues behind a probed one copies the mark:
 * its score is that of the one ahead plus its own wait. The clocks of clients may differ by the rest.
 */
const LONGEST_CLAIM_MS = 10_000;

/** A waiter behind a live one retries this long (ms) after the live one should have got the lock. */
const FALLBACK_MS = 2000;

/**
 * The distance (ms) between the scores of waiters whose real distance is unknown, because a probe has cut it. It is the
 * number that a Java waiter by default subtracts from the scores behind it when it gets the lock.
 */
export const UNKNOWN_WAIT_MS = 300_000;

/** The most waiters that an unlock notifies: the head, and the next ones as long as a message has no subscriber. */
const WAKE_LIMIT = 3;

/**
 * The time `now`, and the queue as one value, `q`: its keys, and what is needed to notify its waiters. All scripts of a
 * fair lock have keys and arguments with these names.
 */
export const QUEUE = lua`${SERVER_TIME}local q = {list = queue, timeouts = timeouts, channelBase = channelBase, message = message, publish = publish}
`;

/** `tellWaiter(q, waiter)`. Returns the number of subscribers, -1 if the user may not publish. Includes `TELL`. */
export const TELL_WAITER = lua`${TELL}
local function tellWaiter(q, waiter)
  return tell(q.publish, q.channelBase .. ':' .. waiter, q.message)
end
`;

/**
 * `wake(q)`: notifies the head that it is its turn. If the head has no subscription, the next waiter is notified, too,
 * and finds out that the head is gone. Returns the number of subscribers. Needs {@link TELL_WAITER}.
 */
export const WAKE = lua`
local function wake(q)
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, ${WAKE_LIMIT - 1})) do
    local receivers = tellWaiter(q, waiter)
    if receivers > 0 then return receivers end
  end
  return 0
end
`;

/** `scoreOf(q, waiter)`: nil without a score. */
export const SCORE_OF = lua`
local function scoreOf(q, waiter)
  return tonumber(redis.call('zscore', q.timeouts, waiter))
end
`;

/**
 * `purge(q, moment)`: removes heads whose score has passed, as every script of Redisson does first. Returns the head,
 * or false if none waits. Needs {@link SCORE_OF}.
 */
export const PURGE_QUEUE = lua`
local function purge(q, moment)
  local head = redis.call('lindex', q.list, 0)
  -- only asks for the type: an error has to come before the first write
  redis.call('zcard', q.timeouts)
  while head do
    local score = scoreOf(q, head)
    if not score or score > moment then return head end
    redis.call('zrem', q.timeouts, head)
    redis.call('lpop', q.list)
    head = redis.call('lindex', q.list, 0)
  end
  return head
end
`;

/**
 * The waiters in order (`waiters(q)`), their scores by name (`allScores(q)`), the mark of a probed waiter
 * (`isProbed(score)`), and `setScore(q, waiter, score)`.
 */
export const SCORES = lua`
local function waiters(q)
  return redis.call('lrange', q.list, 0, -1)
end
local function allScores(q)
  local pairs, scores = redis.call('zrange', q.timeouts, 0, -1, 'withscores'), {}
  for i = 1, #pairs, 2 do scores[pairs[i]] = tonumber(pairs[i + 1]) end
  return scores
end
local function isProbed(score)
  return score and score % 1 == 0.5 or false
end
local function setScore(q, waiter, score)
  redis.call('zadd', q.timeouts, score, waiter)
end
`;

/**
 * `shift(q, from, by)`: moves the scores of a waiter and of all behind it. The claims of probed waiters keep their
 * ends. Needs {@link SCORES}.
 */
export const SHIFT = lua`
local function shift(q, from, by)
  local scores, reached = allScores(q), false
  for _, waiter in ipairs(waiters(q)) do
    reached = reached or waiter == from
    local score = scores[waiter]
    if reached and score and not isProbed(score) then setScore(q, waiter, score + by) end
  end
end
`;

/**
 * `endClaims(q, floor)`: ends all claims, since the lock has an owner. A probed waiter that has not answered may be a
 * live Java waiter, so it gets a score later than `floor` (epoch ms) and later than those ahead.
 *
 * `endOldClaims(q, head, ttl, moment)`: does so for a lock that is held for `ttl` ms more, if claims are left: a Java
 * holder does not end them. `head` may be false. Both need {@link SCORE_OF} and {@link SCORES}.
 */
export const END_CLAIMS = lua`
local function endClaims(q, floor)
  local scores, last = allScores(q), floor
  for _, waiter in ipairs(waiters(q)) do
    local score = scores[waiter]
    if isProbed(score) then
      score = last + ${UNKNOWN_WAIT_MS}
      setScore(q, waiter, score)
    end
    if score and score > last then last = score end
  end
end
local function endOldClaims(q, head, ttl, moment)
  if head and isProbed(scoreOf(q, head)) then endClaims(q, moment + math.max(ttl, 0) + ${FAIR_CLAIM_MS}) end
end
`;

/**
 * `claim(q, head, asker, moment, told)`: the lock is free, and the head, which was notified `told` ms ago, has not
 * attempted. The asker is another waiter, or false if it is not queued. Takes the step of the table above that is due.
 * Returns after how many ms the asker should retry, at the latest.
 *
 * `probe(q, asker, moment)`: its second step. The claims of all waiters ahead of the asker (false: of all waiters) run
 * at the same time, and end in the order of the queue. Both need {@link TELL_WAITER}, {@link SCORE_OF} and
 * {@link SCORES}.
 */
export const CLAIM = lua`
local function probe(q, asker, moment)
  local ahead = {}
  for _, waiter in ipairs(waiters(q)) do
    if waiter == asker then break end
    ahead[#ahead + 1] = waiter
  end
  local scores = allScores(q)
  local turn = math.min(${TURNS_MS} / #ahead, ${LONGEST_TURN_MS})
  for i, waiter in ipairs(ahead) do
    local ends = moment + ${FAIR_CLAIM_MS - FAIR_PROBE_AFTER_MS} + turn * (i - 1)
    setScore(q, waiter, math.floor(math.min(scores[waiter] or ends, ends)) + 0.5)
    tellWaiter(q, waiter)
  end
end
local function isClaim(score, moment)
  return isProbed(score) and score <= moment + ${LONGEST_CLAIM_MS}
end
local function claim(q, head, asker, moment, told)
  local ends = scoreOf(q, head)
  if not isClaim(ends, moment) then
    if not ends or ends > moment + ${FAIR_CLAIM_MS} - told then
      ends = moment + ${FAIR_CLAIM_MS} - told
      setScore(q, head, ends)
    end
    local rest = ends - moment - ${FAIR_CLAIM_MS - FAIR_PROBE_AFTER_MS}
    if rest > 0 then
      tellWaiter(q, head)
      return rest
    end
    probe(q, asker, moment)
    ends = scoreOf(q, head)
  end
  local scores, last = allScores(q), ends
  for _, waiter in ipairs(waiters(q)) do
    if waiter == asker then break end
    local score = scores[waiter]
    if not isClaim(score, moment) then return ends - moment + ${FALLBACK_MS} end
    last = math.max(last, score)
  end
  return last - moment
end
`;

/**
 * The most waiters whose channels one process subscribes to. A message goes to the head, so more would matter only if
 * so many left the queue unnoticed between two checks.
 */
const AHEAD_LIMIT = 1000;

/**
 * `aheadOf(q, name, client)`: the waiters ahead of the first one of that client, to whose channels it must subscribe:
 * Java notifies only the head, which may be dead. Empty if all of them, and the holder, have thread ids that only this
 * package makes: its clients check by themselves that the head attempts.
 */
export const AHEAD_OF = lua`
local function mayBeJava(owner)
  local threadId = tonumber(string.match(owner, ':(%d+)$'))
  return not threadId or threadId < ${FIRST_AUTOMATIC_THREAD_ID} or threadId > ${Number.MAX_SAFE_INTEGER}
end
local function isOf(client, waiter)
  return string.sub(waiter, 1, #client + 1) == client .. ':'
end
local function aheadOf(q, name, client)
  local first = redis.call('lindex', q.list, 0)
  if not first or isOf(client, first) then return {} end
  local holder = redis.call('hkeys', name)[1]
  local ahead, java = {}, holder and not isOf(client, holder) and mayBeJava(holder)
  for _, waiter in ipairs(redis.call('lrange', q.list, 0, ${AHEAD_LIMIT - 1})) do
    if isOf(client, waiter) then break end
    ahead[#ahead + 1] = waiter
    java = java or mayBeJava(waiter)
  end
  return java and ahead or {}
end
`;
