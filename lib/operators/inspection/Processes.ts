import { setTimeout as sleep } from 'node:timers/promises';
import { keepNewest } from '../../util/collections';
import { laterTurn } from '../../util/timing';
import type { OwnerDraft } from './describe';
import type { RedisView } from './RedisView';
import type { ProcessReport } from './reports';

/** A list that is this young, in ms, is believed where it says that somebody is there. */
const FRESH_MS = 1_000;
/** The server spends about a twentieth of its time on our lists at most. */
const SHARE = 20;
/** A user that may not ask is not asked for again so soon, in ms: Redis logs each attempt. */
const DENIED_MS = 30_000;
/** So many lines are read in one turn. */
const LINES_PER_TURN = 2_000;
/** So many clients that were seen are remembered. */
const MAX_REMEMBERED = 20_000;

/** The name of a connection of this package: client id, host name, process id; the watchdog thread has one, too. */
const NAME = /^ioredisson:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(.+):(\d{1,10})(?::watchdog)?$/;
/** Connections that cannot be an owner's: our own of other kinds, and those of sentinels. */
const NO_OWNER = /^ioredisson:|^sentinel-[0-9a-f]{8}-(?:cmd|pubsub)$/;

/**
 * The last command of a connection of an owner is one of these. Whose it is, a connection without a name does not tell:
 * its user may not be allowed to set one (`CLIENT SETNAME`).
 */
const OWNER_COMMANDS = new Set([
  ...['evalsha', 'eval', 'script', 'ping', 'wait', 'publish', 'spublish', 'asking', 'cluster', 'pubsub', 'role'],
  ...['subscribe', 'unsubscribe', 'ssubscribe', 'sunsubscribe'],
  // The last of the handshake.
  'info',
]);

/** The client id of a detached hold: a UUID of version 8 (`util/ticket`). */
const TICKET = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What is known of a client of this package. */
interface Seen {
  readonly host: string;
  readonly pid: number;
  readonly address: string;
  readonly ageMs: number;
  /** Connections of another process say that they are the same client. */
  readonly ambiguous: boolean;
}

/** Who was connected at one moment. */
interface Snapshot {
  /** When it was asked for (monotonic). */
  readonly askedAt: number;
  readonly clients: ReadonlyMap<string, Seen>;
  /** Whether there is a connection with a name of the user's own that may be an owner's. */
  readonly otherNames: boolean;
  /** Whether there is a connection without a name that may be an owner's. */
  readonly unnamed: boolean;
  /** Whether there is one that may be Java's, or of another language: they give them no name, unless the user does. */
  readonly mayHaveJava: boolean;
  /** Whether every server has answered. */
  readonly complete: boolean;
  /** Whether none has. */
  readonly isDenied: boolean;
}

/** The processes behind the owners of locks, as `CLIENT LIST` tells. One list serves many owners, and is kept a while. */
export class Processes {
  readonly #redis: RedisView;
  #last: Snapshot | undefined;
  #asking: Promise<Snapshot> | undefined;
  /** Not before this (monotonic) is it asked for again. */
  #restUntil = 0;
  readonly #remembered = new Map<string, Seen>();

  constructor(redis: RedisView) {
    this.#redis = redis;
  }

  /**
   * Finds out who the processes of some owners are.
   * @param since - when (monotonic) the owners were read: that one of them is not connected is only said by a younger
   *   list
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
    // One that is under way may have been answered before the owners were read.
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
      const [, clientId, host, pid] = NAME.exec(name ?? '') ?? [];
      if (clientId !== undefined) {
        note(clients, clientId, host!, Number(pid), line);
      } else if (line !== '' && !NO_OWNER.test(name ?? '')) {
        if (mayBeOurs(line)) {
          if (name !== undefined) otherNames = true;
          else if (OWNER_COMMANDS.has(lastCommand(line))) unnamed = true;
        }
        if (mayBeJava(line)) mayHaveJava = true;
      }
      // A list of 10 000 connections is 4 MB: others have their turn meanwhile.
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
      const { host, pid, address, ageMs } = seen;
      // The list may have been read some seconds ago.
      const since = performance.now() - snapshot.askedAt;
      return { connected: true, java: false, host, pid, address, connectedForMs: Math.round(ageMs + since) };
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

/** A process that cannot be told because its lock changed hands meanwhile, unless it is known to be there. */
export function ofChanged(process: ProcessReport): ProcessReport {
  return process.connected === false ? unknown('just-changed') : process;
}

function note(clients: Map<string, Seen>, clientId: string, host: string, pid: number, line: string): void {
  const address = / addr=([^ ]+)/.exec(line)?.[1] ?? '';
  const ageMs = Number(/ age=(\d+)/.exec(line)?.[1] ?? 0) * 1_000;
  const other = clients.get(clientId);
  const ambiguous = other !== undefined && (other.ambiguous || other.host !== host || other.pid !== pid);
  // Of several connections of a process the oldest tells how long it has been there.
  if (other === undefined || ambiguous || ageMs > other.ageMs) {
    clients.set(clientId, { host, pid, address, ageMs: Math.max(ageMs, other?.ageMs ?? 0), ambiguous });
  }
}

/** Whether a connection can be ioredis': servers from 7.2 on know what library it is. */
function mayBeOurs(line: string): boolean {
  const library = / lib-name=([^ ]+)/.exec(line)?.[1];
  return library === undefined || library.startsWith('ioredis');
}

/**
 * Whether a connection can be that of Redisson, or of its likes in Go or Rust: it is not ioredis', as far as it says.
 * Links of replicas are none.
 */
function mayBeJava(line: string): boolean {
  return !/ lib-name=ioredis/.test(line) && !/ flags=[^ ]*[SM]/.test(line);
}

/** The last command, without its subcommand. */
function lastCommand(line: string): string {
  return (/ cmd=([^ |]+)/.exec(line)?.[1] ?? 'null').toLowerCase();
}
