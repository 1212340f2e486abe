import { decodeFencedAcquire, decodeFencedHandOver } from './replies';
import { defineScript, lua } from './Script';

/*
 * The fenced lock (Redisson: RedissonFencedLock): the lock of `lock.ts` with a number that grows with every
 * acquisition. Release, forced release and renewal are those of `lock.ts`.
 *
 * | Redis data                        | type    | holds                                                  |
 * |-----------------------------------|---------|--------------------------------------------------------|
 * | `name`                            | hash    | owner -> hold count, expires with lease                |
 * | `redisson_lock_token:{name}`      | string  | the last token given out; stays when the lock goes     |
 * | `redisson_lock__channel:{name}`   | channel | `0` each time the lock becomes free                    |
 *
 * Each acquisition takes a token, a re-entry too, as in Redisson. Tokens travel as text: a number in Lua is exact only
 * up to 2^53. INCR comes before the lock is written, since it fails where the token key is of another type or holds no
 * number. Everything then stays as it was.
 *
 * A hold that is already there was taken by an earlier send of the same command, or is a leftover: this client has
 * reported it lost, or gave it up. Only the repeat answers the current token (`repeated`). Anything else takes a new
 * one.
 */

/**
 * One attempt to take the lock, or to take it once more, with a token.
 *
 * KEYS: name, token. ARGV: lease (ms), owner, count (the holds the owner shall have afterwards: known holds + 1),
 * repeated (RESEND_FLAG; `0` where a leftover is possible).
 * Output: `{token}` = acquired with `count` holds; `{token, n}` = acquired, but with n holds (the earlier ones were
 * lost); integer = held by another, its PTTL in ms (-1: no expiry). A repeat takes no second token: it finds its hold
 * and answers the current one, which nobody can have raised meanwhile.
 */
export const acquireFencedLock = defineScript({
  name: 'fencedLock.acquire',
  keys: ['name', 'token'],
  args: ['lease', 'owner', 'count', 'repeated'],
  resend: 'connection',
  synced: ({ acquired }) => acquired,
  lua: lua`
local held = tonumber(redis.call('hget', name, owner))
local current = redis.call('get', token)
local ttl = redis.call('pttl', name)
if not held and ttl ~= -2 then return ttl end
local wanted = tonumber(count)
if not current or not held or held < wanted or repeated ~= '1' then
  redis.call('incr', token)
  current = redis.call('get', token)
end
if not held or held < wanted then held = redis.call('hincrby', name, owner, 1) end
if ttl < tonumber(lease) then redis.call('pexpire', name, lease) end
if held == wanted then return {current} end
return {current, held}
`,
  decode: decodeFencedAcquire,
});

/**
 * Hands the last hold of one owner to another owner of the same client in one step, with a token of its own.
 *
 * KEYS: name, token. ARGV: owner, heir, lease (ms, of the heir), repeated (RESEND_FLAG; `0` where the heir may have a
 * leftover).
 * Output: nil = the owner holds nothing and the heir neither; text = handed over (now, or by an earlier send), the
 * token.
 */
export const handOverFencedLock = defineScript({
  name: 'fencedLock.handOver',
  keys: ['name', 'token'],
  args: ['owner', 'heir', 'lease', 'repeated'],
  resend: 'always',
  synced: ({ kind }) => kind === 'handed',
  lua: lua`
local current = redis.call('get', token)
if redis.call('hexists', name, owner) == 0 then
  if current and repeated == '1' and redis.call('hexists', name, heir) == 1 then return current end
  return nil
end
redis.call('incr', token)
-- the heir goes in first: Redis deletes an empty hash, and sends an event for it
redis.call('hset', name, heir, 1)
redis.call('hdel', name, owner)
redis.call('pexpire', name, lease)
return redis.call('get', token)
`,
  decode: decodeFencedHandOver,
});
