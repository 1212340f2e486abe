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

/** Reads the lock of a key. @returns `undefined` where there is none */
export async function describeLock(redis: RedisView, key: string): Promise<LockDraft | undefined> {
  const [fields, ttl, queue, scores, token] = await Promise.all([
    readFields(redis, key),
    redis.read('pttl', key),
    redis.read('lrange', prefixName('redisson_lock_queue', key), 0, -1).catch(() => []),
    redis.read('zrange', prefixName('redisson_lock_timeout', key), 0, -1, 'WITHSCORES').catch(() => []),
    redis.read('get', prefixName('redisson_lock_token', key)).catch(() => null),
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
  const queued = queuedReports(queue as string[], scores as string[]);
  if (fields === undefined && queued.length === 0 && token === null) return undefined;
  const holders = (fields ?? []).map(([owner, count]) => ({ ...ownerReport(owner), holdCount: Number(count) }));
  const lock = { key, ttlMs: fields === undefined ? -2 : ttlMs, holders, queued };
  if (queued.length > 0) {
    return { ...lock, kind: 'fair', channelNames: queued.map(({ owner }) => channelOf.fairWaiter(key, owner)) };
  }
  const channelNames = [channelOf.lock(key)];
  if (token === null) return { ...lock, kind: 'lock', channelNames };
  return { ...lock, kind: 'fenced', token: token as string, channelNames };
}

/** The fields of a lock's hash. @returns `undefined` where it is anything else, after a small look at it */
async function readFields(redis: RedisView, key: string): Promise<[string, string][] | undefined> {
  const type = await redis.read('type', key);
  if (type !== 'hash') return undefined;
  const [length, sample] = (await Promise.all([
    // ioredis makes an object of the reply to HGETALL, and of no other's.
    redis.read('hlen', key),
    redis.read('hscan', key, 0, 'COUNT', 10),
  ]).catch(() => [0, ['0', []]])) as [number, [string, string[]]];
  if (length > MAX_FIELDS || !isLockHash(pairs(sample[1]))) return undefined;
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

function queuedReports(queue: readonly string[], scores: readonly string[]): QueuedReport[] {
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
