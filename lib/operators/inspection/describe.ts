import { ALL_KINDS, KINDS } from '../../kinds/allKinds';
import { defineScript, lua } from '../../scripts/Script';
import { PERMIT_WITHOUT_LEASE } from '../../kinds/permit';
import { type KeyReader, pairs, unlessUnreadable } from './RedisView';
import type { HolderReport, ObjectReport, OwnerReport, PermitReport, WaiterReport } from './reports';

/** A hash with more fields than this is not a lock. */
const MAX_FIELDS = 100_000;
/** An owner as read from a lock, without its process. */
export type OwnerDraft = Omit<OwnerReport, 'process'>;
/** A holder without its process. */
export type HolderDraft = Omit<HolderReport, 'process'>;
/** A waiter without its process. */
export type WaiterDraft = Omit<WaiterReport, 'process'>;
/** A waiter before its listeners are counted. */
type QueuedDraft = Omit<WaiterDraft, 'listening'>;

/** An object as read from Redis, before the processes of its owners are known. */
export interface ObjectDraft extends Omit<ObjectReport, 'verdict' | 'holders' | 'queue' | 'heldSince'> {
  readonly holders: readonly HolderDraft[];
  readonly queue?: readonly WaiterDraft[];
  /** When it was read, in ms since 1970. */
  readonly readAt: number;
}

type Channels = ObjectReport['channels'];

/** An object before the subscribers of its channels are counted. */
export interface Found {
  readonly key: string;
  readonly channelNames: readonly string[];
  /** @param known - whether the server reported the subscribers */
  readonly heard: (channels: Channels, known: boolean) => Omit<ObjectDraft, 'name' | 'key' | 'readAt'>;
}

/** An object whose waiters listen to one channel. */
function onChannel(
  key: string,
  channel: string,
  object: Omit<ObjectDraft, 'name' | 'key' | 'readAt' | 'waiters' | 'channels'>,
): Found {
  const heard: Found['heard'] = (channels) => ({ ...object, waiters: channels[0]!.subscribers, channels });
  return { key, channelNames: [channel], heard };
}

/**
 * Reads the lock of a key.
 * @param type - the type of the key in Redis: `hash` or `none`
 * @returns `undefined` if there is no lock
 */
export async function describeLock(redis: KeyReader, key: string, type: string): Promise<Found | undefined> {
  const [fields, ttl, around] = await Promise.all([
    type === 'hash' ? readFields(redis, key) : undefined,
    redis.read('pttl', key),
    // Most locks have neither: ask once instead of twice. With an unclosed brace in the name, the two keys can be in
    // different slots: the command fails, and we read both.
    redis.read('exists', KINDS.fair.keysOf(key).queue, KINDS.fenced.keysOf(key).token).catch(() => 2),
  ]);
  const ttlMs = Number(ttl);
  const mode = fields?.find(([field]) => field === 'mode')?.[1];
  if (fields !== undefined && (mode === 'read' || mode === 'write')) {
    const holders = await Promise.all(
      fields.filter(([field]) => field !== 'mode').map((one) => reader(redis, key, one)),
    );
    return onChannel(key, KINDS.read.channelOf(key), { kind: 'readWrite', mode, ttlMs, holders });
  }
  if (fields !== undefined && mode !== undefined) return undefined;
  if (fields !== undefined && isGroupHash(fields)) {
    return onChannel(key, KINDS.lock.channelOf(key), { kind: 'group', ttlMs, holders: groupHolders(fields) });
  }
  const [queued, token] = around === 0 ? [[], null] : await Promise.all([queueOf(redis, key), tokenOf(redis, key)]);
  if (fields === undefined && queued.length === 0 && token === null) return undefined;
  const holders = (fields ?? []).map(([owner, count]) => ({ ...ownerReport(owner), holdCount: Number(count) }));
  const lock = { ttlMs: fields === undefined ? -2 : ttlMs, holders };
  if (queued.length > 0) return fair(key, lock, queued);
  return onChannel(
    key,
    KINDS.lock.channelOf(key),
    token === null ? { ...lock, kind: 'lock' } : { ...lock, kind: 'fenced', token },
  );
}

function fair(key: string, lock: Pick<ObjectDraft, 'ttlMs' | 'holders'>, queued: readonly QueuedDraft[]): Found {
  return {
    key,
    channelNames: queued.map(({ owner }) => KINDS.fair.channelOf(key, owner)),
    heard(channels, known) {
      // If the subscribers are unknown, no waiter is reported as gone.
      const queue = queued.map((one, i) => ({ ...one, listening: !known || channels[i]!.subscribers > 0 }));
      return { ...lock, kind: 'fair', waiters: queue.length, queue, channels };
    },
  };
}

/** The fields of a lock's hash. @returns `undefined` for any other hash, after a small sample of it */
async function readFields(redis: KeyReader, key: string): Promise<[string, string][] | undefined> {
  const nothing = ['0', []];
  const [cursor, flat] = (await unlessUnreadable(redis.read('hscan', key, 0, 'COUNT', 10), nothing)) as [
    string,
    string[],
  ];
  const sample = pairs(flat);
  const fits = isGroupHash(sample) ? isGroupHash : isLockHash;
  if (!fits(sample)) return undefined;
  // The sample of a small hash has all its fields.
  if (cursor === '0') return sample;
  if (Number(await unlessUnreadable(redis.read('hlen', key), Infinity)) > MAX_FIELDS) return undefined;
  // Of all replies, ioredis turns only that of HGETALL into an object.
  const fields = Object.entries(await unlessUnreadable<Record<string, string>>(redis.read('hgetall', key), {}));
  return fits(fields) ? fields : undefined;
}

async function reader(redis: KeyReader, key: string, [owner, count]: [string, string]): Promise<HolderDraft> {
  const report = { ...ownerReport(owner), holdCount: Number(count) };
  if (parseOwner(owner)?.writes === true) return { ...report, mode: 'write' };
  const prefix = `${KINDS.read.keysOf(key, owner).timeoutPrefix}:`;
  const holds = Array.from({ length: Math.min(report.holdCount, 100) }, (_, i) => redis.read('pttl', prefix + (i + 1)));
  return { ...report, mode: 'read', leasesMs: (await Promise.all(holds)).map(Number) };
}

function tokenOf(redis: KeyReader, key: string): Promise<string | null> {
  return redis.read('get', KINDS.fenced.keysOf(key).token).catch(() => null) as Promise<string | null>;
}

async function queueOf(redis: KeyReader, key: string): Promise<QueuedDraft[]> {
  const keys = KINDS.fair.keysOf(key);
  const [queue, scores, claims] = (await Promise.all([
    redis.read('lrange', keys.queue, 0, -1).catch(() => []),
    redis.read('zrange', keys.timeouts, 0, -1, 'WITHSCORES').catch(() => []),
    redis.read('hgetall', keys.claims).catch(() => ({})),
  ])) as [string[], string[], Record<string, string>];
  const ends = new Map(pairs(scores));
  const now = Date.now();
  return queue.map((owner) => {
    const end = ends.get(owner);
    // A claim is `score:end:probed`. It counts only while the waiter has that score.
    const [score, claimEnd] = Object.hasOwn(claims, owner) ? (claims[owner]?.split(':') ?? []) : [];
    const claimed = score === (end ?? '') ? Number(claimEnd) : Infinity;
    const endsAt = Math.min(Number(end ?? Infinity), claimed);
    return { ...ownerReport(owner), remainingMs: endsAt === Infinity ? null : Math.round(endsAt - now) };
  });
}

/** A decimal integer as a number if that is exact, else as text. */
function exactInteger(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

/** Reads a key that holds a number. @returns `undefined` if it has neither a number nor permits */
export async function describeNumber(redis: KeyReader, key: string): Promise<Found | undefined> {
  const [text, ttl, acquired] = await Promise.all([
    // Enough to recognize a number, without loading a large value.
    unlessUnreadable(redis.read('getrange', key, 0, 20), ''),
    redis.read('pttl', key),
    redis.read('zcard', KINDS.permit.keysOf(key).permits).catch(() => 0),
  ]);
  const permits = Number(acquired);
  const isNumber = /^-?\d{1,19}$/.test(text);
  if (!isNumber && permits === 0) return undefined;
  const number = { ttlMs: Number(ttl), holders: [], value: isNumber ? exactInteger(text) : 0 };
  return {
    key,
    channelNames: [KINDS.semaphore.channelOf(key), KINDS.latch.channelOf(key)],
    heard(channels) {
      const [semaphore, latch] = channels as [Channels[number], Channels[number]];
      const ofSemaphore = { ...number, waiters: semaphore.subscribers, channels: [semaphore] };
      if (permits > 0) return { ...ofSemaphore, kind: 'permitExpirableSemaphore', acquired: permits };
      if (semaphore.subscribers > 0) return { ...ofSemaphore, kind: 'semaphore' };
      if (latch.subscribers === 0) return { ...number, kind: 'number', waiters: 0, channels: [] };
      return { ...number, kind: 'countDownLatch', waiters: latch.subscribers, channels: [latch] };
    },
  };
}

/** The objects that are a number: Redis does not store who holds permits, or who counts down. */
const NUMBERS: ReadonlySet<ObjectReport['kind']> = new Set(
  ALL_KINDS.filter(({ data }) => data === 'number').map(({ report }) => report),
);

/** Whether it is a semaphore or a latch, whose waiters do not wait for an owner. */
export function hasNumber(kind: ObjectReport['kind']): boolean {
  return NUMBERS.has(kind);
}

/** Whether it has permits. Redis does not store who holds them: only the clients know. */
export function hasPermits(kind: ObjectReport['kind']): boolean {
  return kind === 'semaphore' || kind === 'permitExpirableSemaphore';
}

/** Client id, thread id (in Rust `ThreadId(7)`, see docs/interop.md), and the suffixes of writers and transactions. */
const OWNER =
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(?:(-?\d{1,19})|ThreadId\((\d{1,19})\))(:write)?(?::[0-9a-f-]{32,36})?$/;
/** Automatic thread ids of this package start here. Java counts its threads from 1. */
const FIRST_AUTOMATIC = 2n ** 32n;

/** Reads an owner of a lock. @returns `undefined` for anything else */
export function parseOwner(owner: string): (OwnerDraft & { readonly writes: boolean }) | undefined {
  const [, clientId, plain, rust, write] = OWNER.exec(owner) ?? [];
  const threadId = plain ?? rust;
  if (clientId === undefined || threadId === undefined) return undefined;
  const client = BigInt(threadId) >= FIRST_AUTOMATIC ? 'node' : 'unknown';
  return { owner, clientId, threadId, client, writes: write !== undefined };
}

/** As {@link parseOwner}, but for any text: if it is not an owner, the ids are empty. */
export function ownerReport(owner: string): OwnerDraft {
  const parsed = parseOwner(owner);
  if (parsed === undefined) return { owner, clientId: '', threadId: '', client: 'unknown' };
  const { writes: _writes, ...report } = parsed;
  return report;
}

/** Whether the fields of a hash are those of a lock: owners with their counts, and perhaps a mode. */
export function isLockHash(fields: readonly (readonly [field: string, value: string])[]): boolean {
  if (fields.length === 0) return false;
  const owners = fields.filter(([field]) => field !== 'mode');
  return owners.every(([field, value]) => parseOwner(field) !== undefined && /^\d{1,10}$/.test(value));
}

/**
 * The ids of the acquired permits, each followed by its score. Ids are 16 raw bytes. They are sent in hex, because
 * reading the reply as text would garble them.
 *
 * KEYS: permits. ARGV: last (the index of the last one to read). Output: id, score, id, score, ...
 */
export const readPermits = defineScript({
  name: 'inspection.permits',
  query: true,
  keys: ['permits'],
  args: ['last'],
  lua: lua`
local found = redis.call('zrange', permits, 0, last, 'withscores')
for i = 1, #found, 2 do
  found[i] = found[i]:gsub('.', function (byte) return string.format('%02x', string.byte(byte)) end)
end
return found
`,
  decode: (reply) => reply as string[],
});

/** At most this many permits are read. */
const MAX_PERMITS = 1_000;

/** The acquired permits of a permit-expirable semaphore, the next to expire first. */
export async function permitReports(redis: KeyReader, key: string): Promise<readonly PermitReport[]> {
  const found = await redis.executor.run(
    readPermits,
    { permits: KINDS.permit.keysOf(key).permits },
    { last: MAX_PERMITS - 1 },
  );
  return pairs(found).map(([id, score]) => ({
    id,
    remainingMs: score === PERMIT_WITHOUT_LEASE ? null : Number(score) - Date.now(),
  }));
}

/** A field of a group: the hash of a value, alone or followed by an owner and `expire_time` or `lock_count`. */
const GROUP_FIELD = /^([A-Za-z0-9+/]{22})(?::(.+):(expire_time|lock_count))?$/;

/** Whether the fields of a hash are those of a group: values with their owners, expiry times and hold counts. */
export function isGroupHash(fields: readonly (readonly [field: string, value: string])[]): boolean {
  return (
    fields.length > 0 &&
    fields.every(([field, value]) => {
      const [, hash, owner] = GROUP_FIELD.exec(field) ?? [];
      if (hash === undefined) return false;
      if (owner === undefined) return parseOwner(value) !== undefined;
      return parseOwner(owner) !== undefined && /^\d{1,17}(\.\d+)?$/.test(value);
    })
  );
}

/** The owners of the values of a group that have not expired, by our clock. */
export function groupHolders(fields: readonly (readonly [field: string, value: string])[]): HolderDraft[] {
  const kept = new Map(fields);
  const held = new Map<string, { values: number; holdCount: number }>();
  for (const [hash, owner] of fields) {
    if (hash.includes(':') || Number(kept.get(`${hash}:${owner}:expire_time`) ?? 0) < Date.now()) continue;
    const { values, holdCount } = held.get(owner) ?? { values: 0, holdCount: 0 };
    const count = Number(kept.get(`${hash}:${owner}:lock_count`) ?? 1);
    held.set(owner, { values: values + 1, holdCount: Math.max(holdCount, count) });
  }
  return [...held].map(([owner, { values, holdCount }]) => ({ ...ownerReport(owner), holdCount, values }));
}
