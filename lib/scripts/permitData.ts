import { lua } from './Script';

/*
 * Lua functions that the scripts of the permit-expirable semaphore share.
 */

/** The score of a permit without lease; as text, since Redisson compares it as text. */
export const PERMIT_WITHOUT_LEASE = '922337203685477';

/**
 * `readAvailable(name)`: the number of available permits, nil without a semaphore. A second result is an error, which
 * the script must return before it writes anything: the key holds no number.
 */
export const READ_AVAILABLE = lua`
local function readAvailable(name)
  local available = redis.call('get', name)
  if available and not tonumber(available) then
    return nil, redis.error_reply('ERR value is not an integer or out of range')
  end
  return tonumber(available)
end
`;

/**
 * `putBack(name, channel, publish, expired)`: makes so many permits available again, which are already out of the zset,
 * and tells the waiters. Returns the number of available permits.
 */
export const PUT_BACK = lua`
local function putBack(name, channel, publish, expired)
  local available = redis.call('incrby', name, expired)
  if available > 0 then redis.pcall(publish, channel, available) end
  return available
end
`;

/**
 * `purge(name, permits, channel, publish, now)`: puts all expired permits back, the first step of most operations.
 * Returns what `readAvailable` returns. Brings {@link READ_AVAILABLE} and {@link PUT_BACK}.
 */
export const PURGE = lua`${READ_AVAILABLE}${PUT_BACK}
local function purge(name, permits, channel, publish, now)
  local available, failure = readAvailable(name)
  if failure then return nil, failure end
  local expired = redis.call('zremrangebyscore', permits, '-inf', now)
  if expired > 0 then available = putBack(name, channel, publish, expired) end
  return available
end
`;
