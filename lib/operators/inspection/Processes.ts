import { setTimeout as sleep } from 'node:timers/promises';
import { keepNewest } from '../../util/collections';
import { laterTurn } from '../../util/timing';
import type { OwnerDraft } from './describe';
import type { RedisView } from './RedisView';
import type { ProcessReport } from './reports';

/** Reuse a client list up to this age, in ms, as proof that an owner is connected. */
const FRESH_MS = 1_000;
/** Our client lists take at most about a twentieth of the server's time. */
const SHARE = 20;
/** If no server answered, the next attempt comes this much later, in ms: Redis logs each refusal. */
const DENIED_MS = 30_000;
/** Lines parsed per turn of the event loop. */
const LINES_PER_TURN = 2_000;
/** At most this many clients are remembered. */
const MAX_REMEMBERED = 20_000;

/** The name of a connection of this package: client id, host name, process id. The watchdog thread has one, too. */
const NAME = /^ioredisson:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(.+):(\d{1,10})(:watchdog)?$/;
/** Connections that cannot belong to an owner: other connections of this package, and those to sentinels. */
const NO_OWNER = /^ioredisson:|^sentinel-[0-9a-f]{8}-(?:cmd|pubsub)$/;

/**
 * The last command on an owner's connection is one of these. A connection without a name can belong to an owner: its
 * user may not be allowed to set a name (`CLIENT SETNAME`).
 */
const OWNER_COMMANDS = new Set([
  ...['evalsha', 'eval', 'script', 'ping', 'wait', 'publish', 'spublish', 'asking', 'cluster', 'pubsub', 'role'],
  ...['subscribe', 'unsubscribe', 'ssubscribe', 'sunsubscribe'],
  // The last command of the handshake.
  'info',
]);

/** The client id of a detached hold: a UUID of version 8 (`util/ticket`). */
const TICKET = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A client of this package, as seen in a client list. */
interface Seen {
  readonly host: string;
  readonly pid: number;
  readonly address: string;
  readonly ageMs: number;
  /** Whether connections of another process claim the same client id. */
  readonly ambiguous: boolean;
  /** How long its watchdog thread has sent nothing, in ms; `undefined`: it has none. */
  readonly threadIdleMs: number | undefined;
}

/** The clients that were connected at one moment. */
interface Snapshot {
  /** When it was requested (monotonic). */
  readonly askedAt: number;
  readonly clients: ReadonlyMap<string, Seen>;
  /** Whether a connection with a name set by the user may belong to an owner. */
  readonly otherNames: boolean;
  /** Whether a connection without a name may belong to an owner. */
  readonly unnamed: boolean;
  /** Whether a connection may belong to Redisson in Java or another language: it sets no name unless configured to. */
  readonly mayHaveJava: boolean;
  /** Whether every server answered. */
  readonly complete: boolean;
  /** Whether no server answered. */
  readonly isDenied: boolean;
}

/** Finds the processes of lock owners in `CLIENT LIST`. One list serves many owners and is reused for a while. */
export class Processes {
  readonly #redis: RedisView;
  #last: Snapshot | undefined;
  #asking: Promise<Snapshot> | undefined;
  /** The earliest time of the next request (monotonic). */
  #restUntil = 0;
  readonly #remembered = new Map<string, Seen>();

  constructor(redis: RedisView) {
    this.#redis = redis;
  }

  /**
   * Finds the processes of some owners.
   * @param since - when the owners were read (monotonic). Only a list requested after that can show that an owner is
   *   not connected
   */
  async lookUp(owners: readonly OwnerDraft[], since: number): Promise<(owner: OwnerDraft) => ProcessReport> {
    if (owners.length === 0) return () => unknown('foreign');
    let snapshot = this.#last;
    const isFresh = snapshot !== undefined && performance.now() - snapshot.askedAt < FRESH_MS;
    const isEnough =
      snapshot !== undefined &&
      (snapshot.askedAt >= since ||
        (isFresh && owners.every(({ clientId }) => snapshot!.clients.has(clientId))) ||
        (snapshot.isDenied && performance.now() < this.#restUntil));
    if (!isEnough) snapshot = await this.#ask(since);
    return (owner) => this.#processOf(owner, snapshot!);
  }

  async #ask(since: number): Promise<Snapshot> {
    // Redis may have answered a pending request before the owners were read.
    await this.#asking;
    if (this.#last !== undefined && this.#last.askedAt >= since) return this.#last;
    this.#asking ??= this.#askNow().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #askNow(): Promise<Snapshot> {
    const rest = this.#restUntil - performance.now();
    if (rest > 0) await sleep(Math.min(rest, FRESH_MS), undefined, { ref: false });
    const askedAt = performance.now();
    const { texts, complete } = await this.#redis.clientLists();
    const took = performance.now() - askedAt;
    const rested = texts.length === 0 ? DENIED_MS : Math.min(SHARE * took, 10 * FRESH_MS);
    this.#restUntil = performance.now() + rested;
    const clients = new Map<string, Seen>();
    let otherNames = false;
    let unnamed = false;
    let mayHaveJava = false;
    for (const [i, line] of texts.flatMap((text) => text.split('\n')).entries()) {
      const name = / name=([^ ]+)/.exec(line)?.[1];
      const [, clientId, host, pid, thread] = NAME.exec(name ?? '') ?? [];
      if (clientId !== undefined) {
        note(clients, clientId, { host: host!, pid: Number(pid) }, line, thread !== undefined);
      } else if (line !== '' && !NO_OWNER.test(name ?? '')) {
        if (mayBeOurs(line)) {
          if (name !== undefined) otherNames = true;
          else if (OWNER_COMMANDS.has(lastCommand(line))) unnamed = true;
        }
        if (mayBeJava(line)) mayHaveJava = true;
      }
      // A list of 10 000 connections has 4 MB: let the event loop run in between.
      if ((i + 1) % LINES_PER_TURN === 0) await laterTurn();
    }
    for (const [clientId, seen] of clients) keepNewest(this.#remembered, clientId, seen, MAX_REMEMBERED);
    this.#last = { askedAt, clients, otherNames, unnamed, mayHaveJava, complete, isDenied: texts.length === 0 };
    return this.#last;
  }

  #processOf({ clientId, client }: OwnerDraft, snapshot: Snapshot): ProcessReport {
    if (clientId === '') return unknown('foreign');
    if (TICKET.test(clientId)) return unknown('detached');
    const seen = snapshot.clients.get(clientId);
    if (seen !== undefined) {
      if (seen.ambiguous) return unknown('ambiguous');
      const { host, pid, address, ageMs, threadIdleMs } = seen;
      // The list may be some seconds old.
      const since = Math.round(performance.now() - snapshot.askedAt);
      const process = { connected: true, java: false, host, pid, address, connectedForMs: ageMs + since } as const;
      return threadIdleMs === undefined ? process : { ...process, watchdogIdleMs: threadIdleMs + since };
    }
    if (!snapshot.complete) return unknown('denied');
    const before = this.#remembered.get(clientId);
    if (before !== undefined && !before.ambiguous) {
      return { connected: false, java: false, host: before.host, pid: before.pid, address: before.address };
    }
    if (client !== 'node') {
      return snapshot.mayHaveJava ? { ...unknown('java'), java: true } : { connected: false, java: true };
    }
    if (snapshot.otherNames) return unknown('other-names');
    return snapshot.unnamed ? unknown('unnamed') : { connected: false, java: false };
  }
}

function unknown(unknownBecause: NonNullable<ProcessReport['unknownBecause']>): ProcessReport {
  return { connected: 'unknown', java: false, unknownBecause };
}

/** The process of an owner whose lock changed hands meanwhile: "not connected" becomes unknown. */
export function ofChanged(process: ProcessReport): ProcessReport {
  return process.connected === false ? unknown('just-changed') : process;
}

function note(
  clients: Map<string, Seen>,
  clientId: string,
  { host, pid }: Pick<Seen, 'host' | 'pid'>,
  line: string,
  isThread: boolean,
): void {
  const address = / addr=([^ ]+)/.exec(line)?.[1] ?? '';
  const ageMs = secondsIn(/ age=(\d+)/, line);
  const other = clients.get(clientId);
  const threadIdleMs = isThread ? secondsIn(/ idle=(\d+)/, line) : other?.threadIdleMs;
  const ambiguous = other !== undefined && (other.ambiguous || other.host !== host || other.pid !== pid);
  // The oldest connection of a process shows how long the process has been connected.
  const isOldest = other === undefined || ambiguous || ageMs > other.ageMs;
  const shown = isOldest ? { host, pid, address, ageMs: Math.max(ageMs, other?.ageMs ?? 0) } : other;
  clients.set(clientId, { ...shown, ambiguous, threadIdleMs });
}

/** @returns ms */
function secondsIn(field: RegExp, line: string): number {
  return Number(field.exec(line)?.[1] ?? 0) * 1_000;
}

/** Whether a connection may belong to ioredis. Servers from 7.2 on report the library. */
function mayBeOurs(line: string): boolean {
  const library = / lib-name=([^ ]+)/.exec(line)?.[1];
  return library === undefined || library.startsWith('ioredis');
}

/**
 * Whether a connection may belong to Redisson or a port of it in Go or Rust: any that does not report ioredis as its
 * library. Replication links do not count.
 */
function mayBeJava(line: string): boolean {
  return !/ lib-name=ioredis/.test(line) && !/ flags=[^ ]*[SM]/.test(line);
}

/** The last command, without its subcommand. */
function lastCommand(line: string): string {
  return (/ cmd=([^ |]+)/.exec(line)?.[1] ?? 'null').toLowerCase();
}
