import { RELEASED_UNHEARD } from './replies';
import { lua } from './Script';

/*
 * A waiter sleeps until a message comes, or until the end of the lease that it saw in its last attempt. So a script
 * that shortens a lease notifies the waiters: if the holder dies, no other message would wake them.
 */

/**
 * Waiters are notified when a lease gets shorter by more than this (ms). A waiter can oversleep by at most this long
 * for each time that a lease is shortened.
 */
export const NOTICE_MS = 1000;

/**
 * `touch(name)`: a write that changes nothing, in the hash of a lock: no field has that name. A server without memory
 * refuses HSET, SET, INCR and the like, but not behind a write that it has allowed. So each script that gives something
 * back begins with such a one: this, a deletion or an expiry. A test runs them all on a full server.
 */
export const TOUCH = lua`
local function touch(name) redis.call('hdel', name, '') end
`;

/**
 * `tell(publish, channel, message)`: publishes a wake-up message. Returns the number of subscribers that got it, -1 if
 * the user may not publish. A refusal must not stop the script: Redis does not roll back what a script has already
 * written.
 */
export const TELL = tellBy('tellAll');

/**
 * `tell` as above, for the scripts that report themselves that no waiter was notified, and
 * `tellReleased(publish, channel, message)`: notifies the waiters that the lock is free. Returns the reply of a
 * release: 1 + the number of subscribers, -2 if the user may not publish.
 */
export const TELL_RELEASED = lua`${tellBy('redis.pcall')}
local function tellReleased(publish, channel, message)
  local receivers = tell(publish, channel, message)
  return receivers < 0 and ${RELEASED_UNHEARD} or 1 + receivers
end
`;

function tellBy(publisher: string): string {
  return lua`
local function tell(publish, channel, message)
  local receivers = ${publisher}(publish, channel, message)
  return type(receivers) == 'number' and receivers or -1
end
`;
}

function shortenLease(notice: string): string {
  return lua`
local function shortenLease(name, rest)
  local ttl = redis.call('pttl', name)
  redis.call('pexpire', name, rest)
  return ttl - rest > ${notice}
end
`;
}

/** `shortenLease(name, rest)`: sets the lease to `rest` ms from now. Returns whether waiters must be notified. */
export const SHORTEN_LEASE = shortenLease(String(NOTICE_MS));

/**
 * The same for a read/write lock, which notifies its waiters less often. Every short read during a long one shortens
 * the lease at its end, and each message makes every waiting writer attempt. Waiters are notified when the lease gets
 * shorter by more than half of what was left, plus {@link NOTICE_MS} so that a re-entry does not count. A waiter can
 * oversleep by at most as much for each time that the lease is shortened, and never beyond the end of the lease that
 * it saw in its last attempt.
 */
export const SHORTEN_RW_LEASE = shortenLease(`ttl / 2 + ${NOTICE_MS}`);

/**
 * `leaveHolds(name, owner, held, left, remaining)`: of an owner's holds, leaves so many, with a lease of `remaining`
 * ms; '0' leaves the lease unchanged. Returns whether waiters must be notified. Needs one of the two functions above.
 */
export const LEAVE_HOLDS = lua`${TOUCH}
local function leaveHolds(name, owner, held, left, remaining)
  touch(name)
  local isNotice = tonumber(remaining) > 0 and shortenLease(name, remaining)
  if held > tonumber(left) then redis.call('hset', name, owner, left) end
  return isNotice
end
`;
