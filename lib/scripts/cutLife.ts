import { RELEASED_UNHEARD } from './replies';

/*
 * Whoever waits sleeps until a message, or for as long as the lock had to live when it looked. So a lock that gets less to
 * live has to say so: its holder may die, and then nobody says anything.
 */

/** A lock that gets less to live by more than this (ms) tells its waiters: so much too late at most one comes. */
export const NEWS_MS = 1000;

/** Of a read/write lock, see {@link CUT_RW_LIFE}: half of what it had, and so much (ms) that a re-entry is none of it. */
const RW_NEWS = `ttl / 2 + ${NEWS_MS}`;

function cutLife(news: string, tell: string): string {
  return `
local function cutLife(rest)
  local ttl = redis.call('pttl', name)
  redis.call('pexpire', name, rest)
  if ttl - rest > ${news} then ${tell} end
end
`;
}

/**
 * Defines `tell()`: sends the message of a release. @returns the subscribers, -1 where the user may not publish. A refusal
 * must not stop the script in the middle, since Redis does not take back what a script has written. Needs `channel`,
 * `message`, `publish`.
 */
export const TELL = `
local function tell()
  local receivers = redis.pcall(publish, channel, message)
  return type(receivers) == 'number' and receivers or -1
end
`;

/** What a release answers that has freed the lock; needs {@link TELL}. */
export const FREED = `
local receivers = tell()
return receivers < 0 and ${RELEASED_UNHEARD} or 1 + receivers
`;

/**
 * Defines `cutLife(rest)`: the lock lives for `rest` ms from now, and whoever sleeps for longer is told. Brings
 * {@link TELL}; needs `name`, too.
 */
export const CUT_LIFE = TELL + cutLife(String(NEWS_MS), 'tell()');

/**
 * The same for a read/write lock, which tells less: each short read under a long one ends with a cut, and each message has
 * every waiting writer look. One comes too late by as much as the lock had still to live, and 2 s, at most.
 */
export const CUT_RW_LIFE = TELL + cutLife(RW_NEWS, 'tell()');

/** The same for a fair lock: the head is told. Needs `name`, and what `wake()` needs. */
export const CUT_FAIR_LIFE = cutLife(String(NEWS_MS), 'wake()');
