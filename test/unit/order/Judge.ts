import { groupValues } from '../../../lib/kinds/group';
import { toBytes } from '../../../lib/testing/bytes';
import { confirmedUntil } from '../../../lib/util/duration';
import type { FuzzServer } from './FuzzServer';

/** What nobody else may have at the same time. */
export interface Claim {
  readonly key: string;
  /** Of a group. */
  readonly value?: string;
  /** Which half of a read/write lock. */
  readonly half?: 'read' | 'write';
}

/** One hold as its caller sees it: from the moment a call has resolved. */
export interface Held {
  /** The client's id, and its name in the history. */
  readonly clientId: string;
  readonly client: string;
  /** -1: a ticket. */
  readonly thread: number;
  readonly what: string;
  readonly claims: readonly Claim[];
  readonly since: number;
  /** Until when its caller counts on it; `Infinity`: until it is told otherwise. */
  until: number;
  /**
   * `held`; `ending`: a release or `detach` is under way; `over`. */
  state: 'held' | 'ending' | 'over';
  /** Redis did not have it although nobody has taken it away: known already. */
  gone?: boolean;
  /** Its caller has been told that it is lost. */
  told?: boolean;
  /** Somebody was asked to take it away. */
  forced?: boolean;
  /** Its client, or the watchdog, has given it up: it stays in Redis until its lease ends. */
  givenUp?: string;
  /** When the server has renewed it. */
  renewedAt?: number;
  /** It is given up after so many renewals. */
  maxRenewals?: number;
}

export interface Violation {
  readonly at: number;
  readonly text: string;
}

/** After `forceUnlock()`: how long `localHandOver` may pass on what Redis does not have any more, in ms. */
const PASSED_AFTER_MS = 150;
/** The longest time that a reply is under way, in ms. */
const REPLY_MS = 30;

/**
 * Judges by what callers see, and by what the store has; it knows nothing of the client's own tables.
 */
export class Judge {
  readonly holds: Held[] = [];
  readonly violations: Violation[] = [];
  readonly history: string[] = [];
  readonly #server: FuzzServer;
  readonly #local: boolean;
  readonly #names: ReadonlyMap<string, string>;
  readonly #watchdogMs: number;
  #forcedAt = -Infinity;

  /** @param names - of clients, by their ids */
  constructor(server: FuzzServer, local: boolean, names: ReadonlyMap<string, string>, watchdogMs: number) {
    this.#server = server;
    this.#local = local;
    this.#names = names;
    this.#watchdogMs = watchdogMs;
  }

  note(text: string): void {
    this.history.push(`${performance.now().toFixed(0).padStart(6)}  ${text}`);
  }

  violate(text: string): void {
    if (this.violations.length > 20) return;
    this.violations.push({ at: performance.now(), text });
    this.note(`### ${text}`);
  }

  /** Somebody has got something. */
  got(calledAt: number, held: Omit<Held, 'state' | 'since'>): Held {
    const one: Held = { ...held, state: 'held', since: performance.now() };
    const ago = one.since - this.#forcedAt;
    if (calledAt <= this.#forcedAt && ago < REPLY_MS) one.forced = true;
    if (this.#local && ago < PASSED_AFTER_MS) one.forced = true;
    this.holds.push(one);
    return one;
  }

  isLive(held: Held): boolean {
    return held.state === 'held' && performance.now() < held.until;
  }

  /** Whether its caller may be told that it was lost. */
  mayBeLost(held: Held): boolean {
    const { gone, forced, givenUp, until, maxRenewals = 0 } = held;
    return (
      gone === true || forced === true || givenUp !== undefined || maxRenewals > 0 || performance.now() >= until - 5
    );
  }

  /** A `forceUnlock()` has run for the first time: whoever holds it may lose it. */
  forced(claims: readonly Claim[]): void {
    this.#forcedAt = performance.now();
    for (const held of this.holds) {
      if (
        held.state !== 'over' &&
        held.claims.some((one) => claims.some(({ key, value }) => one.key === key && one.value === value))
      ) {
        held.forced = true;
      }
    }
  }

  /** The server has run a renewal. @param args - of the command */
  renewed(args: readonly string[]): void {
    const names = (held: Held): boolean =>
      args.some((arg) => arg.startsWith(`${held.clientId}:${held.thread}`)) &&
      held.claims.some(({ key }) => args.includes(key));
    for (const held of this.holds) if (held.state === 'held' && names(held)) held.renewedAt = performance.now();
  }

  /** It was given up: nobody renews it, but it stays until its lease ends. */
  giveUp(held: Held, why: string): void {
    if (held.givenUp !== undefined || held.state !== 'held') return;
    held.givenUp = why;
    // What Redis keeps for longer than since its last renewal is another hold's.
    const own = held.until === Infinity ? (held.renewedAt ?? held.since) + this.#watchdogMs : Infinity;
    held.until = Math.min(held.until, performance.now() + this.keptMs(held) - 2, own - 2);
    this.note(`${who(held)} ${held.what}: given up (${why}), kept until ${held.until.toFixed(0)}`);
  }

  /** Its caller gives it back. */
  ends(held: Held): void {
    held.state = 'ending';
    if (held.givenUp === undefined) return;
    // Who gives back what was given up may end all that its thread has given up.
    for (const other of this.holds) {
      if (other.clientId === held.clientId && other.thread === held.thread && other.givenUp !== undefined) {
        if (other.state === 'held') other.state = 'over';
      }
    }
  }

  /** After each step. */
  look(): void {
    const live = this.holds.filter((held) => this.isLive(held));
    for (const held of live) {
      if (held.gone === true || held.forced === true || this.has(held)) continue;
      held.gone = true;
      const why = held.givenUp === undefined ? '' : ` (given up: ${held.givenUp})`;
      this.violate(`BELIEF ${who(held)} counts on ${held.what}${why}, and Redis does not have it`);
    }
    for (let i = 0; i < live.length; i++) {
      for (let j = i + 1; j < live.length; j++) this.#together(live[i]!, live[j]!);
    }
  }

  #together(a: Held, b: Held): void {
    if (a.forced === true || b.forced === true || (a.clientId === b.clientId && a.thread === b.thread)) return;
    if (a.gone === true && b.gone === true) return;
    if (!a.claims.some((one) => b.claims.some((other) => meets(one, other)))) return;
    const pair = `${who(a)} ${a.what} and ${who(b)} ${b.what}`;
    if (this.#seen.has(pair)) return;
    this.#seen.add(pair);
    this.violate(`TWO INSIDE ${pair}`);
  }

  readonly #seen = new Set<string>();

  /** Whether Redis has all of it under the name of its owner. */
  has(held: Held): boolean {
    return held.claims.every((claim) => this.#keptMs(held, claim) > 0);
  }

  /** For how long Redis keeps it, in ms. */
  keptMs(held: Held): number {
    return Math.min(...held.claims.map((claim) => this.#keptMs(held, claim)));
  }

  #keptMs({ clientId, thread }: Held, { key, value, half }: Claim): number {
    const { store } = this.#server;
    const hash = store.hash(toBytes(key));
    if (hash === undefined) return 0;
    const owner = `${clientId}:${thread}`;
    if (value !== undefined) {
      const [field = ''] = groupValues([value]).fields;
      const holder = hash.get(field);
      const mine = holder === owner || (this.#isPassed(holder, clientId) && thread >= 0);
      return mine ? Number(hash.get(`${field}:${holder}:expire_time`)) + 1 - store.now : 0;
    }
    if (half === 'read') {
      const count = Number(hash.get(owner) ?? 0);
      const left = Array.from({ length: count }, (_, i) => store.ttl(`{${key}}:${owner}:rwlock_timeout:${i + 1}`));
      return count === 0 ? 0 : Math.min(store.ttl(toBytes(key)), Math.max(...left));
    }
    if (thread < 0) return [...hash.keys()].some((field) => !this.#ofClient(field)) ? store.ttl(toBytes(key)) : 0;
    const field = half === 'write' ? `${owner}:write` : owner;
    const passed = [...hash.keys()].some(
      (one) => this.#isPassed(one, clientId) && one.endsWith(':write') === (half === 'write'),
    );
    return hash.has(field) || passed ? store.ttl(toBytes(key)) : 0;
  }

  /** Whether it may be the name of another thread of the same client that has passed the lock on. */
  #isPassed(field: string | undefined, clientId: string): boolean {
    return this.#local && field?.startsWith(`${clientId}:`) === true;
  }

  #ofClient(field: string): boolean {
    return field === 'mode' || this.#names.has(field.slice(0, 36));
  }
}

/** As the library counts: a lease that began with the call. */
export function until(calledAt: number, leaseMs: number): number {
  return leaseMs === -1 ? Infinity : confirmedUntil(calledAt, leaseMs);
}

export function who({ client, thread }: Pick<Held, 'client' | 'thread'>): string {
  return thread < 0 ? 'a ticket' : `${client}.${thread}`;
}

function meets(one: Claim, other: Claim): boolean {
  return one.key === other.key && one.value === other.value && !(one.half === 'read' && other.half === 'read');
}
