import type { ObjectKind } from '../api';
import type { LockLostError } from '../errors';
import type { HoldEnd } from '../telemetry/tracing';
import { isAround, type Origin, type Scope } from '../thread/threadScope';
import { confirmedUntil, marginOf } from '../util/duration';
import type { Due } from '../util/timing';
import { Lane, type OwnerCommand as CommandOf, type Remainder } from './Lane';

export const NO_HOLDS: readonly Hold[] = Object.freeze([]);
const NOTHING: Remainder = Object.freeze({ left: 0, remainingMs: 0 });

/** The key of an ownership in the table: the lock's key and the owner. */
export function ownershipKey(rawName: string, owner: string): string {
  return `${rawName}\u0000${owner}`;
}

/** What a lock is waited for by: its key; for a group lock, together with its set of values. */
export function waitKeyOf(rawName: string, values?: GroupValues): string {
  return values === undefined ? rawName : `${rawName}\u0000${values.key}`;
}

/** The values that a group lock covers, or the ids of the permits that are held together. */
export interface GroupValues {
  /** Their field names in the group's hash, sorted, each once; the ids as in the API. */
  readonly fields: readonly string[];
  /** A short text: equal for equal sets only. */
  readonly key: string;
}

/** Values of an ownership that the same other ownerships cover, too. */
export interface Portion {
  readonly others: readonly Ownership[];
  readonly fields: readonly string[];
}

/** One acquisition: what one `unlock` releases, and what the public `LockHold` stands for. */
export interface Hold {
  /** When it was acquired (monotonic), and by which line, if that is recorded. */
  readonly since: number;
  readonly callSite: string | undefined;
  /** Its explicit lease in ms; -1 = the watchdog renews it. */
  leaseMs: number;
  /** Monotonic end of the explicit lease; `Infinity` for the watchdog. */
  leaseEnd: number;
  /** The lease that each renewal of the watchdog sets, in ms. */
  readonly watchdogMs: number;
  /** The hold is given up after so many renewals; 0 = never. */
  readonly maxRenewals: number;
  /** Renewals so far. */
  renewals: number;
  /**
   * How long the watchdog thread renews it without a sign of life from the main thread, in ms; 0: the main thread
   * renews it. @default 0
   */
  readonly maxStallMs?: number | undefined;
  /**
   * Whether it is left to expire, and not released. Its end is then reported as a loss only if its object was
   * `dropped`: a caller may still work under it, and use its signal. One that was given up has been reported as lost
   * already.
   */
  expires?: boolean | 'dropped';
  /** Whether it is the member of a multi-lock that is still being acquired: no `unlock()` of its thread may take it. */
  reserved?: boolean | undefined;
  /** Whether it was released, and whether that was by `detach`. */
  released: boolean | 'detached';
  /** Records its end, if there was a telemetry subscriber when it began. */
  trace?: HoldEnd | undefined;
  /** How it was acquired. */
  readonly origin?: Origin;
  /** The section that it is the lock of, or the scope in which it was acquired; `undefined` outside scopes. */
  readonly scope?: Scope | undefined;
  /** Whether the caller named the thread: the hold then belongs to that thread, whatever scope it was acquired in. */
  readonly given?: boolean;
  /** Its signal, once it was read: `signalOf`. */
  signal?: AbortSignal;
  /**
   * Why it was lost; set before any listener is called. A hold that was given up stays in its ownership until its lease
   * ends: its caller may still work, and must not lose the lock by what the others of its thread send.
   */
  lost?: LockLostError;
  /** Called once when it is lost. */
  onLost?: (cause: Error) => void;
}

/** What identifies an ownership and how it is renewed. */
export type OwnershipIdentity = Renewable & Pick<Ownership, 'key' | 'name' | 'kind' | 'threadId' | 'renewal'>;

/**
 * All holds of one thread on one lock, as far as this client knows. In a group, each set of values is a lock of its
 * own. Sets of one owner that share a value have a common count in Redis, so their commands wait for each other:
 * {@link overlapping}. What is under way for it, and what waits for what, is known to its {@link lane} alone.
 *
 * States: idle (no holds) -> acquiring -> held (1..n holds) -> idle; held -> lost (removed from the table).
 */
export class Ownership implements Charge, Due {
  /** Its key in the table: {@link ownershipKey}. */
  readonly key: string;
  /** The lock's name as the user gave it. */
  readonly name: string;
  readonly rawName: string;
  readonly kind: ObjectKind;
  /** The logical thread. */
  readonly threadId: number;
  readonly owner: string;
  readonly values: GroupValues | undefined;
  /** How the watchdog renews it. */
  readonly renewal: Renewal;
  /** For a group lock: all sets of values of its owner, while it is in the table. */
  owned: OwnedValues | undefined;
  /** For a group lock in the table: the other ownerships of its owner that share a value with it. */
  overlapping: readonly Ownership[] | undefined;
  /** Its holds, in the order in which they were acquired. The table alone changes them. */
  holds: readonly Hold[] = NO_HOLDS;
  /**
   * Monotonic time until which Redis certainly keeps the lock, counted from before the last confirmed command was sent.
   */
  deadline = 0;
  /** Monotonic time of the last answer to a command that may have set its lease. */
  answeredAt = 0;
  /**
   * With `localHandOver`: monotonic time just before the last command was sent with which Redis confirmed that it has
   * the lock.
   */
  confirmedAt: number | undefined;
  renewalMs = 0;
  failure: Error | undefined;
  renewing: object | undefined;
  heapIndex = -1;
  /** What is under way for it. */
  readonly lane: Lane<Ownership> = new Lane<Ownership>(this);

  constructor(identity: OwnershipIdentity) {
    this.key = identity.key;
    this.name = identity.name;
    this.rawName = identity.rawName;
    this.kind = identity.kind;
    this.threadId = identity.threadId;
    this.owner = identity.owner;
    this.values = identity.values;
    this.renewal = identity.renewal;
  }

  /** See {@link waitKeyOf}. */
  get waitKey(): string {
    return waitKeyOf(this.rawName, this.values);
  }

  /** For a group lock: whether its thread has another set, in use or not, that shares a value with this one. */
  get overlaps(): boolean {
    return this.overlapping !== undefined && this.overlapping.length > 0;
  }

  /** Whether it is of permits; else it is of a lock. */
  get ofPermits(): boolean {
    return this.kind === 'permit' || this.kind === 'semaphore';
  }

  /** Its holds but those that were given up, and so cannot be entered again. */
  get live(): readonly Hold[] {
    return this.holds.some(isLost) ? this.holds.filter((hold) => !isLost(hold)) : this.holds;
  }

  /**
   * The longest `watchdogMs` of its holds without a lease, in ms; 0 if all have one, or while Redis does not know it.
   */
  get watchdogMs(): number {
    let most = 0;
    if (this.lane.relay !== undefined) return most;
    for (const { leaseMs, watchdogMs } of this.holds) if (leaseMs === -1 && watchdogMs > most) most = watchdogMs;
    return most;
  }

  /**
   * The longest `maxStallMs` of its holds without a lease, in ms; 0 if the watchdog thread renews none of them.
   */
  get maxStallMs(): number {
    return this.lane.relay === undefined ? longest(this.holds, maxStallMsOf) : 0;
  }

  /** Monotonic end of the longest lease of its holds; `Infinity` if the watchdog renews one of them. */
  get leaseEnd(): number {
    return longest(this.holds, ({ leaseEnd }) => leaseEnd);
  }

  /** How long Redis must keep the lock for its holds, in ms from `now`; 0 without holds. */
  remainingMs(now: number): number {
    const ms = longest(this.holds, (hold) => (hold.leaseMs === -1 ? hold.watchdogMs : leaseLeft(hold, now)));
    // A rounding error is no time.
    return Math.ceil(ms - 1e-6);
  }

  /**
   * What a release leaves: how many holds, and for how many ms. If the leases of all holds have run out, no hold is
   * left. Otherwise Redis would keep these holds until the end of a longer lease, that of the released hold. A hold
   * that is left to expire counts until its lease ends.
   */
  remainder(): Remainder {
    if (this.holds.length === 0) return NOTHING;
    const now = performance.now();
    const remainingMs = this.remainingMs(now);
    if (remainingMs <= 0) return NOTHING;
    let left = 0;
    for (const { expires, leaseEnd } of this.holds) if (expires !== true || leaseEnd > now) left++;
    return { left, remainingMs };
  }

  /**
   * Monotonic time by which the last command has run that may have set the lease of its holds: Redis may keep them for
   * so much longer than it has confirmed.
   */
  get ranBy(): number {
    const isOpen = this.failure !== undefined || this.renewing !== undefined || this.lane.mustWait('alone');
    return isOpen ? performance.now() : this.answeredAt;
  }

  /**
   * Monotonic time until which Redis keeps the lock at least, once it has received the command that leaves these holds.
   * @param now - monotonic time before that command is sent
   */
  keptUntil(now: number): number {
    return longest(this.holds, (hold) => (hold.leaseMs === -1 ? confirmedUntil(now, hold.watchdogMs) : hold.leaseEnd));
  }

  /** Whether it has no holds, and nothing is under way for it. */
  get unused(): boolean {
    return this.holds.length === 0 && this.lane.idle;
  }
}

/** A command of an ownership. */
export type OwnerCommand = CommandOf<Ownership>;

/** The longest of the times that holds have; 0 without holds. */
function longest(holds: readonly Hold[], of: (hold: Hold) => number): number {
  let most = 0;
  for (const hold of holds) most = Math.max(most, of(hold));
  return most;
}

const isLost = ({ lost }: Hold): boolean => lost !== undefined;
const maxStallMsOf = ({ leaseMs, maxStallMs = 0 }: Hold): number => (leaseMs === -1 ? maxStallMs : 0);

/** How long Redis must keep the lock for a hold with a lease, in ms: to the end of the lease, margin included. */
function leaseLeft({ leaseMs, leaseEnd }: Hold, now: number): number {
  return leaseEnd > now ? leaseEnd + marginOf(leaseMs) - now : 0;
}

/**
 * The hold of a thread that `unlock` releases: one that `lock` acquired, else one that `acquire` acquired, else that of
 * a section around the call. A hold that is left to expire comes last. A section that runs beside the call keeps its
 * hold, and so does an acquisition under way.
 * @param around - the scope of the call
 * @returns `undefined` if all holds belong to sections beside the call, or to acquisitions
 */
export function holdForUnlock(holds: readonly Hold[], around: Scope | undefined): Hold | undefined {
  let best: Hold | undefined;
  let bestRank = 0;
  for (let i = holds.length - 1; i >= 0 && bestRank < PLAIN; i--) {
    const rank = rankForUnlock(holds[i]!, around);
    if (rank <= bestRank) continue;
    best = holds[i];
    bestRank = rank;
  }
  return best;
}

/** The highest rank: such a hold is released first. */
const PLAIN = 4;

function rankForUnlock({ origin, scope, expires, reserved }: Hold, around: Scope | undefined): number {
  if (reserved === true) return 0;
  if (expires === true) return 1;
  if (origin === 'acquire') return 3;
  if (origin !== 'section' || scope === undefined) return PLAIN;
  return scope.over || isAround(scope, around) ? 2 : 0;
}

/** What the watchdog renews: the field of an owner in a lock's hash. */
export interface Renewable {
  /** The lock's key in Redis. */
  readonly rawName: string;
  /** The owner's field in the lock's hash. */
  readonly owner: string;
  /** For a group lock: the values that it covers; for permits: their ids. */
  readonly values?: GroupValues | undefined;
}

/**
 * What a renewal found: whether the lock was still held; or, for a group lock, the fields of the values that were gone.
 */
export type Renewed = boolean | readonly string[];

/**
 * How one family of locks is renewed. There is one object per family: ownerships with the same object share batches.
 */
export interface Renewal {
  /**
   * Renews a batch in one command; all keys are of one slot.
   * @param batch - at most `lockWatchdogBatchSize`
   * @param leaseMs - the lease that the renewal sets, in ms; 0: it only checks, and sets no lease
   * @returns for each, whether it was still held
   */
  renew(batch: readonly Renewable[], leaseMs: number): Promise<readonly Renewed[]>;
  /** Two ownerships may share a batch if this is equal: the slot on a cluster; otherwise the same for all. */
  batchOf(one: Renewable): string | number;
}

/** What is renewed, and where that stands. The one who renews keeps it here, not in a table of its own. */
export interface Charge extends Renewable {
  readonly renewal: Renewal;
  /** The lease that its renewals set, in ms; 0: it is not renewed. */
  renewalMs: number;
  /** Monotonic time until which Redis keeps it at least. */
  readonly deadline: number;
  /** Why its last renewal failed, if it did; it is then retried before the next regular one. */
  failure: Error | undefined;
  /** The batch of the renewal of it that is under way. */
  renewing: object | undefined;
}

const NOBODY: readonly Ownership[] = [];

/**
 * The sets of values of one group that one owner holds or acquires, by their values. A single set, which is the usual
 * case, needs no index: it may have tens of thousands of values.
 */
export class OwnedValues {
  readonly #all = new Set<Ownership>();
  /** The ownerships that cover a value. Values that the same ones cover mostly have the same list. */
  readonly #byField = new Map<string, readonly Ownership[]>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Adds an ownership, and connects it with those that share a value with it. */
  add(ownership: Ownership): void {
    ownership.overlapping = this.sharing(ownership.values!.fields);
    for (const other of ownership.overlapping) other.overlapping = [...other.overlapping!, ownership];
    this.#all.add(ownership);
    if (this.#byField.size > 0) this.#index(ownership);
  }

  /** Removes an ownership; those that wait for it check again. */
  remove(ownership: Ownership): void {
    for (const other of ownership.overlapping!) {
      other.overlapping = other.overlapping!.filter((one) => one !== ownership);
    }
    ownership.overlapping = [];
    ownership.lane.recheck();
    this.#all.delete(ownership);
    if (this.#byField.size > 0)
      this.#change(ownership, (covering = NOBODY) => covering.filter((one) => one !== ownership));
  }

  /** The ownerships that cover one of these values, each once. */
  sharing(fields: readonly string[]): Ownership[] {
    if (this.#byField.size === 0) for (const ownership of this.#all) this.#index(ownership);
    return [...new Set(this.#lists(fields).flat())];
  }

  /** Monotonic time until which Redis certainly keeps all these values, each for the last of those that cover it. */
  keptUntil(fields: readonly string[]): number {
    const ends = this.#lists(fields).map((covering) => Math.max(...covering.map(({ deadline }) => deadline)));
    return Math.min(...ends);
  }

  /** The values of an ownership in portions. */
  portionsOf(ownership: Ownership): readonly Portion[] {
    const { fields } = ownership.values!;
    if (ownership.overlapping!.length === 0) return [{ others: NOBODY, fields }];
    const portions = new Map<readonly Ownership[], string[]>();
    for (const field of fields) {
      const covering = this.#byField.get(field)!;
      const portion = portions.get(covering);
      if (portion === undefined) portions.set(covering, [field]);
      else portion.push(field);
    }
    return [...portions].map(([covering, part]) => ({
      others: covering.filter((one) => one !== ownership),
      fields: part,
    }));
  }

  #lists(fields: readonly string[]): (readonly Ownership[])[] {
    const lists = new Set<readonly Ownership[]>();
    if (this.#byField.size > 0) for (const field of fields) lists.add(this.#byField.get(field) ?? NOBODY);
    return [...lists];
  }

  #index(ownership: Ownership): void {
    this.#change(ownership, (covering = NOBODY) => [...covering, ownership]);
  }

  /** Changes the lists of all values of an ownership: each different list once, so that values still share them. */
  #change(ownership: Ownership, change: (covering?: readonly Ownership[]) => readonly Ownership[]): void {
    const changed = new Map<readonly Ownership[] | undefined, readonly Ownership[]>();
    for (const field of ownership.values!.fields) {
      const before = this.#byField.get(field);
      let after = changed.get(before);
      if (after === undefined) changed.set(before, (after = change(before)));
      if (after.length > 0) this.#byField.set(field, after);
      else this.#byField.delete(field);
    }
  }
}
