import type { NamedArgs } from './fakeRedis';

/** A value that somebody has. */
interface FakeValue {
  readonly owner: string;
  readonly count: number;
  /** Time of `performance.now()` at which it is free. */
  readonly until: number;
}

/** The hash of a group: what the scripts of `lib/kinds/group.ts` do, in words of TypeScript. */
export class FakeGroup {
  /** By their fields. */
  readonly values = new Map<string, FakeValue>();
  readonly #publish: (channel: string, message: string) => number;

  constructor(publish: (channel: string, message: string) => number) {
    this.#publish = publish;
  }

  /** Those that are not free. */
  get held(): FakeValue[] {
    return [...this.values.values()].filter(({ until }) => until > performance.now());
  }

  run(script: string, channel: string, args: NamedArgs, more: readonly string[]): unknown {
    switch (script) {
      case 'groupLock.acquire':
        return this.#acquire(args, more);
      case 'groupLock.release':
        return this.#release(channel, args, more);
      case 'groupLock.handOver':
        return this.#handOver(channel, args, more);
      case 'groupLock.forceRelease': {
        const found = more.filter((field) => this.values.delete(field)).length > 0;
        if (found) this.#publish(channel, args['message']!);
        return found ? 1 : 0;
      }
      case 'groupLock.count':
        return Math.min(...more.map((field) => this.#of(args['owner']!, field)?.count ?? 0));
      default:
        throw new Error(`the fake Redis does not know the script ${script}`);
    }
  }

  /** Those of the fields that an owner has not got. */
  gone(owner: string, fields: readonly string[]): string[] {
    return fields.filter((field) => this.#of(owner, field) === undefined);
  }

  /** @returns those that are gone */
  renew(owner: string, fields: readonly string[], leaseMs: number): string[] {
    const gone = this.gone(owner, fields);
    for (const field of fields) {
      if (gone.includes(field)) continue;
      const value = this.values.get(field)!;
      this.values.set(field, { ...value, until: Math.max(value.until, performance.now() + leaseMs) });
    }
    return gone;
  }

  #of(owner: string, field: string): FakeValue | undefined {
    const value = this.values.get(field);
    return value?.owner === owner && value.until > performance.now() ? value : undefined;
  }

  #acquire({ owner = '', lease = '' }: NamedArgs, more: readonly string[]): unknown {
    const wanted = portionsOf(more, 1);
    const now = performance.now();
    const others = wanted.flatMap(({ field }) => this.values.get(field) ?? []).filter((one) => one.owner !== owner);
    const latest = Math.max(now, ...others.map(({ until }) => until));
    if (latest > now) return Math.ceil(latest - now);
    const lost: string[] = [];
    for (const { field, numbers } of wanted) {
      const own = this.#of(owner, field);
      if (own === undefined && numbers[0] !== 1) lost.push(field);
      const count = own === undefined ? 1 : numbers[0]!;
      this.values.set(field, { owner, count, until: Math.max(own?.until ?? 0, now + Number(lease)) });
    }
    return lost.length > 0 ? lost : null;
  }

  #release(channel: string, { owner = '', message = '' }: NamedArgs, more: readonly string[]): unknown {
    const released = portionsOf(more, 2);
    const gone = this.gone(
      owner,
      released.map(({ field }) => field),
    );
    let freed = false;
    for (const { field, numbers } of released) {
      const value = this.#of(owner, field);
      const [left = 0, remaining = 0] = numbers;
      if (value === undefined) continue;
      if (left === 0) freed = this.values.delete(field) || freed;
      else {
        const until = remaining > 0 ? performance.now() + remaining : value.until;
        this.values.set(field, { owner, count: Math.min(value.count, left), until });
      }
    }
    const receivers = freed ? this.#publish(channel, message) : 0;
    if (gone.length > 0) return gone;
    return freed ? 1 + receivers : 0;
  }

  #handOver(
    channel: string,
    { owner = '', heir = '', lease = '', message = '' }: NamedArgs,
    fields: readonly string[],
  ): unknown {
    if (this.gone(heir, fields).length === 0) return -1;
    const gone = this.gone(owner, fields);
    const own = fields.filter((field) => !gone.includes(field));
    const until = performance.now() + Number(lease);
    for (const field of own) {
      if (gone.length > 0) this.values.delete(field);
      else this.values.set(field, { owner: heir, count: 1, until });
    }
    if (gone.length === 0) return -1;
    if (own.length > 0) this.#publish(channel, message);
    return gone;
  }
}

/** Reads portions: so many numbers, how many fields, the fields. */
function portionsOf(more: readonly string[], count: number): { field: string; numbers: number[] }[] {
  const read: { field: string; numbers: number[] }[] = [];
  for (let at = 0; at < more.length;) {
    const numbers = more.slice(at, at + count).map(Number);
    const first = at + count + 1;
    at = first + Number(more[first - 1]);
    read.push(...more.slice(first, at).map((field) => ({ field, numbers })));
  }
  return read;
}
