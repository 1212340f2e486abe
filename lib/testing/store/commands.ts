import { formatG } from './luaRuntime';
import { RedisError, type Reply, Status } from './replies';
import { SortedSet, type Store, typeOf } from './Store';

const NO_INTEGER = 'ERR value is not an integer or out of range';
const OK = new Status('OK');

type Command = (store: Store, args: readonly string[]) => Reply;

/** Runs a command on the keys of a server. @param command - in lower case @throws RedisError */
export function runCommand(store: Store, command: string, args: readonly string[]): Reply {
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (run === undefined) throw new RedisError(`ERR unknown command '${command}'`);
  return run(store, args);
}

function integer(text: string | undefined): number {
  if (text === undefined || !/^-?(0|[1-9]\d*)$/.test(text)) throw new RedisError(NO_INTEGER);
  return Number(text);
}

function score(text: string): number {
  const value = text === '-inf' ? -Infinity : /^\+?inf$/.test(text) ? Infinity : Number(text);
  if (text === '' || Number.isNaN(value)) throw new RedisError('ERR value is not a valid float');
  return value;
}

function limit(text: string): number {
  if (text.startsWith('(')) throw new RedisError('ERR the store in memory knows no open intervals');
  return score(text);
}

/** The part of a list that Redis means by two indexes, the last included. */
function slice<T>(list: readonly T[], from: string, to: string): T[] {
  const at = (index: number): number => (index < 0 ? list.length + index : index);
  return list.slice(Math.max(0, at(integer(from))), at(integer(to)) + 1);
}

function addInteger(store: Store, key: string, amount: number): number {
  const sum = integer(store.text(key) ?? '0') + amount;
  store.put(key, String(sum));
  return sum;
}

const commands: Readonly<Record<string, Command>> = {
  time: ({ now }) => [String(Math.floor(now / 1_000)), String((now % 1_000) * 1_000)],
  get: (store, [key]) => store.text(key!) ?? null,
  set(store, [key, value, unit, ms]) {
    if (unit !== undefined && unit.toLowerCase() !== 'px') throw new RedisError('ERR syntax error');
    if (ms !== undefined && integer(ms) <= 0) throw new RedisError("ERR invalid expire time in 'set' command");
    store.overwrite(key!);
    store.put(key!, value!);
    if (ms !== undefined) store.expireIn(key!, integer(ms));
    return OK;
  },
  incr: (store, [key]) => addInteger(store, key!, 1),
  decr: (store, [key]) => addInteger(store, key!, -1),
  incrby: (store, [key, amount]) => addInteger(store, key!, integer(amount)),
  decrby: (store, [key, amount]) => addInteger(store, key!, -integer(amount)),
  del: (store, keys) => keys.filter((key) => store.delete(key)).length,
  exists: (store, keys) => keys.filter((key) => store.entry(key) !== undefined).length,
  type: (store, [key]) => new Status(store.value(key!) === undefined ? 'none' : typeOf(store.value(key!)!)),
  pttl: (store, [key]) => store.ttl(key!),
  pexpire: (store, [key, ms]) => Number(store.expireIn(key!, integer(ms))),
  persist(store, [key]) {
    const entry = store.entry(key!);
    if (entry?.expireAt === undefined) return 0;
    entry.expireAt = undefined;
    return 1;
  },
  hget: (store, [key, field]) => store.hash(key!)?.get(field!) ?? null,
  hexists: (store, [key, field]) => Number(store.hash(key!)?.has(field!) ?? false),
  hlen: (store, [key]) => store.hash(key!)?.size ?? 0,
  hkeys: (store, [key]) => [...(store.hash(key!)?.keys() ?? [])],
  hgetall: (store, [key]) => [...(store.hash(key!) ?? [])].flat(),
  hset(store, [key, ...pairs]) {
    const hash = store.hash(key!) ?? store.put(key!, new Map<string, string>());
    const before = hash.size;
    for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i]!, pairs[i + 1]!);
    return hash.size - before;
  },
  hincrby(store, [key, field, amount]) {
    const hash = store.hash(key!) ?? store.put(key!, new Map<string, string>());
    const sum = integer(hash.get(field!) ?? '0') + integer(amount);
    hash.set(field!, String(sum));
    return sum;
  },
  hdel(store, [key, ...fields]) {
    const hash = store.hash(key!);
    if (hash === undefined) return 0;
    const deleted = fields.filter((field) => hash.delete(field)).length;
    store.deleteEmpty(key!, hash.size);
    return deleted;
  },
  llen: (store, [key]) => store.list(key!)?.length ?? 0,
  lindex: (store, [key, index]) => store.list(key!)?.at(integer(index)) ?? null,
  lrange: (store, [key, from, to]) => slice(store.list(key!) ?? [], from!, to!),
  rpush: (store, [key, ...items]) => (store.list(key!) ?? store.put(key!, [] as string[])).push(...items),
  lpop(store, [key]) {
    const list = store.list(key!);
    const first = list?.shift() ?? null;
    if (list !== undefined) store.deleteEmpty(key!, list.length);
    return first;
  },
  lrem(store, [key, count, item]) {
    if (count !== '0') throw new RedisError('ERR the store in memory knows lrem with 0 only');
    const list = store.list(key!);
    if (list === undefined) return 0;
    const kept = list.filter((each) => each !== item);
    const removed = list.length - kept.length;
    list.splice(0, Infinity, ...kept);
    store.deleteEmpty(key!, list.length);
    return removed;
  },
  zadd(store, [key, ...pairs]) {
    const set = store.sortedSet(key!) ?? store.put(key!, new SortedSet());
    let added = 0;
    for (let i = 0; i < pairs.length; i += 2) if (set.set(pairs[i + 1]!, score(pairs[i]!))) added++;
    return added;
  },
  zcard: (store, [key]) => store.sortedSet(key!)?.scores.size ?? 0,
  zscore(store, [key, member]) {
    const found = store.sortedSet(key!)?.scores.get(member!);
    return found === undefined ? null : formatG(found, 17);
  },
  zcount: (store, [key, from, to]) => byScore(store, key!, from!, to!).length,
  zrange(store, [key, from, to, withScores]) {
    if (withScores !== undefined && withScores.toLowerCase() !== 'withscores') throw new RedisError('ERR syntax error');
    const found = byRank(store, key!, from!, to!);
    return found.flatMap(([member, value]) => (withScores === undefined ? member : [member, formatG(value, 17)]));
  },
  zrem: (store, [key, ...members]) => removeMembers(store, key!, members),
  zremrangebyrank: (store, [key, from, to]) => removeMembers(store, key!, membersOf(byRank(store, key!, from!, to!))),
  zremrangebyscore: (store, [key, from, to]) => removeMembers(store, key!, membersOf(byScore(store, key!, from!, to!))),
};

type Scored = readonly [member: string, score: number];

function byRank(store: Store, key: string, from: string, to: string): Scored[] {
  return slice(store.sortedSet(key)?.sorted ?? [], from, to);
}

function byScore(store: Store, key: string, from: string, to: string): Scored[] {
  const [low, high] = [limit(from), limit(to)];
  return (store.sortedSet(key)?.sorted ?? []).filter(([, value]) => value >= low && value <= high);
}

function membersOf(scored: readonly Scored[]): string[] {
  return scored.map(([member]) => member);
}

function removeMembers(store: Store, key: string, members: readonly string[]): number {
  const set = store.sortedSet(key);
  if (set === undefined) return 0;
  const removed = members.filter((member) => set.delete(member)).length;
  store.deleteEmpty(key, set.scores.size);
  return removed;
}
