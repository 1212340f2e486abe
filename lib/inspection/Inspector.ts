import type { Config } from '../config/builder/Config';
import type { NameMapper } from '../config/NameMapper';
import type { RedissonOptions } from '../config/RedissonOptions';
import { resolveConfig } from '../config/builder/resolveConfig';
import { mapName, validateName } from '../config/validateName';
import { connect, type Connections } from '../connection/connect';
import { describeLock, describeNumber, type LockDraft, type NumberDraft, permitReports } from './describe';
import { globTest, scanFilter } from './glob';
import { RedisView } from './RedisView';
import type { ObjectReport } from './reports';

/** What a page of the keys brought. */
export interface InspectionPage {
  readonly reports: readonly ObjectReport[];
  /** Whether every key has been seen once (more). */
  readonly last: boolean;
}

type Draft = { readonly lock: LockDraft } | { readonly number: NumberDraft };

/** Keys that lead to the name of an object. */
const QUEUE = /^redisson_lock_queue:(.*)$/s;
const PERMITS = /^(.*):timeout$/s;
/** Keys that are part of an object. */
const PART = /^redisson_(?:lock_timeout|lock_token|unlock_latch):|:rwlock_timeout:\d+$/s;

/**
 * Looks at the locks and synchronizers in Redis. Changes nothing, and asks for no key but those it is shown. Keys that
 * its user has no right to are passed over.
 */
export class Inspector {
  readonly #redis: RedisView;
  readonly #connections: Connections;
  readonly #mapper: NameMapper;

  private constructor(connections: Connections, mapper: NameMapper) {
    this.#connections = connections;
    this.#redis = new RedisView(connections.executor);
    this.#mapper = mapper;
  }

  /** Connects in the background. @param config - as for `Redisson.create` @throws ConfigError */
  static open(config?: string | Config | RedissonOptions): Inspector {
    const settings = resolveConfig(config);
    return new Inspector(connect(settings), settings.nameMapper);
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    const { executor, subscriber } = this.#connections;
    subscriber.close();
    await executor.close();
  }

  /** All objects, by name. Numbers that nobody waits for are left out: any counter looks like that. */
  async list(pattern?: string): Promise<readonly ObjectReport[]> {
    const found = new Map<string, ObjectReport>();
    for await (const { reports, last } of this.pages(pattern)) {
      for (const report of reports) found.set(report.key, report);
      if (last) break;
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  /** As {@link list}, a page of the keyspace at a time, for ever: after the last page the first comes again. */
  async *pages(pattern?: string): AsyncGenerator<InspectionPage, never> {
    const matches = pattern === undefined ? () => true : globTest(pattern);
    // The keys around a lock have its name in them.
    const scan = this.#redis.pages(pattern === undefined ? undefined : scanFilter(pattern));
    for (;;) {
      const { keys, last } = (await scan.next()).value;
      const reports = await this.#report(await this.#candidates(keys));
      yield { reports: reports.filter(({ kind, name }) => kind !== 'number' && matches(name)), last };
    }
  }

  /** One object, as fully as possible. @throws ConfigError for an empty name */
  async inspect(name: string): Promise<ObjectReport> {
    const key = mapName(validateName(name, 'lock'), this.#mapper);
    const type = (await this.#redis.read('type', key)) as string;
    const [report] = await this.#report(new Map([[key, type]]));
    if (report === undefined) return this.#noObject(name, key);
    if (report.kind !== 'permitExpirableSemaphore') return report;
    return { ...report, permits: await permitReports(this.#redis, key) };
  }

  /** What is not there, or is something else. Asked again: a lock may have been released while we looked. */
  async #noObject(name: string, key: string): Promise<ObjectReport> {
    const asked = [this.#redis.read('type', key), this.#redis.read('pttl', key)];
    const [type, ttlMs] = await Promise.all(asked);
    const nothing = { name, key, holders: [], waiters: 0, channels: [] };
    if (type === 'none') return { ...nothing, kind: 'none', ttlMs: -2 };
    return { ...nothing, kind: 'other', ttlMs: Number(ttlMs) };
  }

  /** The keys of the objects that these keys belong to, with their types. */
  async #candidates(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const types = await Promise.all(keys.map((key) => this.#redis.typeOf(key)));
    const found = new Map<string, string>();
    const parts: Promise<readonly [key: string, type: string]>[] = [];
    for (const [i, key] of keys.entries()) {
      const type = types[i]!;
      if (type === 'hash' || (type === 'string' && !PART.test(key))) found.set(key, type);
      const around = type === 'list' ? QUEUE.exec(key) : type === 'zset' ? PERMITS.exec(key) : null;
      if (around !== null) parts.push(this.#owner(around[1]!, type === 'list' ? 'hash' : 'string'));
    }
    for (const [key, type] of await Promise.all(parts)) found.set(key, type);
    for (const key of found.keys()) if (!this.#isOurs(key)) found.delete(key);
    return found;
  }

  /** The object that a part, `{name}` or a name with braces of its own, belongs to: its key and type. */
  async #owner(part: string, type: string): Promise<readonly [key: string, type: string]> {
    const inner = /^\{([^{]+)\}$/s.exec(part)?.[1] ?? part;
    const [ofInner, ofPart] = await Promise.all([this.#redis.typeOf(inner), this.#redis.typeOf(part)]);
    return ofInner !== type && ofPart === type ? [part, ofPart] : [inner, ofInner];
  }

  /** Whether the mapper can have made it: keys without its prefix are somebody else's. */
  #isOurs(key: string): boolean {
    const name = this.#mapper.unmap(key);
    return name !== '' && this.#mapper.map(name) === key;
  }

  async #report(types: ReadonlyMap<string, string>): Promise<readonly ObjectReport[]> {
    const asked = [...types].map(([key, type]) => this.#draft(key, type));
    const drafts = (await Promise.all(asked)).filter((draft) => draft !== undefined);
    const channels = drafts.flatMap((one) => ('lock' in one ? one.lock : one.number).channelNames);
    const subscribers = await this.#redis.subscribers(channels);
    return drafts.map((one) =>
      'lock' in one ? this.#lockReport(one.lock, subscribers) : this.#numberReport(one.number, subscribers),
    );
  }

  async #draft(key: string, type: string): Promise<Draft | undefined> {
    if (type === 'string') {
      const number = await describeNumber(this.#redis, key);
      return number && { number };
    }
    if (type !== 'hash' && type !== 'none') return undefined;
    const lock = await describeLock(this.#redis, key, type);
    return lock && { lock };
  }

  #lockReport(draft: LockDraft, subscribers: ReadonlyMap<string, number>): ObjectReport {
    const { queued, channelNames, ...lock } = draft;
    const channels = channelNames.map((name) => ({ name, subscribers: subscribers.get(name) ?? 0 }));
    const name = this.#mapper.unmap(lock.key);
    const listening = channels.reduce((sum, channel) => sum + channel.subscribers, 0);
    if (lock.kind !== 'fair') return { name, ...lock, waiters: listening, channels };
    const queue = queued.map((one, i) => ({ ...one, listening: channels[i]!.subscribers > 0 }));
    return { name, ...lock, waiters: queue.length, queue, channels };
  }

  #numberReport(draft: NumberDraft, subscribers: ReadonlyMap<string, number>): ObjectReport {
    const { channelNames, acquired, key, ttlMs, value } = draft;
    const [semaphore, latch] = channelNames.map((name) => ({ name, subscribers: subscribers.get(name) ?? 0 })) as [
      ObjectReport['channels'][number],
      ObjectReport['channels'][number],
    ];
    const base = { name: this.#mapper.unmap(key), key, ttlMs, holders: [], value };
    const ofSemaphore = { ...base, waiters: semaphore.subscribers, channels: [semaphore] };
    if (acquired !== undefined) return { ...ofSemaphore, kind: 'permitExpirableSemaphore', acquired };
    if (semaphore.subscribers > 0) return { ...ofSemaphore, kind: 'semaphore' };
    if (latch.subscribers > 0)
      return { ...base, kind: 'countDownLatch', waiters: latch.subscribers, channels: [latch] };
    return { ...base, kind: 'number', waiters: 0, channels: [] };
  }
}
