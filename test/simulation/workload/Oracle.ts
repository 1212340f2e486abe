import type { Loop } from '../engine/Loop';
import type { SimStore } from '../server/SimStore';
import { EPOCH } from '../engine/Loop';
import type { App } from './App';

/** What must never happen. */
export class Violation extends Error {}

/** Somebody who believes to be inside. */
export interface Inside {
  readonly app: App;
  /** What is guarded: a lock of a server. */
  readonly key: string;
  readonly shared: boolean;
  /** Whose it is: two of one owner do not exclude each other. */
  readonly owner: string;
  /** When it was got, in ms of the world. */
  readonly since: number;
  /** What says so in Redis. @default nothing that may be excused */
  readonly record?: HoldRecord;
  /** Whether its signal says that it still is. */
  alive(): boolean;
}

/** What a hold is in Redis. */
export interface HoldRecord {
  /** For which clients are made. */
  readonly server: string;
  /** The key of the lock, and what the hash there has of the hold. */
  readonly name: string;
  readonly fields: readonly string[];
}

/** A master was replaced. */
interface Replacement {
  /** What it had then, and what it accepts as long as it goes on. */
  readonly former: SimStore;
  /** What its successor had of it, whether or not its time is over. */
  readonly got: SimStore;
  /** Whether the successor has lost that since then. */
  lost: boolean;
}

/** Permits that somebody has. */
interface Taken {
  readonly app: App;
  readonly permits: number;
  readonly since: number;
}

/** docs/reliability.md: 25 ms and a round trip, of which at most 100 ms count; and what a clock is wrong by. */
export const LOCAL_HEIRS_MS = 130;

/** Knows who is inside of what, and judges. */
export class Oracle {
  readonly violations: string[] = [];
  readonly #inside = new Map<string, Set<Inside>>();
  readonly #permits = new Map<string, Set<Taken>>();
  readonly #tokens = new Map<string, bigint>();
  /** How often each was entered. */
  readonly entered = new Map<string, number>();
  /** Permits that calls have, or give back just now. */
  readonly #lent = new Map<string, Set<Taken>>();
  /** How many permits of before the last loss of data may have been added to those that were set after it. */
  readonly #strays = new Map<string, number>();
  /** When a server lost what it knew, in ms of the world. */
  readonly lostAt = new Map<string, number>();
  /** When the keys of a lock were lost, since they had been moved to a master that died before its replica had them. */
  readonly #lostKeys = new Map<string, number>();
  /** Masters that were replaced. */
  readonly #replacements = new Map<string, Replacement[]>();
  readonly #loop: Loop;

  /** Heirs may start for so long after a loss that their process has not heard of, in ms (`localHandOver`). */
  heirsMs = 0;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  violate(text: string): void {
    const line = `${this.#loop.now.toFixed(3)} ${text}`;
    this.#loop.note('VIOLATION', () => `VIOLATION ${text}`);
    this.violations.push(line);
  }

  /** Somebody got in. @returns what says that it is leaving */
  enter(one: Inside): () => void {
    const { key } = one;
    let all = this.#inside.get(key);
    if (all === undefined) this.#inside.set(key, (all = new Set()));
    this.entered.set(key, (this.entered.get(key) ?? 0) + 1);
    this.#loop.note(`enters ${key}`, () => `enters ${key} as ${one.owner}`);
    for (const other of all) this.#compare(one, other);
    all.add(one);
    return () => {
      this.#loop.note(`leaves ${key}`, () => `leaves ${key} as ${one.owner}`);
      all.delete(one);
    };
  }

  /** Somebody got permits. @param total - how many there are @returns what says that it gives them back */
  takePermits(app: App, key: string, permits: number, total: number, since: number): () => void {
    const all = this.#permits.get(key) ?? new Set<Taken>();
    this.#permits.set(key, all);
    this.entered.set(key, (this.entered.get(key) ?? 0) + 1);
    const one = { app, permits, since };
    all.add(one);
    // A process that is stopped does nothing with its permits. When it goes on, its signals abort first.
    const valid = [...all].filter(
      (each) => !this.#excused(key, each.since) && each.app.process.frozenUntil <= this.#loop.now,
    );
    const sum = valid.reduce((count, each) => count + each.permits, 0);
    if (sum > total) this.violate(`${sum} permits of ${key} are given, and there are ${total}`);
    return () => void all.delete(one);
  }

  /**
   * Permits of a semaphore, which has no owners: one that is given back after its server has lost its data is one more
   * than were set anew.
   *
   * @param askedAt - when they were asked for
   * @returns what says that they are given back, and that this was answered
   */
  lend(app: App, key: string, permits: number, askedAt: number): () => void {
    const all = this.#lent.get(key) ?? new Set<Taken>();
    this.#lent.set(key, all);
    const one = { app, permits, since: this.#loop.now };
    all.add(one);
    // Its answer was under way when the data was lost.
    if (this.#excused(key, askedAt)) this.#strays.set(key, this.strays(key) + permits);
    return () => void all.delete(one);
  }

  /** How many permits of a semaphore there may be more than were set, since its server has lost its data. */
  strays(key: string): number {
    return this.#strays.get(key) ?? 0;
  }

  /** A process that was stopped goes on: what it believes is checked. */
  recheck(app: App): void {
    for (const all of this.#inside.values()) {
      for (const one of all) {
        if (one.app === app) for (const other of all) if (other !== one) this.#compare(other, one);
      }
    }
  }

  /** A process is gone. */
  forget(app: App): void {
    for (const all of this.#inside.values()) for (const one of all) if (one.app === app) all.delete(one);
    for (const taken of [this.#permits, this.#lent]) {
      for (const all of taken.values()) for (const one of all) if (one.app === app) all.delete(one);
    }
  }

  /** A hold with a fencing token began. @param askedAt - when it was asked for */
  token(key: string, token: bigint, askedAt: number): void {
    if (this.#excused(key, askedAt)) return;
    const last = this.#tokens.get(key);
    if (last !== undefined && token <= last) this.violate(`token ${token} of ${key} after ${last}`);
    this.#tokens.set(key, token);
  }

  /** A server has forgotten everything. */
  lost(server: string): void {
    this.lostAt.set(server, this.#loop.now);
    for (const replacement of this.#replacements.get(server) ?? []) replacement.lost = true;
    for (const key of this.#tokens.keys()) if (key.startsWith(`${server}/`)) this.#tokens.delete(key);
    for (const [key, all] of this.#lent) {
      if (!key.startsWith(`${server}/`)) continue;
      this.#strays.set(
        key,
        [...all].reduce((sum, { permits }) => sum + permits, 0),
      );
    }
  }

  /**
   * A master was replaced. It may be dead, or hang, or go on beside its successor.
   * @param former - what it has, and may go on changing
   * @param got - what its successor has of that
   * @param lost - the keys that had been moved to it, and that its successor has not got
   */
  replaced(server: string, former: SimStore, got: SimStore, lost: readonly string[] = []): void {
    for (const key of lost) {
      const tag = /\{([^}]*)\}/.exec(key)?.[1] ?? key;
      for (const name of [tag, `{${tag}}`]) {
        this.#lostKeys.set(`${server}/${name}`, this.#loop.now);
        this.#tokens.delete(`${server}/${name}`);
      }
    }
    const all = this.#replacements.get(server) ?? [];
    this.#replacements.set(server, [...all, { former, got: got.copy(() => 0), lost: false }]);
  }

  /**
   * Whether a client is right to believe in a hold that Redis does not know: a master that was replaced has confirmed
   * renewals that its successor has not got. Nobody promises that replicas confirm renewals. But they confirm
   * acquisitions, and a renewal lasts for one lease. So the successor had the hold, its time is over there (or the
   * successor has lost its data), and what the former master has of it still lasts.
   */
  misled({ server, name, fields }: HoldRecord): boolean {
    const now = EPOCH + this.#loop.now;
    return (this.#replacements.get(server) ?? []).some(({ former, got, lost }) => {
      const known = former.hash(name);
      const isOver = (end: number): boolean => end <= now || (lost && end < Infinity);
      return fields.every((field) => known?.has(field) === true && isOver(endOf(got, name, field)));
    });
  }

  /** When what a server knew of a lock was lost the last time, in ms of the world; -1: never. */
  lastLoss(server: string, name: string): number {
    return Math.max(this.lostAt.get(server) ?? -1, this.#lostKeys.get(`${server}/${name}`) ?? -1);
  }

  /**
   * Whether a server knew a lock and had it lost since then, or so shortly before that a process may have gone on to
   * pass it on.
   */
  hasLost(server: string, name: string, since: number): boolean {
    return this.lastLoss(server, name) >= since - this.heirsMs;
  }

  /** Whether somebody is inside. */
  occupied(key: string): boolean {
    return (this.#inside.get(key)?.size ?? 0) > 0;
  }

  insiders(): Inside[] {
    return [...this.#inside.values()].flatMap((all) => [...all]);
  }

  #excused(key: string, since: number): boolean {
    const [server = '', name = ''] = key.split('/');
    return server === 'red' ? Math.max(-1, ...this.lostAt.values()) >= since : this.hasLost(server, name, since);
  }

  #compare(one: Inside, other: Inside): void {
    if ((one.shared && other.shared) || one.owner === other.owner) return;
    if (!other.app.running || !one.app.running) return;
    // Each by its own clocks: those of the process that runs just now may be 100 ms ahead.
    const isAlive = ({ app, alive }: Inside): boolean => this.#loop.as(app.process, alive);
    if (!isAlive(other) || !isAlive(one)) return;
    if (this.#excused(one.key, Math.min(other.since, one.since))) return;
    const { record } = one.since < other.since ? one : other;
    if (record !== undefined && this.misled(record)) return;
    this.violate(`two inside of ${one.key}: ${one.owner} and ${other.owner}, since ${other.since.toFixed(3)}`);
  }
}

/**
 * When a hold ends by itself, in Unix time in ms; `Infinity`: it is not there. Values of groups have times of their
 * own.
 */
function endOf(store: SimStore, name: string, field: string): number {
  const entry = store.entry(name);
  const text = store.hash(name)?.get(field);
  if (entry === undefined || text === undefined) return Infinity;
  return field.endsWith(':expire_time') ? Number(text) : (entry.expireAt ?? Infinity);
}
