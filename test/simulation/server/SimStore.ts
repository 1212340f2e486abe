import { formatG } from '../../../lib/testing/store/luaRuntime';
import { SortedSet, Store, typeOf, type Value } from '../../../lib/testing/store/Store';

/** A store that can be compared, and copied to replicas. */
export class SimStore extends Store {
  readonly #now: () => number;

  constructor(now: () => number) {
    super(now);
    this.#now = now;
  }

  /** What there is, for comparisons: each key with its type, content and time to live. */
  dump(): Record<string, readonly [type: string, content: unknown, ttl: number]> {
    const dump: Record<string, readonly [string, unknown, number]> = {};
    for (const key of [...this.entries.keys()].sort()) {
      const value = this.value(key);
      if (value === undefined) continue;
      dump[key] = [typeOf(value), contentOf(value), this.ttl(key)];
    }
    return dump;
  }

  /** A copy, as a replica has it. @param now - its clock. @default that of this one */
  copy(now = this.#now): SimStore {
    const copy = new SimStore(now);
    for (const [key, { value, expireAt }] of this.entries) {
      copy.put(key, copyOf(value));
      copy.entry(key)!.expireAt = expireAt;
    }
    return copy;
  }
}

function contentOf(value: Value): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].sort());
  if (value instanceof SortedSet) return value.sorted.map(([member, score]) => `${member} ${formatG(score, 17)}`);
  return value;
}

function copyOf(value: Value): Value {
  if (value instanceof Map) return new Map(value);
  if (Array.isArray(value)) return [...value];
  if (typeof value === 'string') return value;
  const copy = new SortedSet();
  for (const [member, score] of value.scores) copy.set(member, score);
  return copy;
}
