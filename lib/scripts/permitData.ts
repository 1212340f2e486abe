/*
 * What the scripts of the permit-expirable semaphore share: pieces of Lua over the keys `name`, `permits` and `channel`.
 */

/** The score of a permit without lease; as text, since Redisson compares it as text. */
export const PERMIT_WITHOUT_LEASE = '922337203685477';

/** Leaves `available` (nil without a semaphore). A number that is none is an error before anything is written. */
export const LOOK = `
local available = redis.call('get', name)
if available and not tonumber(available) then
  return redis.error_reply('ERR value is not an integer or out of range')
end
available = tonumber(available)
`;

/** Puts `expired` permits, already taken out of the zset, back into `available`. */
export const PUT_BACK = `
if expired > 0 then
  available = redis.call('incrby', name, expired)
  if available > 0 then redis.pcall(publish, channel, available) end
end
`;

/** The first step of most operations. */
export const PURGE = `
${LOOK}
local expired = redis.call('zremrangebyscore', permits, '-inf', now)
${PUT_BACK}
`;
