import { NOTICE_MS } from '../../../lib/scripts/shortenLease';
import { SortedSet, type Value } from '../../../lib/testing/store/Store';
import { braced, type JavaClient, type JavaKind, timesOf, TIMES } from '../java/JavaClient';
import type { JavaSleep } from '../java/JavaSubscriptions';
import type { ScriptCall, Served, SimServer } from '../server/SimServer';
import type { App } from './App';

/** Leases end at another ms for the server than for the world: more is a lease that was set anew. */
const ROUNDING_MS = 2;
/** Scores pass by the clocks of clients, which are wrong by less than so many ms. */
const MAX_SKEW_MS = 3_000;

/** The scores of those who wait for a fair lock. */
type Scores = ReadonlyMap<string, number>;
const NO_SCORES: Scores = new Map();

/** One lock of a server, from what scripts have done to it. Times of the server's clock, in ms; `at`: of the world. */
interface Life {
  /** When it was taken while it was free. */
  bornAt: number;
  /** Until when it is held. */
  end: number;
  /** Whether a script has deleted it, and told those who wait. */
  released: boolean;
  /** When a script of Java has last set an earlier end; that tells nobody. */
  shortenedAt: number;
  /** The latest end that was set before. Until then those sleep who have asked before. */
  toldUntil: number;
  /** When a script of ours has last set an earlier end, and which head of the fair queue it has told so. */
  told: { readonly at: number; readonly head: string } | undefined;
}

const NEW_LIFE = { released: false, shortenedAt: -Infinity, toldUntil: 0, told: undefined };

/** What of Java nobody on the wire can mend: for whom, of which lock, and until when. */
export class JavaOracle {
  readonly #clients = new Map<string, { readonly app: App; readonly client: JavaClient }>();
  readonly #names: ReadonlySet<string>;
  readonly #lives = new Map<string, Life>();
  /**
   * When a script has taken a waiter out of a fair queue since its score has passed, by lock and owner, in ms of the
   * world.
   */
  readonly #purgedAt = new Map<string, number>();
  readonly #now: () => number;

  /** @param names - of the locks of the world @param now - the time of the world, in ms */
  constructor(names: readonly string[], now: () => number) {
    this.#names = new Set(names);
    this.#now = now;
  }

  /** A process of Java has made its clients. */
  add(app: App): void {
    for (const client of app.javaClients) this.#clients.set(client.id, { app, client });
  }

  /** A script is about to run. @returns what is called when it has run */
  observe(server: SimServer, { script, keys, args }: ScriptCall): () => void {
    const names = keys.filter((key) => this.#names.has(key));
    const before = names.map((name) => endOf(server, name));
    const java = script.startsWith('java.');
    const [name = '', , times = ''] = keys;
    const waiting = scoresOf(server, times);
    return () => {
      if (waiting.size > 0) this.#followQueue(server, `${server.name}/${name}`, waiting, scoresOf(server, times), args);
      if (java)
        for (const { client } of this.#ownersIn(args)) client.commands.ran(script.slice('java.'.length), keys, args);
      for (const [i, name] of names.entries())
        this.#follow(`${server.name}/${name}`, before[i], endOf(server, name), java ? 'nobody' : headOf(waiting));
    };
  }

  /**
   * Whether whoever asked for a lock at `askedAt` may sleep although it is free: a script of Java has shortened the
   * lease since then, and the lease has ended. Neither of it sends a message.
   */
  hasShortened(server: Served, name: string, askedAt: number): boolean {
    const life = this.#ended(server, name);
    return life !== undefined && life.shortenedAt >= askedAt && server.clock < life.toldUntil;
  }

  /**
   * The same for a thread of Java. It may also sleep where it has missed the message, where its score has passed, where
   * the lease of a holder has ended that came after it had asked, and a message woke another thread than this one, and
   * where the head of the queue was told of a shorter lease, and has left: a head of Java that leaves tells nobody.
   */
  sleepsOn(server: Served, name: string, client: JavaClient, kind: JavaKind, thread: number): boolean {
    const sleep = client.sleepOf(kind, thread);
    if (sleep === undefined) return false;
    if (sleep.missed || this.#isPurged(server, name, sleep)) return true;
    const life = this.#ended(server, name);
    if (life === undefined) return false;
    const { told } = life;
    if (told !== undefined && told.at >= sleep.askedAt && this.#isGone(server, name, told.head, sleep)) return true;
    return life.shortenedAt >= sleep.askedAt || (life.bornAt >= sleep.askedAt && (kind === 'fair' || sleep.passedOver));
  }

  /**
   * Whether a read hold of ours is over, and only its field is left: scripts of Java set a longer life for the whole
   * lock than the hold has.
   */
  isOnlyField({ store }: Served, name: string, owner: string): boolean {
    const fields = store.hash(name);
    if (fields?.get('mode') !== 'read' || this.#ownersIn(fields.keys()).length === 0) return false;
    const holds = Number(fields.get(owner));
    for (let i = 1; i <= holds; i++) {
      if (store.entry(`${braced(name)}:${owner}:rwlock_timeout:${i}`) !== undefined) return false;
    }
    return true;
  }

  /**
   * For how long locks stay that only threads of Java still have, and do not know of, in ms: their processes are dead,
   * or what they sent was refused or not answered.
   */
  leftForMs(server: Served): number {
    const left = [...this.#names].filter((name) => {
      const fields = server.store.hash(name);
      return fields !== undefined && [...fields.keys()].every((field) => this.#isLost(server, name, field));
    });
    return Math.max(0, ...left.map((name) => server.store.ttl(name)));
  }

  #isLost(server: Served, name: string, field: string): boolean {
    if (field === 'mode') return true;
    const known = this.#clients.get(field.slice(0, 36));
    if (known === undefined) return this.isOnlyField(server, name, field);
    return !known.app.process.alive || known.client.commands.mayHaveMore({ name, owner: field });
  }

  #ownersIn(words: Iterable<string>): { readonly app: App; readonly client: JavaClient }[] {
    return [...words].flatMap((word) => this.#clients.get(word.slice(0, 36)) ?? []);
  }

  /** @param told - which waiter a script tells that the lease ends earlier; 'nobody': those of Java tell none */
  #follow(key: string, before: number | undefined, end: number | undefined, told: string | undefined): void {
    const life = this.#lives.get(key);
    if (end === undefined) {
      if (before !== undefined && life !== undefined) Object.assign(life, NEW_LIFE, { released: true });
      return;
    }
    if (life === undefined) {
      this.#lives.set(key, { bornAt: this.#now(), end, ...NEW_LIFE });
      return;
    }
    if (before === undefined) Object.assign(life, { bornAt: this.#now(), told: undefined });
    else if (told === 'nobody' && end < before - ROUNDING_MS) {
      life.shortenedAt = this.#now();
      life.toldUntil = Math.max(life.toldUntil, before);
    } else if (told !== undefined && end < before - NOTICE_MS) life.told = { at: this.#now(), head: told };
    life.end = end;
    life.released = false;
  }

  /** @param args - of the script: among them whoever leaves by itself */
  #followQueue({ clock }: SimServer, key: string, before: Scores, after: Scores, args: readonly string[]): void {
    for (const [owner, score] of before) {
      const left = after.get(owner);
      const passed = left === undefined && !args.includes(owner) && score <= clock + MAX_SKEW_MS;
      if (passed) this.#purgedAt.set(`${key} ${owner}`, this.#now());
    }
  }

  /**
   * Whether a waiter of a fair lock is not in its queue any more, so that nobody tells it: its score has passed.
   * Scripts of Java set scores once, and take other waits off them than were put on.
   */
  #isPurged(server: Served, name: string, { owner, askedAt }: JavaSleep): boolean {
    const purgedAt = this.#purgedAt.get(`${server.name}/${name} ${owner}`) ?? -1;
    return purgedAt >= askedAt && !scoresIn(server.store.value(timesOf(name))).has(owner);
  }

  /** Whether a head of the queue, another than the one that sleeps, has left it. */
  #isGone({ store }: Served, name: string, head: string, { owner }: JavaSleep): boolean {
    const isJava = this.#clients.has(head.slice(0, 36));
    return isJava && head !== owner && !scoresIn(store.value(timesOf(name))).has(head);
  }

  /** A lock that is free because its lease is over. */
  #ended(server: Served, name: string): Life | undefined {
    const life = this.#lives.get(`${server.name}/${name}`);
    return life !== undefined && !life.released && server.clock >= life.end ? life : undefined;
  }
}

function scoresOf({ store }: SimServer, key: string): Scores {
  return key.startsWith(TIMES) ? new Map(scoresIn(store.value(key))) : NO_SCORES;
}

/** The first in a fair queue: whose score is the lowest. */
function headOf(scores: Scores): string | undefined {
  return [...scores].sort(([, a], [, b]) => a - b)[0]?.[0];
}

function scoresIn(value: Value | undefined): Scores {
  return value instanceof SortedSet ? value.scores : NO_SCORES;
}

/** Until when a lock is held. @returns `undefined`: it is free */
function endOf({ store, clock }: SimServer, name: string): number | undefined {
  const ttl = store.ttl(name);
  return ttl === -2 ? undefined : clock + ttl;
}
