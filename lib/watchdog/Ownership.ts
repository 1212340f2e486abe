import pDefer, { type DeferredPromise } from 'p-defer';
import type { LockLostError } from '../errors';
import type { HoldEnd } from '../telemetry/tracing';
import { isAround, type Scope } from '../thread/threadScope';

const NO_HOLDS: readonly Hold[] = Object.freeze([]);
const NOTHING = Object.freeze({ left: 0, remainingMs: 0 });

/** The key of an ownership in the table: the lock's key and the owner. */
export function ownershipKey(rawName: string, owner: string): string {
  return `${rawName}\u0000${owner}`;
}

/**
 * By what a hold was taken: `lock` and its like, `acquire`, or `withLock`. It decides who may re-enter, and what
 * `unlock` takes.
 */
export type Origin = 'plain' | 'acquire' | 'section';

/** The values that a lock of a group is about. */
export interface GroupValues {
  /** Their field names in the group's hash, sorted, each once. */
  readonly fields: readonly string[];
  /** The same as one text: equal for equal sets. */
  readonly key: string;
}

/** One acquisition: what one `unlock` releases, and what the public `LockHold` stands for. */
export interface Hold {
  /** Its explicit lease in ms; -1 = the watchdog keeps it. */
  leaseMs: number;
  /** Monotonic end of the explicit lease; `Infinity` for the watchdog. */
  leaseEnd: number;
  /** What the watchdog extends to, in ms. */
  readonly watchdogMs: number;
  /** Renewals after which it is given up; 0 = never. */
  readonly maxRenewals: number;
  /** Renewals so far. */
  renewals: number;
  /** Whether it is left to expire: it is not given back, and its end is no loss. */
  expires?: boolean;
  /** Whether it was given back. */
  released: boolean;
  /** Told of its end, where somebody listened when it began. */
  trace?: HoldEnd | undefined;
  /** By what it was taken. */
  readonly origin?: Origin;
  /** The section it is the lock of, or the scope it was taken in; `undefined` outside scopes. */
  readonly scope?: Scope | undefined;
  /** Whether the caller named the thread: the hold is then that thread's, in whatever scope it was taken. */
  readonly given?: boolean;
  /** Of a group lock: what it is about. @default the whole lock */
  readonly values?: GroupValues | undefined;
  /** With `values`: monotonic time until which Redis keeps them for this hold. */
  deadline?: number;
  /** Why it was lost; set before anybody is told. */
  lost?: LockLostError;
  /** Called once when it is lost. */
  onLost?: (cause: Error) => void;
}

/** Ownerships with the same watchdog time-out, renewed together. */
export interface RenewalSchedule {
  readonly watchdogMs: number;
  readonly ownerships: Set<Ownership>;
  /** Monotonic time of the next renewal; not used while the schedule is empty. */
  nextAt: number;
  /** Those whose last renewal failed. */
  readonly failed: Set<Ownership>;
  /** Monotonic time at which those are tried again; `Infinity` while there are none, or while they are being tried. */
  retryAt: number;
}

/** One that is idle. */
export function newSchedule(watchdogMs: number): RenewalSchedule {
  return { watchdogMs, ownerships: new Set(), nextAt: 0, failed: new Set(), retryAt: Infinity };
}

/** What identifies an ownership and how it is renewed. */
export interface OwnershipIdentity extends Omit<Renewable, 'holds'> {
  /** What the table knows it by: {@link ownershipKey}. */
  readonly key: string;
  /** The lock's name as the user gave it. */
  readonly name: string;
  /** The logical thread. */
  readonly threadId: number;
  /** How the watchdog renews it. */
  readonly renewal: Renewal;
}

/**
 * All that one thread has of one lock, as far as this client knows.
 *
 * States: idle (no holds) -> acquiring -> held (1..n holds) -> idle; held -> lost (removed from the table).
 */
export class Ownership implements OwnershipIdentity {
  readonly key: string;
  readonly name: string;
  readonly rawName: string;
  readonly threadId: number;
  readonly owner: string;
  readonly renewal: Renewal;
  /** The acquisitions it consists of, in their order. */
  holds: readonly Hold[] = NO_HOLDS;
  /**
   * Monotonic time until which Redis keeps the lock for sure: counted from before the last confirmed command was sent.
   */
  deadline = 0;
  /** Whether an acquisition is under way; there is at most one. */
  acquiring = false;
  /** The section that the acquisition under way is for, where others wait for the section as a whole. */
  acquirer: Scope | undefined;
  /** Rollbacks under way: it stays one and the same ownership until they are over. */
  rollbacks = 0;
  /** Whether the last renewal failed and is to be repeated before its time. */
  renewalFailed: Error | undefined;
  /** Whether a renewal is under way. */
  renewing = false;
  /** The schedule it is renewed by; the watchdog's. */
  schedule: RenewalSchedule | undefined;
  /** Where it stands in the watchdog's heap; -1: it does not. */
  heapIndex = -1;
  #idle: DeferredPromise<void> | undefined;
  #releases = 0;
  #released: DeferredPromise<void> | undefined;

  constructor(identity: OwnershipIdentity) {
    this.key = identity.key;
    this.name = identity.name;
    this.rawName = identity.rawName;
    this.threadId = identity.threadId;
    this.owner = identity.owner;
    this.renewal = identity.renewal;
  }

  /** Adds a hold. A push to an empty array would reserve room for 17. */
  add(hold: Hold): void {
    this.holds = this.holds.length === 0 ? [hold] : [...this.holds, hold];
  }

  /** Removes a hold. */
  remove(hold: Hold): void {
    this.holds = this.holds.length === 1 ? NO_HOLDS : this.holds.filter((one) => one !== hold);
  }

  /** Removes those of the given holds that it has. @returns them */
  removeSome(some: readonly Hold[]): readonly Hold[] {
    const gone = this.holds.filter((one) => some.includes(one));
    if (gone.length === this.holds.length) return this.removeAll();
    this.holds = this.holds.filter((one) => !some.includes(one));
    return gone;
  }

  /** Removes all holds. @returns them */
  removeAll(): readonly Hold[] {
    const { holds } = this;
    this.holds = NO_HOLDS;
    return holds;
  }

  /** The longest watchdog time of its holds without lease, in ms; 0 where every hold has a lease. */
  get watchdogMs(): number {
    let longest = 0;
    for (const hold of this.holds) {
      if (hold.leaseMs === -1 && hold.watchdogMs > longest) longest = hold.watchdogMs;
    }
    return longest;
  }

  /** Monotonic end of the longest lease of its holds; `Infinity` where the watchdog keeps one. */
  get leaseEnd(): number {
    let end = 0;
    for (const hold of this.holds) if (hold.leaseEnd > end) end = hold.leaseEnd;
    return end;
  }

  /** How long Redis must keep it for the holds it has, in ms from `now`; 0 without holds. */
  remainingMs(now: number): number {
    let end = 0;
    for (const hold of this.holds) {
      end = Math.max(end, hold.leaseMs === -1 ? now + hold.watchdogMs : hold.leaseEnd);
    }
    return Math.max(0, Math.ceil(end - now));
  }

  /**
   * What a release leaves: how many holds, and for how many ms. Holds whose leases have all run out are not left: Redis
   * would keep them for as long as a longer lease, which is given back, had set.
   */
  remainder(): { readonly left: number; readonly remainingMs: number } {
    if (this.holds.length === 0) return NOTHING;
    const remainingMs = this.remainingMs(performance.now());
    return { left: remainingMs > 0 ? this.holds.length : 0, remainingMs };
  }

  /**
   * Monotonic time until which Redis keeps it at least, once it was told which holds are left.
   * @param now - monotonic time before Redis is told
   */
  keptUntil(now: number): number {
    let end = 0;
    for (const hold of this.holds) {
      end = Math.max(end, hold.leaseMs === -1 ? confirmedUntil(now, hold.watchdogMs) : hold.leaseEnd);
    }
    return end;
  }

  /**
   * Whether a release of it is under way. The next acquisition is sent when none is: a release that is repeated,
   * because its answer is late, would take away what the acquisition brings.
   */
  get releasing(): boolean {
    return this.#releases > 0;
  }

  /** A release is about to be sent. */
  beginRelease(): void {
    this.#releases++;
  }

  /** A release has ended, however. */
  endRelease(): void {
    if (--this.#releases > 0) return;
    this.#released?.resolve();
    this.#released = undefined;
  }

  /** Resolves when no release is under way. */
  whenReleased(): Promise<void> {
    if (!this.releasing) return Promise.resolve();
    this.#released ??= pDefer<void>();
    return this.#released.promise;
  }

  /** Resolves when no acquisition is under way, or no holds are left. The caller has to look again then. */
  whenIdle(): Promise<void> {
    if (!this.acquiring) return Promise.resolve();
    this.#idle ??= pDefer<void>();
    return this.#idle.promise;
  }

  /** The acquisition under way has ended. */
  ended(): void {
    this.acquiring = false;
    this.acquirer = undefined;
    this.emptied();
  }

  /** It has no holds any more: who waits to give one back need not wait for an acquisition that goes on. */
  emptied(): void {
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

/**
 * Until when a lease that was confirmed is surely ours: counted from before the command was sent, less a margin for two
 * clocks that do not run alike and for a timer that fires late. No other owner can have the lock before that.
 *
 * @param sentAt - monotonic time just before the command was sent
 * @param leaseMs - the lease it set, in ms
 * @returns monotonic time
 */
export function confirmedUntil(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - Math.min(leaseMs / 10, 2 + leaseMs / 1_000);
}

/**
 * What `unlock` gives back of a thread: what `lock` took, else what `acquire` took, else the hold of a section around
 * it. What is left to run out comes last, and a section that runs beside keeps its hold.
 * @param around - the scope of the call
 * @returns `undefined` where all holds belong to sections beside the call
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

/** Comes first. */
const PLAIN = 4;

function rankForUnlock({ origin, scope, expires }: Hold, around: Scope | undefined): number {
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
  /** What the owner has. */
  readonly holds: readonly Hold[];
}

/** What a renewal found: whether the lock was still held, or which holds were not. */
export type Renewed = boolean | readonly Hold[];

/** How one family of locks is renewed. One object per family: its identity groups the ownerships into batches. */
export interface Renewal {
  /**
   * Renews a batch in one command; all keys are of one slot.
   * @param batch - at most `lockWatchdogBatchSize`
   * @param leaseMs - what to extend them to, in ms
   * @returns for each, whether it was still held
   */
  renew(batch: readonly Renewable[], leaseMs: number): Promise<readonly Renewed[]>;
  /** What must be equal for two of them to share a batch: the slot on a cluster, nothing otherwise. */
  batchOf(one: Renewable): string | number;
}
