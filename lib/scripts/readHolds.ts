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

/**
 * Defines `heldAside()`: how many read holds the owner has on the lock whose hold keys are the same. Redisson builds them
 * from `{name}`, so `x` and `{x}` share them; what is still a hold there is neither deleted nor shortened. Where the user may
 * not look at that name, nobody can have taken a hold on it with this client. Needs `name`, `owner`.
 */
export const HELD_ASIDE = `
local function heldAside()
  local other = string.match(name, '^{([^{]*)}$')
  if not other and not string.find(name, '{', 1, true) then other = '{' .. name .. '}' end
  -- pcall: the name may hold another type, be forbidden, or (with odd braces) be of another slot
  if not other or type(redis.pcall('hget', other, 'mode')) ~= 'string' then return 0 end
  return tonumber(redis.call('hget', other, owner)) or 0
end
`;
