import { KINDS } from '../../kinds/allKinds';
import { defineScript, lua } from '../../scripts/Script';
import { PERMIT_WITHOUT_LEASE } from '../../kinds/permit';
import type { KeyReader } from './RedisView';
import type { HolderReport, OwnerReport, PermitReport, WaiterReport } from './reports';

/** A hash with more fields than this is no lock. */
const MAX_FIELDS = 100_000;
/** What is seen of an owner in a lock, without its process. */
export type OwnerDraft = Omit<OwnerReport, 'process'>;
/** The same of a holder. */
export type HolderDraft = Omit<HolderReport, 'process'>;
/** The same of a waiter. */
export type WaiterDraft = Omit<WaiterReport, 'process'>;
/** A waiter without listeners yet. */
type QueuedDraft = Omit<WaiterDraft, 'listening'>;

/** What there is of a lock, without the subscribers of its channels. */
export interface LockDraft {
  readonly key: string;
  readonly kind: 'lock' | 'fair' | 'fenced' | 'readWrite' | 'group';
  readonly mode?: 'read' | 'write';
  readonly ttlMs: number;
  readonly holders: readonly HolderDraft[];
  readonly token?: string;
  readonly queued: readonly QueuedDraft[];
  readonly channelNames: readonly string[];
}

/**
 * Reads the lock of a key.
 * @param type - what Redis says the key is: `hash` or `none`
 * @returns `undefined` where there is none
 */
export async function describeLock(redis: KeyReader, key: string, type: string): Promise<LockDraft | undefined> {
  const [fields, ttl, around] = await Promise.all([
    type === 'hash' ? readFields(redis, key) : undefined,
    redis.read('pttl', key),
    // Most locks have neither: one question instead of two. An unclosed brace in the name can put them on two slots.
    redis.read('exists', KINDS.fair.keysOf(key).queue, KINDS.fenced.keysOf(key).token).catch(() => 2),
  ]);
  const ttlMs = Number(ttl);
  const mode = fields?.find(([field]) => field === 'mode')?.[1];
  if (fields !== undefined && (mode === 'read' || mode === 'write')) {
    const holders = await Promise.all(
      fields.filter(([field]) => field !== 'mode').map((one) => reader(redis, key, one)),
    );
    return { key, kind: 'readWrite', mode, ttlMs, holders, queued: [], channelNames: [KINDS.read.channelOf(key)] };
  }
  if (fields !== undefined && mode !== undefined) return undefined;
  if (fields !== undefined && isGroupHash(fields)) {
    return {
      key,
      kind: 'group',
      ttlMs,
      holders: groupHolders(fields),
      queued: [],
      channelNames: [KINDS.lock.channelOf(key)],
    };
  }
  const [queued, token] = around === 0 ? [[], null] : await Promise.all([queueOf(redis, key), tokenOf(redis, key)]);
  if (fields === undefined && queued.length === 0 && token === null) return undefined;
  const holders = (fields ?? []).map(([owner, count]) => ({ ...ownerReport(owner), holdCount: Number(count) }));
  const lock = { key, ttlMs: fields === undefined ? -2 : ttlMs, holders, queued };
  if (queued.length > 0) {
    return { ...lock, kind: 'fair', channelNames: queued.map(({ owner }) => KINDS.fair.channelOf(key, owner)) };
  }
  const channelNames = [KINDS.lock.channelOf(key)];
  if (token === null) return { ...lock, kind: 'lock', channelNames };
  return { ...lock, kind: 'fenced', token, channelNames };
}

/** The fields of a lock's hash. @returns `undefined` where it is anything else, after a small look at it */
async function readFields(redis: KeyReader, key: string): Promise<[string, string][] | undefined> {
  const nothing = ['0', []];
  const [cursor, flat] = (await redis.read('hscan', key, 0, 'COUNT', 10).catch(() => nothing)) as [string, string[]];
  const sample = pairs(flat);
  const fits = isGroupHash(sample) ? isGroupHash : isLockHash;
  if (!fits(sample)) return undefined;
  // A small hash comes as a whole.
  if (cursor === '0') return sample;
  if (Number(await redis.read('hlen', key).catch(() => Infinity)) > MAX_FIELDS) return undefined;
  // ioredis makes an object of the reply to HGETALL, and of no other's.
  const fields = Object.entries((await redis.read('hgetall', key).catch(() => ({}))) as Record<string, string>);
  return fits(fields) ? fields : undefined;
}

async function reader(redis: KeyReader, key: string, [owner, count]: [string, string]): Promise<HolderDraft> {
  const report = { ...ownerReport(owner), holdCount: Number(count) };
  if (parseOwner(owner)?.writes === true) return { ...report, mode: 'write' };
  const prefix = `${KINDS.read.keysOf(key, owner).timeoutPrefix}:`;
  const holds = Array.from({ length: Math.min(report.holdCount, 100) }, (_, i) => redis.read('pttl', prefix + (i + 1)));
  return { ...report, mode: 'read', leasesMs: (await Promise.all(holds)).map(Number) };
}

async function tokenOf(redis: KeyReader, key: string): Promise<string | null> {
  const token = await redis.read('get', KINDS.fenced.keysOf(key).token).catch(() => null);
  return token as string | null;
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
    // `score:end:probed`; it counts only while the waiter has that score.
    const [score, claimEnd] = Object.hasOwn(claims, owner) ? (claims[owner]?.split(':') ?? []) : [];
    const claimed = score === (end ?? '') ? Number(claimEnd) : Infinity;
    const endsAt = Math.min(Number(end ?? Infinity), claimed);
    return { ...ownerReport(owner), remainingMs: endsAt === Infinity ? null : Math.round(endsAt - now) };
  });
}

/** A flat reply as pairs. */
function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i]!, flat[i + 1]!]);
  return result;
}

/** What there is of a semaphore or a latch, without the subscribers of its channels. */
export interface NumberDraft {
  readonly key: string;
  readonly ttlMs: number;
  /** Beyond 2^53, where a number is inexact, as decimal text. */
  readonly value: number | string;
  /** How many permits are out; `undefined` where it has no permits with leases. */
  readonly acquired: number | undefined;
  readonly channelNames: readonly [semaphore: string, latch: string];
}

/** A decimal integer: a number where that is exact, else the text. */
function exactInteger(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

/** Reads the number of a key. @returns `undefined` where there is none */
export async function describeNumber(redis: KeyReader, key: string): Promise<NumberDraft | undefined> {
  const [text, ttl, acquired] = await Promise.all([
    // Enough to tell a number, and little of a value that is none.
    redis.read('getrange', key, 0, 20).catch(() => ''),
    redis.read('pttl', key),
    redis.read('zcard', KINDS.permit.keysOf(key).permits).catch(() => 0),
  ]);
  const permits = Number(acquired) > 0 ? Number(acquired) : undefined;
  const isNumber = /^-?\d{1,19}$/.test(text as string);
  if (!isNumber && permits === undefined) return undefined;
  const channelNames = [KINDS.semaphore.channelOf(key), KINDS.latch.channelOf(key)] as const;
  return {
    key,
    ttlMs: Number(ttl),
    value: isNumber ? exactInteger(text as string) : 0,
    acquired: permits,
    channelNames,
  };
}

/** Client id, thread id (in Rust `ThreadId(7)`, see docs/interop.md), and what writers and transactions add. */
const OWNER =
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(?:(-?\d{1,19})|ThreadId\((\d{1,19})\))(:write)?(?::[0-9a-f-]{32,36})?$/;
/** Threads of this package that nobody gave an id begin here; those of Java are counted from 1. */
const FIRST_AUTOMATIC = 2n ** 32n;

/** Reads an owner of a lock. @returns `undefined` for anything else */
export function parseOwner(owner: string): (OwnerDraft & { readonly writes: boolean }) | undefined {
  const [, clientId, plain, rust, write] = OWNER.exec(owner) ?? [];
  const threadId = plain ?? rust;
  if (clientId === undefined || threadId === undefined) return undefined;
  const client = BigInt(threadId) >= FIRST_AUTOMATIC ? 'node' : 'unknown';
  return { owner, clientId, threadId, client, writes: write !== undefined };
}

/** As {@link parseOwner}, whatever it is. */
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
 * The ids of the permits that are out, in hex, each followed by its score. Ids are 16 raw bytes, which a reply that is
 * read as text would garble.
 *
 * KEYS: permits. ARGV: last (the index of the last one to read). Output: id, score, id, score, ...
 */
export const readPermits = defineScript({
  name: 'inspection.permits',
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

/** The most permits that are read. */
const MAX_PERMITS = 1_000;

/** The permits of a permit-expirable semaphore that are out, the next to expire first. */
export async function permitReports(redis: KeyReader, key: string): Promise<readonly PermitReport[]> {
  const found = await redis.executor.run(
    readPermits,
    { permits: KINDS.permit.keysOf(key).permits },
    { last: MAX_PERMITS - 1 },
  );
  const reports: PermitReport[] = [];
  for (let i = 0; i + 1 < found.length; i += 2) {
    const [id = '', score = ''] = [found[i], found[i + 1]];
    reports.push({ id, remainingMs: score === PERMIT_WITHOUT_LEASE ? null : Number(score) - Date.now() });
  }
  return reports;
}

/** A field of a group: the hash of a value, alone or with an owner and what is kept of it. */
const GROUP_FIELD = /^([A-Za-z0-9+/]{22})(?::(.+):(expire_time|lock_count))?$/;

/** Whether the fields of a hash are those of a group: values with their owners, until when, and how often. */
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

/** Who has values of a group whose time is not over, by our clock. */
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
