/*
 * The queue of a fair lock: the functions that its scripts share, over the keys `name`, `queue` and `timeouts` and the
 * channels that begin with `channelBase`.
 *
 * A score in `timeouts` says when its waiter will have given up, at the latest: what the lock has still to live, plus the
 * waits of everybody ahead, plus its own. So when a waiter leaves or gets the lock, its wait is taken off everybody behind;
 * but they must still wait for its lease, whatever was predicted.
 *
 * A free lock is kept for the head of the queue, which may be dead, or frozen with its subscription open. So, from when the
 * head is told (an unlock) or found absent (any attempt of others, queued or not):
 *
 * | after                | step                                                                                      |
 * |----------------------|-------------------------------------------------------------------------------------------|
 * | 0                    | the head's score is cut to 3 s: its claim                                                 |
 * | 0.5 s                | whoever looks now calls all who stand before it: each is told, its score is cut to 2.5 s  |
 * |                      | and a little more the further back it stands, and ends in .5, which means "called"        |
 * | milliseconds later   | the live ones answer by an attempt: that takes the mark away and gives a new score         |
 * | 3 s to 3.75 s        | claims that were not answered end; the first live one drops those before it and gets in   |
 *
 * So any number of dead and frozen waiters costs 3.75 s once. When somebody gets the lock, no claim runs any more. Java's
 * waiters cannot answer (their attempts leave their scores alone): called, they try on until it is their turn.
 */

/**
 * How long (ms) a free lock is kept for the head of the queue, from when it was told or found absent. A live head comes
 * within milliseconds; a client that has to connect again needs up to 2 s.
 */
export const FAIR_CLAIM_MS = 3000;

/** When the head has not come for so long (ms), the waiters behind it are called too. */
const FAIR_CALL_AFTER_MS = 500;

/**
 * The claims of the called end one after the other within so long (ms), at most {@link LONGEST_TURN_MS} apart. A Java
 * waiter cannot answer a call: it gets in while it is the head and its claim has not ended.
 */
const TURNS_MS = 750;
const LONGEST_TURN_MS = 100;

/** A waiter that has a live one ahead looks again so long (ms) after that one should have got in. */
const FALLBACK_MS = 2000;

/**
 * Put between the scores of waiters whose real distance was cut away: what a Java waiter takes off everybody behind it
 * when it gets in, by default.
 */
export const UNKNOWN_WAIT_MS = 300_000;

/** An unlock tells so many waiters at most: the head, and who comes next while nobody listens to the message. */
const WAKE_LIMIT = 3;

/** The functions that the scripts share. They use the keys, `channelBase`, `message` and `publish`. */
export const FAIR_FUNCTIONS = `
local function scoreOf(waiter)
  return tonumber(redis.call('zscore', timeouts, waiter))
end

local function setScore(waiter, score)
  redis.call('zadd', timeouts, score, waiter)
end

local function waiters()
  return redis.call('lrange', queue, 0, -1)
end

-- waiter -> score
local function allScores()
  local pairs, scores = redis.call('zrange', timeouts, 0, -1, 'withscores'), {}
  for i = 1, #pairs, 2 do scores[pairs[i]] = tonumber(pairs[i + 1]) end
  return scores
end

local function isCalled(score)
  return score and score % 1 == 0.5 or false
end

local function tell(waiter)
  -- a refusal must not stop the script in its middle: to whom nothing may be said is as good as not there
  local receivers = redis.pcall(publish, channelBase .. ':' .. waiter, message)
  return type(receivers) == 'number' and receivers or 0
end

-- Drops heads whose time has passed, as every script of Redisson does first. Returns the head; false: nobody waits.
-- ZCARD only asks for the type: an error has to come before the first write.
local function purge(moment)
  local head = redis.call('lindex', queue, 0)
  redis.call('zcard', timeouts)
  while head do
    local score = scoreOf(head)
    if not score or score > moment then return head end
    redis.call('zrem', timeouts, head)
    redis.call('lpop', queue)
    head = redis.call('lindex', queue, 0)
  end
  return head
end

-- Moves the scores of a waiter and of everybody behind it. The end of a called waiter's claim stays.
local function shift(from, by)
  local scores, reached = allScores(), false
  for _, waiter in ipairs(waiters()) do
    reached = reached or waiter == from
    local score = scores[waiter]
    if reached and score and not isCalled(score) then setScore(waiter, score + by) end
  end
end

-- Tells the head that it is its turn. While nobody listens the next one is told too, who finds out that the head is gone.
local function wake()
  for _, waiter in ipairs(redis.call('lrange', queue, 0, ${WAKE_LIMIT - 1})) do
    local receivers = tell(waiter)
    if receivers > 0 then return receivers end
  end
  return 0
end

-- Somebody has the lock: no claim runs any more. Called waiters that did not answer may be Java's, and live.
local function endClaims(floor)
  local scores, last = allScores(), floor
  for _, waiter in ipairs(waiters()) do
    local score = scores[waiter]
    if isCalled(score) then
      score = last + ${UNKNOWN_WAIT_MS}
      setScore(waiter, score)
    end
    if score and score > last then last = score end
  end
end

-- A waiter that comes back is alive. Returns its new score.
local function refresh(waiter, score, free, patience)
  if not isCalled(score) then
    -- The holder goes on for longer than its lease. Order and distances stay.
    local late = free + patience - score
    if late <= patience / 2 then return score end
    shift(waiter, late)
    return score + late
  end
  local scores, due = allScores(), free
  for _, ahead in ipairs(waiters()) do
    if ahead == waiter then break end
    local before = scores[ahead]
    if isCalled(before) then due = due + ${UNKNOWN_WAIT_MS} elseif before and before > due then due = before end
  end
  setScore(waiter, due + patience)
  return due + patience
end

-- Calls everybody ahead of the asker (false: everybody). Their claims run together, and end in the order of the queue.
local function call(asker, moment)
  local ahead = {}
  for _, waiter in ipairs(waiters()) do
    if waiter == asker then break end
    ahead[#ahead + 1] = waiter
  end
  local scores = allScores()
  local turn = math.min(${TURNS_MS} / #ahead, ${LONGEST_TURN_MS})
  for i, waiter in ipairs(ahead) do
    local ends = moment + ${FAIR_CLAIM_MS - FAIR_CALL_AFTER_MS} + turn * (i - 1)
    setScore(waiter, math.floor(math.min(scores[waiter] or ends, ends)) + 0.5)
    tell(waiter)
  end
end

-- The lock is free and the asker (false: not queued) not the head, which was told so many ms ago and has not come.
-- Returns in how many ms the asker should look again.
local function claim(head, asker, moment, told)
  local ends = scoreOf(head)
  if not isCalled(ends) then
    if not ends or ends > moment + ${FAIR_CLAIM_MS} - told then
      ends = moment + ${FAIR_CLAIM_MS} - told
      setScore(head, ends)
    end
    local rest = ends - moment - ${FAIR_CLAIM_MS - FAIR_CALL_AFTER_MS}
    if rest > 0 then
      tell(head)
      return rest
    end
    call(asker, moment)
    ends = scoreOf(head)
  end
  local scores, last = allScores(), ends
  for _, waiter in ipairs(waiters()) do
    if waiter == asker then break end
    local score = scores[waiter]
    if not isCalled(score) then return ends - moment + ${FALLBACK_MS} end
    last = math.max(last, score)
  end
  return last - moment
end
`;
