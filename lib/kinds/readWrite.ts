import { decodeFlag } from '../scripts/replies';
import { defineScript, lua, type Script } from '../scripts/Script';
import { TELL } from '../scripts/shortenLease';
import { prefixName, remembered, suffixName } from '../util/names';

/** The channel of both halves: `redisson_rwlock:{name}`. */
const readWriteChannel = remembered((rawName) => prefixName('redisson_rwlock', rawName));

/** The prefix of the keys of an owner's read holds: `{name}:<owner>:rwlock_timeout`. */
function timeoutPrefix(rawName: string, owner: string): string {
  return `${suffixName(rawName, owner)}:rwlock_timeout`;
}

/** The prefix of the keys of all read holds: `{name}`, or the name itself if it contains `{`. */
export function readKeyPrefix(rawName: string): string {
  return rawName.includes('{') ? rawName : `{${rawName}}`;
}

/** What the descriptors of both halves have in common. */
export const READ_WRITE = {
  report: 'readWrite',
  data: 'mode',
  keysOf: (rawName: string, owner: string) => ({
    name: rawName,
    channel: readWriteChannel(rawName),
    timeoutPrefix: timeoutPrefix(rawName, owner),
    keyPrefix: readKeyPrefix(rawName),
  }),
  channelOf: readWriteChannel,
  commands: ['hget'],
  forRun: true,
} as const;

/* Lua functions that both halves of the read/write lock use: which read holds there are, and how long they live. */

/**
 * `longestRead(name, keyPrefix)`: the longest time to live (ms) of all read holds of all owners; 0 or less: there is
 * none. A writer's field is skipped: it has no such keys, and its count may be high.
 */
export const LONGEST_READ = lua`
local function longestRead(name, keyPrefix)
  local longest = 0
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do
    local isWriter = string.sub(fields[i], -6) == ':write'
    for hold = 1, not isWriter and tonumber(fields[i + 1]) or 0 do
      local ttl = redis.call('pttl', keyPrefix .. ':' .. fields[i] .. ':rwlock_timeout:' .. hold)
      if ttl > longest then longest = ttl end
    end
  end
  return longest
end
`;

/**
 * `heldAside(name, owner)`: how many read holds the owner has on the other lock that uses the same hold keys. Redisson
 * builds these keys from `{name}`, so the locks `x` and `{x}` share them. A key that is still a hold of the other lock
 * must not be deleted or shortened. If the user may not read that name, this client cannot have acquired a hold on it.
 */
export const HELD_ASIDE = lua`
local function heldAside(name, owner)
  local other = string.match(name, '^{([^{]*)}$')
  if not other and not string.find(name, '{', 1, true) then other = '{' .. name .. '}' end
  -- pcall: the name may hold another type, be forbidden, or (with odd braces) be of another slot
  if not other or type(redis.pcall('hget', other, 'mode')) ~= 'string' then return 0 end
  return tonumber(redis.call('hget', other, owner)) or 0
end
`;

/**
 * Defines the script that deletes the lock if it is held in `mode`, whoever holds it.
 *
 * KEYS: name, channel. ARGV: message, publish. Output: 1 = it was held in that mode, 0 = it was not.
 *
 * @param name - of the script
 */
export function defineForceReleaseScript(
  name: string,
  mode: 'read' | 'write',
): Script<'name' | 'channel', 'message' | 'publish', boolean> {
  return defineScript({
    name,
    keys: ['name', 'channel'],
    args: ['message', 'publish'],
    resend: 'always',
    synced: true,
    lua: lua`
${TELL}
if redis.call('hget', name, 'mode') ~= '${mode}' then return 0 end
redis.call('del', name)
tell(publish, channel, message)
return 1
`,
    decode: decodeFlag,
  });
}
