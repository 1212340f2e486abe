/*
 * Lua shared by the two halves of the read/write lock: how long the read holds live.
 */

/**
 * Defines `longestRead()`: the time to live (ms) of the longest-lived read hold of all owners; 0 or less: there is none.
 * Every field with a number is looked up, a writer's too (it has no such keys), as Redisson does. Needs `name`, `keyPrefix`.
 */
export const LONGEST_READ = `
local function longestRead()
  local longest = 0
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do
    for hold = 1, tonumber(fields[i + 1]) or 0 do
      local ttl = redis.call('pttl', keyPrefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
      if ttl > longest then longest = ttl end
    end
  end
  return longest
end
`;
