import { WRITER } from '../../lib/util/names';
import { FakeGroup } from './FakeGroup';
import type { FakeSubscriber } from './fakes';

/** The hash of one lock. */
interface FakeLock {
  readonly holds: Map<string, number>;
  /** Time of `performance.now()` at which it expires. */
  until: number;
}

/** The arguments of a script by their names, as text. */
export type NamedArgs = Readonly<Record<string, string>>;

/**
 * As much of Redis as plain locks and groups need, in memory and on the (fake) clock of the test: what the scripts of
 * `lib/kinds/reentrant.ts` do, in words of TypeScript. That both do the same is what the tests on a real server show.
 * Of read/write locks: who gets in and who is told, but not the leases of single readers.
 */
export class FakeRedis {
  readonly subscribers = new Set<FakeSubscriber>();
  readonly #locks = new Map<string, FakeLock>();
  readonly #groups = new Map<string, FakeGroup>();
  readonly #published: string[] = [];

  /** Every message published so far, as `channel message`. */
  get published(): readonly string[] {
    return this.#published;
  }

  /** Whether there is a lock of that name. */
  exists(name: string): boolean {
    return this.#get(name) !== undefined || this.group(name).held.length > 0;
  }

  /** The holds of an owner; 0 for none. */
  holds(name: string, owner: string): number {
    const held = this.group(name).held.filter((one) => one.owner === owner);
    return this.#get(name)?.holds.get(owner) ?? (held.length > 0 ? Math.min(...held.map(({ count }) => count)) : 0);
  }

  /** Who holds it. */
  owners(name: string): string[] {
    const ofValues = this.group(name).held.map(({ owner }) => owner);
    return [...(this.#get(name)?.holds.keys() ?? []), ...new Set(ofValues)];
  }

  /** The pttl: -2 = no such lock, -1 = no expiry. */
  pttl(name: string): number {
    const { held } = this.group(name);
    if (held.length > 0) return Math.ceil(Math.max(...held.map(({ until }) => until)) - performance.now());
    const lock = this.#get(name);
    if (lock === undefined) return -2;
    return lock.until === Infinity ? -1 : Math.ceil(lock.until - performance.now());
  }

  /** The values of a group. */
  group(name: string): FakeGroup {
    let group = this.#groups.get(name);
    if (group === undefined)
      this.#groups.set(name, (group = new FakeGroup((channel, message) => this.publish(channel, message))));
    return group;
  }

  /** Somebody else's client takes it; of a group, all values that there are. */
  seize(name: string, owner: string, leaseMs = 30_000): void {
    const until = performance.now() + leaseMs;
    const { values } = this.group(name);
    if (values.size === 0) this.#locks.set(name, { holds: new Map([[owner, 1]]), until });
    else for (const field of values.keys()) values.set(field, { owner, count: 1, until });
  }

  /** DEL, without a message. */
  delete(name: string): boolean {
    return this.#locks.delete(name);
  }

  /** Tells the subscribers. Returns how many there were. */
  publish(channel: string, message: string): number {
    this.#published.push(`${channel} ${message}`);
    let receivers = 0;
    for (const subscriber of this.subscribers) {
      if (subscriber.receive(channel, message)) receivers += 1;
    }
    return receivers;
  }

  /** Runs a script. */
  run(script: string, keys: readonly string[], args: NamedArgs, more: readonly string[]): unknown {
    const [name = ''] = keys;
    if (script === 'groupLock.find') {
      const fields = more.slice(keys.length);
      return keys.map((key, i) => (this.group(key).gone(more[i]!, fields).length < fields.length ? 1 : 0));
    }
    if (script === 'groupLock.renew') {
      const [owner = '', , ...fields] = more;
      return [this.group(name).renew(owner, fields, Number(args['lease']))];
    }
    if (script.startsWith('groupLock.')) return this.group(name).run(script, keys[1] ?? '', args, more);
    switch (script) {
      case 'lock.acquire':
      case 'writeLock.acquire':
        return this.#acquire(name, args);
      case 'readLock.acquire':
        return this.#read(name, args);
      case 'readLock.release':
      case 'writeLock.release':
        return this.#releaseHalf(name, keys[1] ?? '', args);
      case 'lock.release':
        return this.#release(name, keys[1] ?? '', args);
      case 'lock.handOver':
        return this.#handOver(name, args);
      case 'lock.forceRelease':
        if (!this.delete(name)) return 0;
        this.publish(keys[1] ?? '', args['message'] ?? '');
        return 1;
      case 'lock.find':
        return keys.map((key, i) => (this.holds(key, more[i] ?? '') > 0 ? 1 : 0));
      case 'lock.renew':
        return keys.map((key, i) => this.#renew(key, more[i] ?? '', Number(args['lease'])));
      default:
        throw new Error(`the fake Redis does not know the script ${script}`);
    }
  }

  /** Runs a plain command. */
  call(command: string, args: readonly string[]): unknown {
    const [name = '', owner = ''] = args;
    switch (command) {
      case 'exists':
        return this.exists(name) ? 1 : 0;
      case 'hget':
        return this.holds(name, owner) === 0 ? null : String(this.holds(name, owner));
      case 'pttl':
        return this.pttl(name);
      default:
        throw new Error(`the fake Redis does not know the command ${command}`);
    }
  }

  #get(name: string): FakeLock | undefined {
    const lock = this.#locks.get(name);
    if (lock !== undefined && lock.until <= performance.now()) this.#locks.delete(name);
    return this.#locks.get(name);
  }

  #acquire(name: string, { owner = '', lease = '', count = '' }: NamedArgs): unknown {
    const until = performance.now() + Number(lease);
    const lock = this.#get(name);
    if (lock === undefined) {
      this.#locks.set(name, { holds: new Map([[owner, 1]]), until });
      return count === '1' ? null : [1];
    }
    let held = lock.holds.get(owner);
    if (held === undefined) return this.pttl(name);
    if (held < Number(count)) lock.holds.set(owner, (held += 1));
    lock.until = Math.max(lock.until, until);
    return held === Number(count) ? null : [held];
  }

  #read(name: string, { owner = '', writer = '', ...args }: NamedArgs): unknown {
    const lock = this.#get(name);
    if (lock !== undefined && isWritten(lock) && !lock.holds.has(writer)) return this.pttl(name);
    lock?.holds.set(owner, lock.holds.get(owner) ?? 0);
    return this.#acquire(name, { owner, ...args });
  }

  #releaseHalf(name: string, channel: string, args: NamedArgs): unknown {
    const { owner = '', left, message = '' } = args;
    const lock = this.#get(name);
    const others = [...(lock?.holds.keys() ?? [])].some((other) => other !== owner);
    if (lock?.holds.has(owner) !== true || left !== '0' || !others) return this.#release(name, channel, args);
    lock.holds.delete(owner);
    // What is left are readers; or it was a reader that went.
    return owner.endsWith(WRITER) ? 1 + this.publish(channel, message) : 0;
  }

  #release(name: string, channel: string, { owner = '', left = '', remaining = '', message = '' }: NamedArgs): unknown {
    const lock = this.#get(name);
    const held = lock?.holds.get(owner);
    if (lock === undefined || held === undefined) return null;
    const keep = Number(left) < 0 ? held - 1 : Number(left);
    if (keep <= 0) {
      this.#locks.delete(name);
      return 1 + this.publish(channel, message);
    }
    lock.holds.set(owner, Math.min(held, keep));
    if (remaining !== '0') lock.until = performance.now() + Number(remaining);
    return 0;
  }

  #handOver(name: string, { owner = '', heir = '', lease = '' }: NamedArgs): unknown {
    const lock = this.#get(name);
    if (lock?.holds.delete(owner) !== true) return lock?.holds.has(heir) === true ? -1 : null;
    lock.holds.set(heir, 1);
    lock.until = performance.now() + Number(lease);
    return -1;
  }

  #renew(name: string, owner: string, leaseMs: number): number {
    const lock = this.#get(name);
    if (lock?.holds.has(owner) !== true) return 0;
    lock.until = Math.max(lock.until, performance.now() + leaseMs);
    return 1;
  }
}

function isWritten({ holds }: FakeLock): boolean {
  return [...holds.keys()].some((owner) => owner.endsWith(WRITER));
}
