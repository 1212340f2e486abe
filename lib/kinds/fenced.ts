import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import { type AcquireReply, NOT_HELD, type ReleaseReply } from '../scripts/replies';
import { defineScript, lua, RESEND_FLAG } from '../scripts/Script';
import { prefixName } from '../util/names';
import { ACQUIRES, LOCK, lockChannel } from './reentrant';
import type { AttemptRequest, LockDescriptor } from './Kind';

/** The key of the last token: `redisson_lock_token:{name}`. */
export function tokenKey(rawName: string): string {
  return prefixName('redisson_lock_token', rawName);
}

/** GET of the last token. @returns 0n if there never was one */
export async function readToken(executor: CommandExecutor, rawName: string, name: string): Promise<bigint> {
  const token = await executor.call('get', [tokenKey(rawName)], { what: 'read the token of fenced lock', name });
  return typeof token === 'string' ? BigInt(token) : 0n;
}

/*
 * The fenced lock (Redisson: RedissonFencedLock): the lock of `reentrant.ts` with a number that grows with every
 * acquisition. Release, forced release and renewal are the same scripts.
 *
 * | Redis data                        | type    | holds                                                  |
 * |-----------------------------------|---------|--------------------------------------------------------|
 * | `name`                            | hash    | owner -> hold count, expires with lease                |
 * | `redisson_lock_token:{name}`      | string  | the last token given out; stays when the lock goes     |
 * | `redisson_lock__channel:{name}`   | channel | `0` each time the lock becomes free                    |
 *
 * Each acquisition takes a token, a re-entry too, as in Redisson. Tokens are sent as text: a Lua number is exact only
 * up to 2^53. INCR comes before the write of the lock, since it fails if the token key has another type or is not a
 * number. Then nothing is changed.
 *
 * A hold that is already there was acquired by an earlier send of the same command, or is a leftover: this client has
 * reported it as lost, or gave it up. Only a repeat returns the current token (`repeated`); every other acquisition
 * takes a new one.
 */

/**
 * One attempt to acquire the lock, or to acquire it once more, with a token.
 *
 * KEYS: name, token. ARGV: lease (ms), owner, count (the holds that the owner is to have afterwards: known holds + 1),
 * repeated (RESEND_FLAG; `0` if a leftover is possible).
 * Output: `{token}` = acquired with `count` holds; `{token, n}` = acquired, but with n holds (the earlier ones were
 * lost); integer = held by another, its PTTL in ms (-1: no expiry). A repeat takes no second token: it finds its hold
 * and returns the current token, which no other owner can have raised meanwhile.
 */
export const acquireFencedLock = defineScript({
  name: 'fencedLock.acquire',
  keys: ['name', 'token'],
  args: ['lease', 'owner', 'count', 'repeated'],
  ...ACQUIRES,
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
  decode(reply: unknown): AcquireReply {
    if (!Array.isArray(reply)) return { acquired: false, ttl: Number(reply) };
    // Text: above 2^53 a Lua number is not exact.
    const token = BigInt(reply[0] as string);
    return reply.length > 1 ? { acquired: true, token, holds: Number(reply[1]) } : { acquired: true, token };
  },
});

/**
 * Hands the last hold of one owner to another owner of the same client in one step, with a new token.
 *
 * KEYS: name, token. ARGV: owner, heir, lease (ms, of the heir), repeated (RESEND_FLAG; `0` if the heir may have a
 * leftover).
 * Output: nil = neither the owner nor the heir holds it; text = the token: handed over (now, or by an earlier send).
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
  if not current or repeated ~= '1' or redis.call('hexists', name, heir) == 0 then return nil end
  -- for the replicas, as in lock.handOver
  if redis.call('pttl', name) < tonumber(lease) then redis.call('pexpire', name, lease) end
  return current
end
-- the lease comes first: see touch in shortenLease.ts
redis.call('pexpire', name, lease)
redis.call('incr', token)
-- the heir goes in first: Redis deletes an empty hash, and sends an event for it
redis.call('hset', name, heir, 1)
redis.call('hdel', name, owner)
return redis.call('get', token)
`,
  decode: (reply: unknown): ReleaseReply =>
    reply === null ? NOT_HELD : { kind: 'handed', token: BigInt(reply as string) },
});

/**
 * Whether a hold that the script finds can only come from this acquisition. (Whether there may be a leftover costs a
 * search, so only this kind asks.)
 */
function repeatFlag({ acquisition: { repeated }, leftover }: AttemptRequest): '0' | '1' | typeof RESEND_FLAG {
  if (leftover) return '0';
  return repeated ? '1' : RESEND_FLAG;
}

/** The fenced lock (Redisson: RedissonFencedLock): a token for each acquisition, hand-overs included. */
export const FENCED = {
  ...LOCK,
  name: 'fenced',
  noun: 'fenced lock',
  report: 'fenced',
  keysOf: (rawName: string) => ({ name: rawName, token: tokenKey(rawName), channel: lockChannel(rawName) }),
  acquire: acquireFencedLock,
  attemptArgs: (request) => ({ repeated: repeatFlag(request) }),
  handOver: handOverFencedLock,
  move: handOverFencedLock,
  commands: ['hget', 'hlen', 'get'],
  lockOf: (client, name) => client.getFencedLock(name),
} as const satisfies LockDescriptor;
