import { KINDS } from '../../kinds/allKinds';
import { defineScript, lua } from '../../scripts/Script';
import { type KeyReader, type RedisView, unlessRefused } from './RedisView';

/** The key names of one script call have about this total length at most, in characters. */
const MAX_NAMES = 200_000;
const PER_KEY = 4;

/**
 * Enough to identify most objects, for many keys at once. A refused read answers false and is repeated alone. Changes
 * nothing. Not for clusters: the keys belong to different slots. They are not passed as KEYS, because Redis would
 * refuse all of them if our user may not access one.
 *
 * KEYS: none. ARGV: for each key: the key, its queue, token and permits. Output for each key: its type; then, for a
 * hash: PTTL, EXISTS of queue and token, the first page of HSCAN; for a string: PTTL, 21 bytes, ZCARD of its permits.
 */
export const peekAtKeys = defineScript({
  name: 'inspection.peek',
  query: true,
  keys: [],
  lua: lua`
local function ask(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply['err'] then return false end
  return reply
end
local found = {}
for i = moreArgs + 1, #ARGV, 4 do
  local key = ARGV[i]
  local kind = ask('type', key)
  if kind then kind = kind['ok'] end
  if kind == 'hash' then
    local around = ask('exists', ARGV[i + 1], ARGV[i + 2])
    found[#found + 1] = {kind, ask('pttl', key), around, ask('hscan', key, '0', 'COUNT', '10')}
  elseif kind == 'string' then
    found[#found + 1] = {kind, ask('pttl', key), ask('getrange', key, '0', '20'), ask('zcard', ARGV[i + 3])}
  else
    found[#found + 1] = {kind}
  end
end
return found
`,
  decode: (reply) => reply as (string | number | null | [string, string[]])[][],
});

/**
 * Reads enough to identify most objects, in few commands.
 * @returns a reader for these keys that reads missing values on demand
 */
export async function peek(redis: RedisView, keys: readonly string[]): Promise<KeyReader> {
  if (redis.isCluster || redis.refusesScripts) return redis;
  const known = new Map<string, unknown>();
  for (let from = 0; from < keys.length;) {
    const batch: string[] = [];
    let length = 0;
    do {
      const key = keys[from++]!;
      length += PER_KEY * key.length;
      batch.push(key);
    } while (from < keys.length && length < MAX_NAMES);
    await peekAtSome(redis, batch, known);
    if (redis.refusesScripts) return redis;
  }
  return {
    executor: redis.executor,
    read: async (command, key, ...args) => known.get(nameOf(command, key)) ?? redis.read(command, key, ...args),
    typeOf: async (key) => (known.get(nameOf('type', key)) as string | undefined) ?? redis.typeOf(key),
  };
}

async function peekAtSome(redis: RedisView, keys: readonly string[], known: Map<string, unknown>): Promise<void> {
  const names = keys.map((key) => [
    key,
    KINDS.fair.keysOf(key).queue,
    KINDS.fenced.keysOf(key).token,
    KINDS.permit.keysOf(key).permits,
  ]);
  const asked = redis.executor.run(peekAtKeys, {}, {}, { moreArgs: names.flat() });
  const answers = await unlessRefused<Awaited<typeof asked> | undefined>(asked, undefined);
  redis.refusesScripts = answers === undefined;
  for (const [i, [key, queue, , permits]] of names.entries()) {
    const [type, ttl, third, fourth] = answers?.[i] ?? [];
    // Null means that the read was refused.
    const note = (command: string, of: string, value: unknown): void => {
      if (value !== null && value !== undefined) known.set(nameOf(command, of), value);
    };
    note('type', key!, type);
    note('pttl', key!, ttl);
    note(type === 'hash' ? 'exists' : 'getrange', type === 'hash' ? queue! : key!, third);
    note(type === 'hash' ? 'hscan' : 'zcard', type === 'hash' ? key! : permits!, fourth);
  }
}

function nameOf(command: string, key: string): string {
  return `${command} ${key}`;
}
