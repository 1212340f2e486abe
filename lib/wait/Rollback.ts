import { CommandError, ConnectionError, CommandTimeoutError, ShutdownError } from '../errors';
import { Alarm } from '../util/Alarm';
import { runOutside } from '../util/outside';

/** First pause between two tries of an undo, in ms; it doubles after each try. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 5_000;
/** So long after its lease a client still looks for what a broken connection may deliver, in ms. */
export const LATE_MS = 60_000;
/** The most commands of one portion. */
const MAX_COMMANDS = 10;
/** Shortest time between two portions of a client, in ms. Entries that do not fit into one wait for the next. */
const PORTION_MS = 50;
/** The most leftovers that one command looks for. */
const SEARCH_SIZE = 100;

/**
 * Looks for many leftovers of one kind in one command. There is one object per kind and client: leftovers with the same
 * object share batches.
 */
export interface Search {
  /** Two keys may be in one command if this is equal: the slot on a cluster; otherwise the same for all. */
  batchOf(key: string): string | number;
  /** @returns for each place, in order, whether the leftover is there */
  find(places: readonly LeftoverPlace[]): Promise<readonly boolean[]>;
}

/** Where a leftover would be in Redis. */
export interface LeftoverPlace {
  readonly key: string;
  /** The field of a hash, or the member of a set, that would be there. */
  readonly member: string | Buffer;
}

/** What a command may have left in Redis, or may still leave there, although no caller owns it. */
export interface Leftover {
  /** Whether it is to be undone now: `false` while its thread has acquired the lock again, or is acquiring it. */
  readonly unwanted: boolean;
  /** For how long it is looked for, in ms: as long as Redis keeps it without an undo, see also {@link lateMs}. */
  readonly livesMs: number;
  readonly place: LeftoverPlace;
  /** Looks for it together with others. Without a search, each try is an {@link undo}. */
  readonly search?: Search | undefined;
  /**
   * Sends the commands that remove it, in this turn of the event loop.
   * @returns whether it is done: nothing is left, and nothing can arrive later
   */
  undo(): Promise<boolean>;
  /** Called once: it is undone, it has expired in Redis, or the client is shut down. */
  ended(): void;
}

interface Entry {
  readonly leftover: Leftover;
  readonly startedAt: number;
  pauseMs: number;
  /** Monotonic time of the next try; `Infinity` while one is under way. */
  dueAt: number;
}

/**
 * How long to look for what a command in a broken connection may leave, in ms. Its lease begins when it runs, which may
 * be long after the connection broke. What lives no longer than the longest pause of a rollback is not looked for: it
 * would end before it is found.
 */
export function lateMs(leaseMs: number): number {
  return leaseMs <= MAX_PAUSE_MS ? leaseMs : leaseMs + LATE_MS;
}

/** Whether a command that ended with this error may have changed something, or may still do so. Unknown errors: yes. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof CommandError || error instanceof ConnectionError || error instanceof CommandTimeoutError) {
    return error.mayHaveRun;
  }
  return true;
}

/**
 * Whether an undo that ended with this error is the last one: the client is shut down, or the key now holds another
 * type.
 */
export function endsUndo(error: unknown): boolean {
  return error instanceof ShutdownError || (error instanceof CommandError && error.reply === 'WRONGTYPE');
}

/**
 * The only mechanism that removes from Redis what no caller owns: holds, places in queues, and permits.
 *
 * What happens depends on how a command ended:
 * - A reply, or a refusal before its first write: nothing is left to undo, and nothing is done.
 * - A refusal in the middle, a time-out, a broken connection, or too few replicas: it may have left everything, now or
 *   later. The first try is made at once, behind the command on its connection.
 * - The same, and its connection is gone: it may leave everything as long as the old socket may still deliver it. The
 *   tries go on for its lease and a minute ({@link lateMs}). So a hold that runs late has nobody inside for 5 s, the
 *   longest pause, or until Redis answers again. If it runs even later, it lasts for its lease.
 * - For an undo, any error but a shut-down or a key of another type: it is retried, after growing pauses.
 *
 * Tries after the first one are cheap: one command looks for a hundred leftovers, pauses grow to 5 s, and a client
 * sends at most 200 such commands per second. Nothing of this keeps the process alive.
 *
 * States of a leftover: trying <-> waiting -> ended.
 */
export class Rollback {
  readonly #entries = new Set<Entry>();
  readonly #alarm = new Alarm(() => this.#due());
  /** When the last portion was sent. */
  #portionAt = -Infinity;
  #closed = false;

  /** The number of leftovers. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Adds a leftover.
   * @param now - whether the first try is made in this turn of the event loop; otherwise it follows soon
   */
  add(leftover: Leftover, now: boolean): void {
    const entry = { leftover, startedAt: performance.now(), pauseMs: FIRST_PAUSE_MS, dueAt: Infinity };
    this.#entries.add(entry);
    if (now) runOutside(() => void this.#undo(entry));
    else this.#schedule(entry, 0);
  }

  /** Drops all leftovers: the client is shut down. */
  close(): void {
    this.#closed = true;
    this.#alarm.off();
    for (const entry of this.#entries) if (entry.dueAt !== Infinity) this.#end(entry);
  }

  async #undo(entry: Entry): Promise<void> {
    const { leftover } = entry;
    entry.dueAt = Infinity;
    try {
      if (await leftover.undo()) return this.#end(entry);
    } catch (error) {
      if (endsUndo(error)) return this.#end(entry);
    }
    this.#again(entry);
  }

  async #find(search: Search, entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) entry.dueAt = Infinity;
    let found: readonly boolean[] = [];
    try {
      found = await search.find(entries.map(({ leftover }) => leftover.place));
    } catch (error) {
      if (endsUndo(error)) return entries.forEach((entry) => this.#end(entry));
    }
    entries.forEach((entry, i) => {
      if (found[i] === true && entry.leftover.unwanted) void this.#undo(entry);
      else this.#again(entry);
    });
  }

  #again(entry: Entry): void {
    const { pauseMs } = entry;
    entry.pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    this.#schedule(entry, pauseMs);
  }

  #end(entry: Entry): void {
    if (this.#entries.delete(entry)) entry.leftover.ended();
  }

  #schedule(entry: Entry, ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#closed || dueAt >= entry.startedAt + entry.leftover.livesMs) return this.#end(entry);
    entry.dueAt = dueAt;
    this.#alarm.setBy(this.#nextPortion(dueAt));
  }

  #nextPortion(dueAt: number): number {
    return Math.max(dueAt, this.#portionAt + PORTION_MS);
  }

  #due(): void {
    const now = performance.now();
    let commands = 0;
    const batches: Entry[][] = [];
    const open = new Map<Search, Map<string | number, Entry[]>>();
    this.#portionAt = now;
    for (const entry of this.#entries) {
      if (entry.dueAt > now) continue;
      const { leftover } = entry;
      if (now >= entry.startedAt + leftover.livesMs) this.#end(entry);
      else if (!leftover.unwanted) this.#schedule(entry, entry.pauseMs);
      else if (leftover.search !== undefined && joinBatch(open, leftover.search, entry)) continue;
      else if (commands < MAX_COMMANDS) {
        commands++;
        if (leftover.search === undefined) void this.#undo(entry);
        else batches.push(openBatch(open, leftover.search, entry));
      }
    }
    for (const batch of batches) void this.#find(batch[0]!.leftover.search!, batch);
    this.#rearm();
  }

  /** Sets the timer for the next portion, which includes what did not fit into this one. */
  #rearm(): void {
    let dueAt = Infinity;
    for (const entry of this.#entries) dueAt = Math.min(dueAt, entry.dueAt);
    this.#alarm.set(this.#nextPortion(dueAt));
  }
}

type OpenBatches = Map<Search, Map<string | number, Entry[]>>;

/** Adds an entry to a batch that is about to be sent, if there is one with room. @returns whether it did */
function joinBatch(open: OpenBatches, search: Search, entry: Entry): boolean {
  const batch = open.get(search)?.get(search.batchOf(entry.leftover.place.key));
  if (batch === undefined || batch.length >= SEARCH_SIZE) return false;
  batch.push(entry);
  return true;
}

function openBatch(open: OpenBatches, search: Search, entry: Entry): Entry[] {
  let slots = open.get(search);
  if (slots === undefined) open.set(search, (slots = new Map<string | number, Entry[]>()));
  const batch = [entry];
  slots.set(search.batchOf(entry.leftover.place.key), batch);
  return batch;
}
