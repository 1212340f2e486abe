import { NOTICE_MS } from '../../../lib/scripts/shortenLease';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import type { Loop } from '../engine/Loop';
import type { ScriptCall, Served, SimServer } from '../server/SimServer';

/** What the last refused attempt of a waiter has told it. Times in ms of the world. */
interface Told {
  readonly at: number;
  /** When the lock would end. It sleeps until then. */
  readonly until: number;
  /** By how much the lease was shortened since then without a message, in ms. */
  cut: number;
}

/** A call that waits for one half of a read/write lock. */
export interface HalfWaiter {
  /** The id of its client. */
  readonly client: string;
  readonly shared: boolean;
  /** When the call began, in ms of the world. */
  readonly since: number;
}

/** The end of a lease is seen so much later at most, in ms. */
const SEEN_MS = 200;
/** What PTTL says of a key that is not there. */
const GONE = -2;

/**
 * Knows which waiters of a read/write lock may sleep although it is free, and until when. A holder that gives back the
 * longer lease of several tells the waiters only where the rest is shorter by more than half and a second
 * (`lib/scripts/shortenLease.ts`, docs/reliability.md). So a waiter may sleep on until the end of the lease that its
 * own last attempt has seen, if nothing but such shortenings, each of which was right to send no message, has brought
 * the end forward to when the lock was free. Whatever sends a message, or has to, excuses nobody.
 */
export class ShortenedLeases {
  /** By lock and owner. */
  readonly #told = new Map<string, Map<string, Told>>();
  readonly #loop: Loop;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** A script is about to run. @returns what is told its reply; `undefined`: it tells or shortens nothing */
  observe(served: Served, server: SimServer, call: ScriptCall): ((reply: Reply) => void) | undefined {
    const [kind, what] = call.script.split('.');
    if (kind !== 'readLock' && kind !== 'writeLock') return undefined;
    const [name = ''] = call.keys;
    const told = this.#of(`${served.name}/${name}`);
    if (what === 'acquire') return (reply) => this.#attempted(told, call.args[1]!, reply);
    if (what !== 'release' && what !== 'forceRelease') return undefined;
    const before = server.store.ttl(name);
    return (reply) => {
      if (reply instanceof RedisError) return;
      const after = server.store.ttl(name);
      const cut = before - after;
      // Whoever holds nothing sends a message only where there is no lock.
      const heard = reply === null ? after === GONE : reply !== 0;
      // So does a release that frees the lock. A lease that is that much shorter must send one.
      if (heard || cut > before / 2 + NOTICE_MS) told.clear();
      else if (cut > 0) for (const one of told.values()) one.cut += cut;
    };
  }

  /**
   * Until when each of some waiters may sleep beside a lock that is free, in ms of the world.
   *
   * @param waiters - all that wait for it
   * @param freeSince - when it was seen to be free, in ms of the world
   */
  excusedUntil(key: string, waiters: readonly HalfWaiter[], freeSince: number): number[] {
    const told = this.#of(key);
    const ends = new Map<Told, number>();
    for (const one of told.values()) {
      if (one.cut > 0 && freeSince + SEEN_MS >= one.until - one.cut) ends.set(one, one.until);
    }
    const taken = new Set<Told>();
    return waiters.map(({ client, shared, since }) => {
      const own = [...told].filter(([owner]) => owner.startsWith(client) && owner.endsWith(':write') !== shared);
      const all = own.map(([, one]) => one).sort((one, other) => one.at - other.at);
      // Writers of one client sleep behind the first of them. Each reader has attempted for itself.
      const one = shared ? all.find((each) => each.at >= since && ends.has(each) && !taken.has(each)) : all.at(-1);
      if (one === undefined) return -Infinity;
      taken.add(one);
      return ends.get(one) ?? -Infinity;
    });
  }

  #of(key: string): Map<string, Told> {
    let told = this.#told.get(key);
    if (told === undefined) this.#told.set(key, (told = new Map<string, Told>()));
    return told;
  }

  #attempted(told: Map<string, Told>, owner: string, reply: Reply): void {
    if (reply instanceof RedisError) return;
    const { now } = this.#loop;
    if (typeof reply === 'number') told.set(owner, { at: now, until: reply < 0 ? Infinity : now + reply, cut: 0 });
    else told.delete(owner);
  }
}
