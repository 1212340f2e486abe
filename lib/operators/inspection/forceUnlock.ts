import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { UnsupportedOperationError } from '../../errors';
import { ALL_KINDS, KINDS } from '../../kinds/allKinds';
import type { LockDescriptor } from '../../kinds/Kind';
import { UNLOCK_MESSAGE } from '../../kinds/reentrant';
import { defineScript, lua, PUBLISH_COMMAND, type Script, TAKES } from '../../scripts/Script';
import type { ObjectReport } from './reports';

/** The result of a forced unlock. */
export interface ForcedUnlock {
  /** The kind of the object. */
  readonly kind: ObjectReport['kind'];
  readonly released: boolean;
  /** The owners it was taken from, as on the wire: `<clientId>:<threadId>`. */
  readonly takenFrom: readonly string[];
  /** Owners from which it may not be taken. If there are any, nothing was changed. */
  readonly others: readonly string[];
}

type Outcome = Omit<ForcedUnlock, 'kind'>;

/** Finds the owners in the hash of a lock. The hash of a read/write lock also has a mode. */
const OWNERS_OF_LOCK = lua`
local function ownersOf(name)
  local found = {}
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' then found[#found + 1] = fields[i] end
  end
  return found
end
`;

/** Finds the owners in the hash of a group. */
const OWNERS_OF_GROUP = lua`
local function ownersOf(name)
  local time = redis.call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local found, known, kept = {}, {}, {}
  local fields = redis.call('hgetall', name)
  for i = 1, #fields, 2 do kept[fields[i]] = fields[i + 1] end
  for value, owner in pairs(kept) do
    local ends = tonumber(kept[value .. ':' .. owner .. ':expire_time'])
    if ends and ends >= now and not known[owner] then
      known[owner] = true
      found[#found + 1] = owner
    end
  end
  return found
end
`;

/**
 * The forced release of a kind, behind a check of the owners. Both are in one script: if guarded, an owner that takes
 * the lock between the report and the release keeps it.
 *
 * KEYS: of the forced release. ARGV: those of the forced release, guarded (`1` = only from the given owners), then the
 * owners. Output: `{1, owners}` = taken from these; `{0, {}}` = it was not held; `{-1, owners}` = these have it, too.
 */
function guarded(
  { name, forceRelease }: LockDescriptor,
  ownersOf: string,
): Script<string, 'message' | 'publish' | 'guarded', Outcome> {
  const { keys, body } = forceRelease;
  return defineScript({
    ...{ name: `inspection.forceUnlock.${name}`, keys },
    args: ['message', 'publish', 'guarded'],
    ...TAKES,
    lua: lua`
${ownersOf}
local owners = ownersOf(name)
if guarded == '1' then
  local allowed, others = {}, {}
  for i = moreArgs + 1, #ARGV do allowed[ARGV[i]] = true end
  for _, owner in ipairs(owners) do
    if not allowed[owner] then others[#others + 1] = owner end
  end
  if #others > 0 then return {-1, others} end
end
local function release()
${body}
end
if release() == 1 then return {1, owners} end
return {0, {}}
`,
    decode: (reply) => {
      const [code, owners] = reply as [number, string[]];
      const released = code === 1;
      return { released, takenFrom: released ? owners : [], others: code === -1 ? owners : [] };
    },
  });
}

/** The scripts, by kind name. */
const scripts = new Map<string, ReturnType<typeof guarded>>();

/**
 * Takes a lock from its owners and wakes its waiters, in one script.
 *
 * @param from - the owners it may be taken from; `undefined`: any owner
 * @throws UnsupportedOperationError if objects of this kind have no owners
 */
export async function forceUnlock(
  executor: CommandExecutor,
  report: Pick<ObjectReport, 'name' | 'key' | 'kind' | 'mode'>,
  from: readonly string[] | undefined,
): Promise<ForcedUnlock> {
  const { name, key, kind, mode = 'write' } = report;
  if (kind === 'none') return { kind, released: false, takenFrom: [], others: [] };
  const found = ALL_KINDS.filter((one) => one.report === kind).find((one) => one.data !== 'mode' || one.name === mode);
  if (found === undefined || found.data === 'number') {
    throw new UnsupportedOperationError(kind, 'forceUnlock', 'there is no owner to take it from');
  }
  const isGroup = found.data === 'values';
  // For a group, use the script of the plain lock: it deletes the key, which frees all values, and publishes on the
  // same channel.
  const descriptor = (isGroup ? KINDS.lock : found) as LockDescriptor;
  const script = scripts.get(found.name) ?? guarded(descriptor, isGroup ? OWNERS_OF_GROUP : OWNERS_OF_LOCK);
  scripts.set(found.name, script);
  const { message = UNLOCK_MESSAGE } = descriptor;
  const outcome = await executor.run(
    script,
    descriptor.keysOf(key, ''),
    { message, publish: PUBLISH_COMMAND, guarded: from === undefined ? '0' : '1' },
    { what: `force the release of ${descriptor.noun}`, name, moreArgs: from ?? [] },
  );
  return { kind, ...outcome };
}
