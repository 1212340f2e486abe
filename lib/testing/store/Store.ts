import { RedisError } from './replies';

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** A sorted set: the members by score, then by bytes. */
export class SortedSet {
  readonly scores = new Map<string, number>();
  #sorted: [member: string, score: number][] | undefined;

  get sorted(): [member: string, score: number][] {
    this.#sorted ??= [...this.scores].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
    return this.#sorted;
  }

  set(member: string, score: number): boolean {
    const added = !this.scores.has(member);
    this.scores.set(member, score);
    this.#sorted = undefined;
    return added;
  }

  delete(member: string): boolean {
    this.#sorted = undefined;
    return this.scores.delete(member);
  }
}

/** A hash; a sorted set; a list; a string. */
export type Value = Map<string, string> | SortedSet | string[] | string;
/** A key. */
interface Entry {
  value: Value;
  /** Unix time in ms. */
  expireAt: number | undefined;
}

/** How keys end. */
export interface StoreOptions {
  /** Whether a key is gone at the ms at which its time ends. @default false, as Redis: in the next one */
  readonly goneAtDeadline?: boolean;
  /** Called for each key that is gone, as Redis sends an event: its time is over, or it was deleted or emptied. */
  readonly onGone?: (key: string, event: 'expired' | 'del') => void;
}

/** The keys of a server and what is done to them. */
export class Store {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  readonly #options: StoreOptions;

  /** @param now - the server's clock: Unix time in whole ms */
  constructor(now: () => number, options: StoreOptions = {}) {
    this.#now = now;
    this.#options = options;
  }

  /** The server's clock: Unix time in whole ms. */
  get now(): number {
    return this.#now();
  }

  /** All entries, also expired ones that have not been read since. */
  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries;
  }

  entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry?.expireAt === undefined) return entry;
    const leftMs = entry.expireAt - this.#now();
    if (leftMs > 0 || (leftMs === 0 && this.#options.goneAtDeadline !== true)) return entry;
    this.#remove(key, 'expired');
    return undefined;
  }

  /** When the next key expires, in Unix time; `Infinity`: none does. */
  get nextExpiry(): number {
    let next = Infinity;
    for (const { expireAt = Infinity } of this.#entries.values()) next = Math.min(next, expireAt);
    return next;
  }

  /** Removes expired keys, as Redis does between its commands. */
  expire(): void {
    for (const key of [...this.#entries.keys()]) this.entry(key);
  }

  value(key: string): Value | undefined {
    return this.entry(key)?.value;
  }

  hash(key: string): Map<string, string> | undefined {
    return this.#as(key, (value) => value instanceof Map);
  }

  list(key: string): string[] | undefined {
    return this.#as(key, (value) => Array.isArray(value));
  }

  sortedSet(key: string): SortedSet | undefined {
    return this.#as(key, (value) => value instanceof SortedSet);
  }

  text(key: string): string | undefined {
    return this.#as(key, (value) => typeof value === 'string');
  }

  #as<V extends Value>(key: string, is: (value: Value) => value is V): V | undefined {
    const value = this.value(key);
    if (value === undefined || is(value)) return value;
    throw new RedisError(WRONG_TYPE);
  }

  /** Sets a value; a key that exists keeps its time to live. */
  put<V extends Value>(key: string, value: V): V {
    const entry = this.entry(key);
    if (entry === undefined) this.#entries.set(key, { value, expireAt: undefined });
    else entry.value = value;
    return value;
  }

  /** @param event - why it goes. @default 'del' */
  delete(key: string, event: 'expired' | 'del' = 'del'): boolean {
    return this.entry(key) !== undefined && this.#remove(key, event);
  }

  /** Makes room for another value, without an event: the key still exists. */
  overwrite(key: string): void {
    this.#entries.delete(key);
  }

  /** Removes a key without content, as Redis does. */
  deleteEmpty(key: string, size: number): void {
    if (size === 0) this.#remove(key, 'del');
  }

  expireIn(key: string, ms: number): boolean {
    const entry = this.entry(key);
    if (entry === undefined) return false;
    if (ms <= 0) this.#remove(key, 'del');
    else entry.expireAt = this.#now() + ms;
    return true;
  }

  ttl(key: string): number {
    const entry = this.entry(key);
    if (entry === undefined) return -2;
    return entry.expireAt === undefined ? -1 : Math.max(0, entry.expireAt - this.#now());
  }

  #remove(key: string, event: 'expired' | 'del'): boolean {
    const removed = this.#entries.delete(key);
    if (removed) this.#options.onGone?.(key, event);
    return removed;
  }
}

/** As TYPE calls it. */
export function typeOf(value: Value): string {
  if (value instanceof Map) return 'hash';
  if (value instanceof SortedSet) return 'zset';
  return Array.isArray(value) ? 'list' : 'string';
}
