import { prefixName, suffixName } from '../util/names';
import { channelOf } from './channels';
import { isLockHash, ownerReport, parseOwner } from './owners';
import type { RedisView } from './RedisView';
import type { HolderReport, ObjectReport, OwnerReport } from './reports';

/** A hash with more fields than this is no lock. */
const MAX_FIELDS = 100_000;
/** A waiter without listeners yet. */
type QueuedReport = OwnerReport & { readonly remainingMs: number | null };

/** What there is of a lock, without the subscribers of its channels. */
export interface LockDraft extends Omit<ObjectReport, 'channels' | 'waiters' | 'name' | 'queue'> {
  readonly queued: readonly QueuedReport[];
  readonly channelNames: readonly string[];
}

/**
 * Reads the lock of a key.
 * @param type - what Redis says the key is: `hash` or `none`
 * @returns `undefined` where there is none
 */
export async function describeLock(redis: RedisView, key: string, type: string): Promise<LockDraft | undefined> {
  const [fields, ttl, around] = await Promise.all([
    type === 'hash' ? readFields(redis, key) : undefined,
    redis.read('pttl', key),
    // Most locks have neither: one question instead of two. An unclosed brace in the name can put them on two slots.
    redis.read('exists', prefixName('redisson_lock_queue', key), prefixName('redisson_lock_token', key)).catch(() => 2),
  ]);
  const ttlMs = Number(ttl);
  const mode = fields?.find(([field]) => field === 'mode')?.[1];
  if (fields !== undefined && (mode === 'read' || mode === 'write')) {
    const holders = await Promise.all(
      fields.filter(([field]) => field !== 'mode').map((one) => reader(redis, key, one)),
    );
    return { key, kind: 'readWrite', mode, ttlMs, holders, queued: [], channelNames: [channelOf.readWrite(key)] };
  }
  if (fields !== undefined && mode !== undefined) return undefined;
  const [queued, token] = around === 0 ? [[], null] : await Promise.all([queueOf(redis, key), tokenOf(redis, key)]);
  if (fields === undefined && queued.length === 0 && token === null) return undefined;
  const holders = (fields ?? []).map(([owner, count]) => ({ ...ownerReport(owner), holdCount: Number(count) }));
  const lock = { key, ttlMs: fields === undefined ? -2 : ttlMs, holders, queued };
  if (queued.length > 0) {
    return { ...lock, kind: 'fair', channelNames: queued.map(({ owner }) => channelOf.fairWaiter(key, owner)) };
  }
  const channelNames = [channelOf.lock(key)];
  if (token === null) return { ...lock, kind: 'lock', channelNames };
  return { ...lock, kind: 'fenced', token, channelNames };
}

/** The fields of a lock's hash. @returns `undefined` where it is anything else, after a small look at it */
async function readFields(redis: RedisView, key: string): Promise<[string, string][] | undefined> {
  const nothing = ['0', []];
  const [cursor, flat] = (await redis.read('hscan', key, 0, 'COUNT', 10).catch(() => nothing)) as [string, string[]];
  const sample = pairs(flat);
  if (!isLockHash(sample)) return undefined;
  // A small hash comes as a whole.
  if (cursor === '0') return sample;
  if (Number(await redis.read('hlen', key).catch(() => Infinity)) > MAX_FIELDS) return undefined;
  // ioredis makes an object of the reply to HGETALL, and of no other's.
  const fields = Object.entries((await redis.read('hgetall', key).catch(() => ({}))) as Record<string, string>);
  return isLockHash(fields) ? fields : undefined;
}

async function reader(redis: RedisView, key: string, [owner, count]: [string, string]): Promise<HolderReport> {
  const report = { ...ownerReport(owner), holdCount: Number(count) };
  if (parseOwner(owner)?.writes === true) return { ...report, mode: 'write' };
  const prefix = `${suffixName(key, owner)}:rwlock_timeout:`;
  const holds = Array.from({ length: Math.min(report.holdCount, 100) }, (_, i) => redis.read('pttl', prefix + (i + 1)));
  return { ...report, mode: 'read', leasesMs: (await Promise.all(holds)).map(Number) };
}

async function tokenOf(redis: RedisView, key: string): Promise<string | null> {
  const token = await redis.read('get', prefixName('redisson_lock_token', key)).catch(() => null);
  return token as string | null;
}

async function queueOf(redis: RedisView, key: string): Promise<QueuedReport[]> {
  const [queue, scores] = (await Promise.all([
    redis.read('lrange', prefixName('redisson_lock_queue', key), 0, -1).catch(() => []),
    redis.read('zrange', prefixName('redisson_lock_timeout', key), 0, -1, 'WITHSCORES').catch(() => []),
  ])) as [string[], string[]];
  const ends = new Map(pairs(scores));
  const now = Date.now();
  return queue.map((owner) => {
    const end = ends.get(owner);
    return { ...ownerReport(owner), remainingMs: end === undefined ? null : Math.round(Number(end) - now) };
  });
}

/** A flat reply as pairs. */
function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) result.push([flat[i]!, flat[i + 1]!]);
  return result;
}
