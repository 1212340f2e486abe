/*
 * What a Java client asks of the server, as the description of its protocol tells it. The Lua is our own: the keys,
 * arguments, answers, messages and effects are Redisson's, also where we would do otherwise.
 */

/** Answers what an unlock with this request id has answered before. */
function answered(latch: number): string {
  return `
local known = redis.call('get', KEYS[${latch}])
if known ~= false then
  return tonumber(known)
end`;
}

/** Takes those off the head of the queue whose time is over. The queue is KEYS[2], the times KEYS[3]. */
function purge(now: number): string {
  return `
local now = tonumber(ARGV[${now}])
local head = redis.call('lindex', KEYS[2], 0)
while head do
  local score = redis.call('zscore', KEYS[3], head)
  if score == false or tonumber(score) > now then
    break
  end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
  head = redis.call('lindex', KEYS[2], 0)
end`;
}

/** Takes the fair lock if it is free for this owner, or its own already. */
function fairTake(wait: number): string {
  return `
if redis.call('exists', KEYS[1]) == 0 and (head == false or head == ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  for i, member in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zadd', KEYS[3], tonumber(redis.call('zscore', KEYS[3], member)) - tonumber(ARGV[${wait}]), member)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end`;
}

export const JAVA_SCRIPTS = {
  /** KEYS name; ARGV lease, owner. */
  acquire: `
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return redis.call('pttl', KEYS[1])
end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return nil`,

  /** KEYS name, channel, latch; ARGV 0, lease, owner, publish, latch ttl. */
  unlock: `${answered(3)}
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('del', KEYS[1])
redis.call(ARGV[4], KEYS[2], ARGV[1])
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1`,

  /** KEYS names; ARGV lease, owners. */
  renew: `
local found = {}
for i, name in ipairs(KEYS) do
  if redis.call('hexists', name, ARGV[i + 1]) == 1 then
    redis.call('pexpire', name, ARGV[1])
    found[i] = 1
  else
    found[i] = 0
  end
end
return found`,

  /** KEYS name, queue, times; ARGV lease, owner, wait, now. */
  fairAcquire: `${purge(4)}${fairTake(3)}
local ttl = redis.call('pttl', KEYS[1])
if redis.call('zscore', KEYS[3], ARGV[2]) ~= false then
  return math.max(0, ttl)
end
local last = redis.call('lindex', KEYS[2], -1)
if last ~= false and last ~= ARGV[2] then
  local score = redis.call('zscore', KEYS[3], last)
  if score ~= false then
    ttl = tonumber(score) - now
  end
end
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + now, ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl`,

  /** KEYS name, queue, times; ARGV lease, owner, now, wait. */
  fairTry: `${purge(3)}${fairTake(4)}
return 1`,

  /** KEYS name, queue, times, channel base, latch; ARGV 0, lease, owner, now, publish, latch ttl. */
  fairUnlock: `${answered(5)}${purge(4)}
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('set', KEYS[5], 1, 'px', ARGV[6])
  if head then
    redis.call(ARGV[5], KEYS[4] .. ':' .. head, ARGV[1])
  end
  return 1
end
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[5], 0, 'px', ARGV[6])
  return 0
end
redis.call('del', KEYS[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[6])
if head then
  redis.call(ARGV[5], KEYS[4] .. ':' .. head, ARGV[1])
end
return 1`,

  /** KEYS queue, times; ARGV owner, wait. */
  fairLeave: `
local behind = false
for i, member in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if behind then
    local score = redis.call('zscore', KEYS[2], member)
    if score ~= false then
      redis.call('zadd', KEYS[2], tonumber(score) - tonumber(ARGV[2]), member)
    end
  end
  if member == ARGV[1] then
    behind = true
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
return nil`,

  /** KEYS name, prefix of the holds; ARGV lease, owner, owner as writer. */
  readAcquire: `
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'read')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
  local count = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':' .. count, 1, 'px', ARGV[1])
  redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[1])))
  return nil
end
return redis.call('pttl', KEYS[1])`,

  /** KEYS name; ARGV lease, owner as writer. */
  writeAcquire: `
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'write')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + tonumber(ARGV[1]))
  return nil
end
return redis.call('pttl', KEYS[1])`,

  /** KEYS name, channel, prefix of the holds, prefix of all holds, latch; ARGV 0, owner, publish, latch ttl. */
  readUnlock: `${answered(5)}
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call(ARGV[3], KEYS[2], ARGV[1])
  redis.call('set', KEYS[5], 1, 'px', ARGV[4])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if count == 0 then
  redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', KEYS[3] .. ':' .. (count + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  local longest = -3
  for i, field in ipairs(redis.call('hkeys', KEYS[1])) do
    local holds = tonumber(redis.call('hget', KEYS[1], field))
    if holds ~= nil then
      for hold = 1, holds do
        longest = math.max(longest, redis.call('pttl', KEYS[4] .. ':' .. field .. ':rwlock_timeout:' .. hold))
      end
    end
  end
  if longest > 0 then
    redis.call('pexpire', KEYS[1], longest)
    redis.call('set', KEYS[5], 0, 'px', ARGV[4])
    return 0
  end
  if mode == 'write' then
    redis.call('set', KEYS[5], 0, 'px', ARGV[4])
    return 0
  end
end
redis.call('del', KEYS[1])
redis.call(ARGV[3], KEYS[2], ARGV[1])
redis.call('set', KEYS[5], 1, 'px', ARGV[4])
return 1`,

  /** KEYS name, channel, latch; ARGV 1, lease, owner as writer, publish, latch ttl. */
  writeUnlock: `${answered(3)}
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call(ARGV[4], KEYS[2], ARGV[1])
  redis.call('set', KEYS[3], 1, 'px', ARGV[5])
  return nil
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], ARGV[3]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[3], 0, 'px', ARGV[5])
  return 0
end
redis.call('hdel', KEYS[1], ARGV[3])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
  redis.call(ARGV[4], KEYS[2], ARGV[1])
else
  redis.call('hset', KEYS[1], 'mode', 'read')
end
redis.call('set', KEYS[3], 1, 'px', ARGV[5])
return 1`,

  /** KEYS name, prefix of all holds; ARGV lease, owners. */
  readRenew: `
local found = 0
for i, owner in ipairs(ARGV) do
  if i > 1 then
    local holds = redis.call('hget', KEYS[1], owner)
    if holds ~= false then
      for hold = 1, tonumber(holds) do
        redis.call('pexpire', KEYS[2] .. ':' .. owner .. ':rwlock_timeout:' .. hold, ARGV[1])
      end
      found = 1
    end
  end
end
if found == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return found`,
} as const;

export type JavaScriptName = keyof typeof JAVA_SCRIPTS;
