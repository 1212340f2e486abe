import { mapName, unmapName } from '../../config/validateName';
import type { NameMapper } from '../../config/NameMapper';
import { chunks } from '../../util/collections';
import { globTest, scanFilter } from '../../util/glob';
import { callUserCode } from '../../util/userCode';
import { describeLock, describeNumber, type Found, type ObjectDraft, permitReports } from './describe';
import { ALL_KINDS, KINDS } from '../../kinds/allKinds';
import type { Kind } from '../../kinds/Kind';
import { peek } from './peek';
import type { KeyReader, Page, RedisView } from './RedisView';

/** Keys per batch: small enough not to delay other commands for long. */
const BATCH = 100;
/** Batches in flight at a time. */
const BATCHES = 4;
/** Read a key this many times before it is reported as foreign data. */
const LOOKS = 10;
/** Keys that contain the name of their object. */
const QUEUE = patternOf(KINDS.fair.keysOf('').queue);
const PERMITS = patternOf(KINDS.permit.keysOf('').permits);
/** Prefixes of keys that are only part of an object, of this package or of Redisson for Java. */
const PARTS = ['redisson_unlock_latch:', ...ALL_KINDS.flatMap(partsOf)];
const READ_HOLD = /:rwlock_timeout:\d+$/s;

/**
 * Reads the objects that keys belong to. It changes nothing, finds keys with SCAN, and skips those that its user may
 * not access.
 */
export class ObjectReader {
  readonly #redis: RedisView;
  readonly #mapper: NameMapper;
  /** Keys of the last scan that our user may not read, and those that it may. */
  #counts = { hidden: 0, readable: 0 };
  /** The same, so far, of the scan under way. */
  #counting = { hidden: 0, readable: 0 };
  /** The key of a lock that was held; `undefined`: none was seen. */
  someKey: string | undefined;

  constructor(redis: RedisView, mapper: NameMapper) {
    this.#redis = redis;
    this.#mapper = mapper;
  }

  /**
   * All objects, one page of the keyspace at a time, for ever: after the last page it starts again. Numbers without
   * waiters are left out, because any counter has that form.
   */
  async *pages(pattern?: string): AsyncGenerator<Page<ObjectDraft>, never> {
    const matches = pattern === undefined ? () => true : globTest(pattern);
    // The other keys of a lock contain its name.
    const scan = this.#redis.pages(pattern === undefined ? undefined : scanFilter(pattern));
    this.#counting = { hidden: 0, readable: 0 };
    for (;;) {
      const { found: keys, last, address } = (await scan.next()).value;
      const read = await inBatches(keys, async (batch) => {
        const peeked = await peek(this.#redis, batch);
        return this.#readAll(peeked, await this.#candidates(peeked, batch));
      });
      if (last) {
        this.#counts = this.#counting;
        this.#counting = { hidden: 0, readable: 0 };
      }
      yield { found: read.filter(({ kind, name }) => kind !== 'number' && matches(name)), address, last };
    }
  }

  /** How many keys of the last scan our user may not read. */
  get hidden(): number {
    return this.#counts.hidden;
  }

  /** How many keys of the last scan our user may read. */
  get readable(): number {
    return this.#counts.readable;
  }

  /** One object, as fully as possible. @param name - valid */
  async one(name: string): Promise<ObjectDraft> {
    const key = mapName(name, this.#mapper);
    for (let look = 1; ; look++) {
      const type = (await this.#redis.read('type', key)) as string;
      const [draft] = await this.#readAll(this.#redis, new Map([[key, type]]));
      if (draft?.kind === 'permitExpirableSemaphore') {
        return { ...draft, permits: await permitReports(this.#redis, key) };
      }
      const found = draft ?? (await this.#noObject(name, key));
      // A lock may change hands between our reads: report foreign data only if every attempt found it.
      if (found.kind !== 'other' || look === LOOKS) return found;
    }
  }

  /** Reads locks once more. @returns those that still exist */
  async again(drafts: readonly ObjectDraft[]): Promise<readonly ObjectDraft[]> {
    return inBatches(drafts, async (batch) => {
      const keys = batch.map(({ key }) => key);
      const peeked = await peek(this.#redis, keys);
      const types = await Promise.all(keys.map(async (key) => [key, await peeked.typeOf(key)] as const));
      return this.#readAll(peeked, new Map(types));
    });
  }

  /** Reports a missing key or foreign data. Reads the key again: the lock may have been released meanwhile. */
  async #noObject(name: string, key: string): Promise<ObjectDraft> {
    const asked = [this.#redis.read('type', key), this.#redis.read('pttl', key)];
    const [type, ttlMs] = await Promise.all(asked);
    const nothing = { name, key, holders: [], waiters: 0, channels: [], readAt: Date.now() };
    if (type === 'none') return { ...nothing, kind: 'none', ttlMs: -2 };
    return { ...nothing, kind: 'other', ttlMs: Number(ttlMs) };
  }

  /** The keys of the objects that these keys belong to, with their types. */
  async #candidates(redis: KeyReader, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const types = await Promise.all(keys.map((key) => redis.typeOf(key)));
    const found = new Map<string, string>();
    const parts: Promise<readonly [key: string, type: string]>[] = [];
    for (const [i, key] of keys.entries()) {
      const type = types[i]!;
      this.#counting[type === 'hidden' ? 'hidden' : 'readable']++;
      if ((type === 'hash' || type === 'string') && !isPart(key)) found.set(key, type);
      const around = type === 'list' ? QUEUE.exec(key) : type === 'zset' ? PERMITS.exec(key) : null;
      if (around !== null) parts.push(this.#owner(around[1]!, type === 'list' ? 'hash' : 'string'));
    }
    for (const [key, type] of await Promise.all(parts)) found.set(key, type);
    for (const key of found.keys()) if (!this.#isOurs(key)) found.delete(key);
    return found;
  }

  /** Key and type of the object that a part belongs to. @param part - `{name}`, or a name that itself has braces */
  async #owner(part: string, type: string): Promise<readonly [key: string, type: string]> {
    const inner = /^\{([^{]+)\}$/s.exec(part)?.[1] ?? part;
    const [ofInner, ofPart] = await Promise.all([this.#redis.typeOf(inner), this.#redis.typeOf(part)]);
    return ofInner !== type && ofPart === type ? [part, ofPart] : [inner, ofInner];
  }

  /** Whether the mapper can have produced the key: keys without its prefix belong to other programs. */
  #isOurs(key: string): boolean {
    const name = unmapName(key, this.#mapper);
    return name !== '' && callUserCode('nameMapper.map', () => this.#mapper.map(name), { of: this.#mapper }) === key;
  }

  /** Reads the objects of keys. @param types - the keys and their types in Redis */
  async #readAll(redis: KeyReader, types: ReadonlyMap<string, string>): Promise<readonly ObjectDraft[]> {
    if (types.size === 0) return [];
    const asked = [...types].map(([key, type]) => read(redis, key, type));
    const found = (await Promise.all(asked)).filter((one) => one !== undefined);
    const readAt = Date.now();
    const subscribers = await this.#redis.subscribers(found.flatMap(({ channelNames }) => channelNames));
    return found.map(({ key, channelNames, heard }) => {
      const channels = channelNames.map((name) => ({ name, subscribers: subscribers?.get(name) ?? 0 }));
      const draft = { name: unmapName(key, this.#mapper), key, ...heard(channels, subscribers !== undefined), readAt };
      if (draft.holders.length > 0) this.someKey = key;
      return draft;
    });
  }
}

/** Reads many objects, a few batches at a time. */
async function inBatches<T, R>(all: readonly T[], readBatch: (batch: T[]) => Promise<readonly R[]>): Promise<R[]> {
  const found: R[] = [];
  for (const batches of chunks(chunks(all, BATCH), BATCHES)) {
    found.push(...(await Promise.all(batches.map(readBatch))).flat());
  }
  return found;
}

async function read(redis: KeyReader, key: string, type: string): Promise<Found | undefined> {
  if (type === 'string') return describeNumber(redis, key);
  return type === 'hash' || type === 'none' ? describeLock(redis, key, type) : undefined;
}

/** The pattern of a queue's or permits' key, for any name. @param key - the key for an empty name */
function patternOf(key: string): RegExp {
  return new RegExp(`^${key.replace('{}', '(.*)')}$`, 's');
}

function partsOf(kind: Kind): readonly string[] {
  const around = Object.entries(kind.keysOf('', '')).filter(([role]) => !role.startsWith('channel'));
  return around.map(([, key]) => key.split('{}')[0]!).filter((begin) => begin !== '');
}

function isPart(key: string): boolean {
  return READ_HOLD.test(key) || PARTS.some((begin) => key.startsWith(begin));
}
