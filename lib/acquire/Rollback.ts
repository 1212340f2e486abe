import { type CommandExecutor, newCleanupRecord, type SendRecord } from '../connection/pending/CommandExecutor';
import { CommandError, ConnectionError, CommandTimeoutError, ShutdownError } from '../errors';
import type { Script, ScriptArg } from '../scripts/Script';
import { Alarm } from '../util/Alarm';
import { runOutside } from '../util/outside';

/** First pause between two tries of an undo, in ms; it doubles after each try. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 5_000;
/** So long after its lease a client still searches for what a broken connection may deliver, in ms. */
export const LATE_MS = 60_000;
/** The most commands of one portion. */
const MAX_COMMANDS = 10;
/** Shortest time between two portions of a client, in ms. Entries that do not fit into one wait for the next. */
const PORTION_MS = 50;
/** The most leftovers that one command searches for. */
const SEARCH_SIZE = 100;

/** Searches for many leftovers in one command. Leftovers with the same search share batches. */
export interface Search {
  /**
   * Its KEYS are those of the places, its ARGV their members. It says for each, in order, whether the leftover is
   * there.
   */
  readonly script: Script<never, never, boolean[]>;
  /** What is being done, for errors. */
  readonly what: string;
  /** ARGV behind the members. */
  readonly moreArgs?: readonly ScriptArg[] | undefined;
}

/** What a command may have left in Redis, or may still leave there, although no caller owns it. */
export interface Leftover {
  /**
   * The record of the command that may have left it. Without one nothing can come later: it is there already, or it is
   * not.
   */
  readonly sent: SendRecord | undefined;
  /** How long Redis keeps it without an undo, in ms. */
  readonly leaseMs: number;
  /** It is tried for so long at least, in ms. @default 0 */
  atLeastMs?: number;
  /** Where it would be in Redis. The member: the field of a hash, or the member of a set, that would be there. */
  readonly place: { readonly key: string; readonly member: string | Buffer };
  /** Searches for it together with others. Without it, each try is an {@link undo}. */
  readonly search?: Search | undefined;
  /** Whether it is to be undone now: `false` while its thread has, acquires or releases the lock. @default true */
  readonly unwanted?: boolean;
  /** Whether the first try is made at once, although no command can be sent behind the one that left it. */
  readonly urgent?: boolean;
  /**
   * Sends the commands that remove it, in this turn of the event loop.
   * @param newRecord - makes the record of each of them
   * @returns `true` if it was there, or nothing shows whether it was: then it is done. Otherwise it is done if all of
   *   them came behind the command that left it
   */
  undo(newRecord: () => SendRecord): Promise<boolean>;
  /** Called once: it is undone, it has expired in Redis, or the client is shut down. */
  ended?(): void;
}

/**
 * Why there may be a leftover.
 * - `doubtful`: the command ended without a reply that its caller could use.
 * - `twice`: the command succeeded, and was written to another connection before, where it may run once more.
 * - `released`: a release that may not have run. What it was to remove was there before, so its lease has begun.
 * - `unconfirmed`: a release or an undo that no replica has confirmed. A failover may bring back what it has removed.
 */
export type Why = 'doubtful' | 'twice' | 'released' | 'unconfirmed';

/** What a rollback needs of an executor. */
export type RollbackExecutor = Pick<CommandExecutor, 'connectionNumber' | 'run' | 'slotOf'>;

interface Entry {
  readonly leftover: Leftover;
  why: Why;
  readonly startedAt: number;
  pauseMs: number;
  /** Monotonic time of the next try; `Infinity` while one is under way. */
  dueAt: number;
}

/**
 * How long to search for what a command in a broken connection may leave, in ms. Its lease begins when it runs, which
 * may be long after the connection broke. What lives no longer than the longest pause of a rollback is not searched
 * for: it would end before it is found.
 */
function lateMs(leaseMs: number): number {
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
 * | how the command ended                              | what is undone, and when                                      |
 * | -------------------------------------------------- | ------------------------------------------------------------- |
 * | a reply; a refusal before its first write          | nothing                                                       |
 * | no usable reply: a refusal in the middle, time-out, | `doubtful`: at once, behind it on its connection. If that is |
 * | lost connection, abort, too few replicas, late     | gone: for its lease and a minute, with others ({@link lateMs}) |
 * | success, but written to two connections            | `twice`: for its lease and a minute                           |
 * | a release without a reply                          | `released`: as `doubtful`, for what is left of the lease      |
 * | a release or an undo that no replica has confirmed | `unconfirmed`: for its lease and a minute                     |
 * | an undo: shut-down, key of another type            | that was the last try                                         |
 * | an undo: any other error                           | it is retried, after growing pauses                           |
 *
 * So a hold that runs late keeps every caller out for 5 s, the longest pause, or until Redis answers again. If it runs
 * even later, it lasts for its lease. While a release is under way, what it releases is wanted: an undo must not
 * overtake it.
 *
 * Tries after the first one are cheap: one command searches for a hundred leftovers, pauses grow to 5 s, and a client
 * sends at most 200 such commands per second. Nothing of this keeps the process alive.
 *
 * States of a leftover: trying <-> waiting -> ended.
 */
export class Rollback {
  readonly #executor: RollbackExecutor;
  readonly #entries = new Set<Entry>();
  readonly #alarm = new Alarm(() => this.#due());
  /** When the last portion was sent. */
  #portionAt = -Infinity;
  #closed = false;

  constructor(executor: RollbackExecutor) {
    this.#executor = executor;
  }

  /** Removes a leftover, in the background. The first try is made in this turn of the event loop, or soon. */
  undo(leftover: Leftover, why: Why): void {
    const entry = { leftover, why, startedAt: performance.now(), pauseMs: FIRST_PAUSE_MS, dueAt: Infinity };
    this.#entries.add(entry);
    if (isFuture(why) || (leftover.urgent !== true && mayComeLate(entry, this.#executor))) this.#schedule(entry, 0);
    else runOutside(() => void this.#undo(entry));
  }

  #livesUntil(entry: Entry): number {
    const { leftover, why, startedAt } = entry;
    const { leaseMs, atLeastMs = 0 } = leftover;
    const late = why !== 'released' && mayComeLate(entry, this.#executor);
    return startedAt + Math.max(late ? lateMs(leaseMs) : leaseMs, atLeastMs);
  }

  /** Drops all leftovers: the client is shut down. */
  close(): void {
    this.#closed = true;
    this.#alarm.off();
    for (const entry of this.#entries) if (entry.dueAt !== Infinity) this.#end(entry);
  }

  async #undo(entry: Entry): Promise<void> {
    const { leftover } = entry;
    const records: SendRecord[] = [];
    entry.dueAt = Infinity;
    try {
      const found = await leftover.undo(() => {
        const sendRecord = newCleanupRecord();
        records.push(sendRecord);
        return sendRecord;
      });
      if (!found && records.some(({ unconfirmed }) => unconfirmed === true)) entry.why = 'unconfirmed';
      if (found || !mayComeLate(entry, ...records)) return this.#end(entry);
    } catch (error) {
      if (endsUndo(error)) return this.#end(entry);
    }
    this.#again(entry);
  }

  async #find({ script, what, moreArgs = [] }: Search, entries: readonly Entry[]): Promise<void> {
    const places = entries.map(({ leftover }) => leftover.place);
    const moreKeys = places.map(({ key }) => key);
    const members = places.map(({ member }) => member);
    for (const entry of entries) entry.dueAt = Infinity;
    let found: readonly boolean[] = [];
    try {
      found = await this.#executor.run(script, {}, {}, { what, moreKeys, moreArgs: [...members, ...moreArgs] });
    } catch (error) {
      if (endsUndo(error)) return entries.forEach((entry) => this.#end(entry));
    }
    entries.forEach((entry, i) => {
      if (found[i] === true && entry.leftover.unwanted !== false) void this.#undo(entry);
      else if (found[i] === false && !mayComeLate(entry, this.#executor)) this.#end(entry);
      else this.#again(entry);
    });
  }

  #again(entry: Entry): void {
    const { pauseMs } = entry;
    entry.pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    this.#schedule(entry, pauseMs);
  }

  #end(entry: Entry): void {
    if (this.#entries.delete(entry)) entry.leftover.ended?.();
  }

  #schedule(entry: Entry, ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#closed || dueAt >= this.#livesUntil(entry)) return this.#end(entry);
    entry.dueAt = dueAt;
    this.#alarm.setBy(Math.max(dueAt, this.#portionAt + PORTION_MS));
  }

  #due(): void {
    const now = performance.now();
    let commands = 0;
    /** Leftovers that one command searches for. */
    const batches: { readonly search: Search; readonly slot: number; readonly entries: Entry[] }[] = [];
    this.#portionAt = now;
    for (const entry of this.#entries) {
      if (entry.dueAt > now) continue;
      const { leftover } = entry;
      const { search, place } = leftover;
      const slot = search === undefined ? 0 : this.#executor.slotOf(place.key);
      const batch = batches.find(
        (one) => one.search === search && one.slot === slot && one.entries.length < SEARCH_SIZE,
      );
      if (now >= this.#livesUntil(entry)) this.#end(entry);
      else if (leftover.unwanted === false) this.#schedule(entry, entry.pauseMs);
      else if (batch !== undefined) batch.entries.push(entry);
      else if (commands < MAX_COMMANDS) {
        commands++;
        if (search === undefined) void this.#undo(entry);
        else batches.push({ search, slot, entries: [entry] });
      }
    }
    for (const { search, entries } of batches) void this.#find(search, entries);
    // The next portion includes what did not fit into this one.
    let dueAt = Infinity;
    for (const entry of this.#entries) dueAt = Math.min(dueAt, entry.dueAt);
    this.#alarm.set(Math.max(dueAt, now + PORTION_MS));
  }
}

/** Whether it is sure that it may come later. */
function isFuture(why: Why): boolean {
  return why === 'twice' || why === 'unconfirmed';
}

/**
 * Whether its command may still arrive behind what is sent on these connections, by one that is gone, or a failover may
 * bring it back.
 */
function mayComeLate(
  { leftover: { sent }, why }: Entry,
  ...on: readonly Pick<SendRecord, 'connectionNumber'>[]
): boolean {
  if (isFuture(why) || sent === undefined) return isFuture(why);
  return sent.onManyConnections || on.some((one) => one.connectionNumber !== sent.connectionNumber);
}

/** The number of keys at which expired ones are removed for the first time. */
const MIN_SWEEP = 64;

/**
 * What Redis may still have although this client has given it up: keys, each with a monotonic end time. Nothing
 * searches for it; the next acquisition under the same key must know.
 */
export class Leftovers {
  readonly #until = new Map<string, number>();
  /** The number of keys at which expired ones are removed next. */
  #sweepAt = MIN_SWEEP;

  /** The number of keys, including expired ones that have not been removed yet. */
  get size(): number {
    return this.#until.size;
  }

  /** How long Redis may still have it, in ms; 0 if it does not. */
  remainingMs(key: string): number {
    return this.#until.size === 0 ? 0 : Math.max(0, (this.#until.get(key) ?? 0) - performance.now());
  }

  /** Redis may have it for that lease. A renewal in a slow or broken connection may still run a minute later. */
  add(key: string, leaseMs: number): void {
    const now = performance.now();
    this.#until.set(key, now + leaseMs + LATE_MS);
    if (this.#until.size < this.#sweepAt) return;
    // Checks every entry, because leases differ and insertion order is not expiry order. This is rare, so it costs
    // little.
    for (const [one, until] of this.#until) if (until <= now) this.#until.delete(one);
    this.#sweepAt = Math.max(MIN_SWEEP, 2 * this.#until.size);
  }
}
