import pDefer, { type DeferredPromise } from 'p-defer';
import { isAround, type Scope } from '../thread/threadScope';
import type { LockLostError } from '../errors';
import type { Renewable, RenewalKind } from './RenewalKind';

const NO_GRIPS: readonly Grip[] = Object.freeze([]);
const NOTHING = Object.freeze({ left: 0, remainingMs: 0 });

/** What identifies the hold of an owner on a key. */
export function holdKey(rawName: string, owner: string): string {
  return `${rawName}\u0000${owner}`;
}

/** By what a hold was taken: `lock` and its like, `acquire`, or `withLock`. It decides who may re-enter, and what `unlock` takes. */
export type Origin = 'plain' | 'acquire' | 'section';

/** One acquisition of a hold: what one `unlock` gives back. */
export interface Grip {
  /** Its explicit lease in ms; -1 = the watchdog keeps it. */
  leaseMs: number;
  /** Monotonic end of the explicit lease; `Infinity` for the watchdog. */
  leaseEnd: number;
  /** What the watchdog extends to, in ms. */
  readonly watchdogMs: number;
  /** After so many renewals it is given up; 0 = never. */
  readonly maxRenewals: number;
  /** Renewals so far. */
  renewals: number;
  /** Whether it is left to run out: nobody gives it back, and its end is no loss. */
  left?: boolean;
  /** Whether somebody gave it back. */
  released: boolean;
  /** By what it was taken. */
  readonly origin?: Origin;
  /** The section it is the lock of, or the scope it was taken in; `undefined` outside scopes. */
  readonly scope?: Scope | undefined;
  /** Whether the caller named the thread: it is then the thread's, wherever it was taken. */
  readonly given?: boolean;
  /** Why the hold was lost while this grip was part of it; known before anybody is told. */
  lost?: LockLostError;
  /** Called once when the hold is lost while this grip is part of it. */
  onLost?: (cause: Error) => void;
}

/** Holds with the same watchdog time-out, renewed together. */
export interface Round {
  readonly watchdogMs: number;
  readonly holds: Set<Hold>;
  /** Monotonic time of the next renewal; without meaning while it is empty. */
  nextAt: number;
  /** Those whose last renewal failed. */
  readonly failed: Set<Hold>;
  /** Monotonic time at which those are tried again; `Infinity` while there are none, or while they are being tried. */
  retryAt: number;
}

/** What identifies a hold and how it is renewed. */
export interface HoldIdentity extends Renewable {
  /** What the table knows it by: {@link holdKey}. */
  readonly key: string;
  /** The lock's name as the user gave it. */
  readonly name: string;
  /** The logical thread. */
  readonly threadId: number;
  /** How the watchdog renews it. */
  readonly renewal: RenewalKind;
}

/**
 * All that one thread has of one lock, as far as this client knows.
 *
 * States: idle (no grips) -> acquiring -> held (1..n grips) -> idle; held -> lost (removed from the table).
 */
export class Hold implements HoldIdentity {
  readonly key: string;
  readonly name: string;
  readonly rawName: string;
  readonly threadId: number;
  readonly owner: string;
  readonly renewal: RenewalKind;
  /** The acquisitions it consists of, in their order. */
  grips: readonly Grip[] = NO_GRIPS;
  /** Monotonic time until which Redis keeps the lock for sure: counted from before the last confirmed command was sent. */
  deadline = 0;
  /** Whether an acquisition is under way; there is at most one. */
  acquiring = false;
  /** The section that the acquisition under way is for, where others wait for the section as a whole. */
  acquirer: Scope | undefined;
  /** Acquisitions and releases whose end nobody saw, and whose undo is not over: it is one and the same hold until then. */
  ghosts = 0;
  /** Whether the last renewal failed and is to be repeated before its time. */
  renewalFailed: Error | undefined;
  /** Whether a renewal is under way. */
  renewing = false;
  /** The round it is renewed in; the watchdog's. */
  round: Round | undefined;
  /** Where it stands in the watchdog's heap; -1: it does not. */
  heapIndex = -1;
  #idle: DeferredPromise<void> | undefined;
  #releases = 0;
  #released: DeferredPromise<void> | undefined;

  constructor(identity: HoldIdentity) {
    this.key = identity.key;
    this.name = identity.name;
    this.rawName = identity.rawName;
    this.threadId = identity.threadId;
    this.owner = identity.owner;
    this.renewal = identity.renewal;
  }

  /** Takes one in. Not pushed to an empty array, which would make room for 17. */
  add(grip: Grip): void {
    this.grips = this.grips.length === 0 ? [grip] : [...this.grips, grip];
  }

  /** Takes one out. */
  remove(grip: Grip): void {
    this.grips = this.grips.length === 1 ? NO_GRIPS : this.grips.filter((one) => one !== grip);
  }

  /** Takes all of them out. @returns them */
  removeAll(): readonly Grip[] {
    const { grips } = this;
    this.grips = NO_GRIPS;
    return grips;
  }

  /** The longest watchdog time of its grips without lease, in ms; 0 where every grip has a lease. */
  get watchdogMs(): number {
    let longest = 0;
    for (const grip of this.grips) {
      if (grip.leaseMs === -1 && grip.watchdogMs > longest) longest = grip.watchdogMs;
    }
    return longest;
  }

  /** Monotonic end of the longest lease of its grips; `Infinity` where the watchdog keeps one. */
  get leaseEnd(): number {
    let end = 0;
    for (const grip of this.grips) if (grip.leaseEnd > end) end = grip.leaseEnd;
    return end;
  }

  /** How long Redis must keep it for the grips it has, in ms from `now`; 0 without grips. */
  remainingMs(now: number): number {
    let end = 0;
    for (const grip of this.grips) {
      end = Math.max(end, grip.leaseMs === -1 ? now + grip.watchdogMs : grip.leaseEnd);
    }
    return Math.max(0, Math.ceil(end - now));
  }

  /**
   * What a release leaves: so many holds, for so long, in ms. Grips whose leases have all run out are nothing to leave:
   * Redis would keep them for as long as a longer lease, which is given back, had set.
   */
  rest(): { readonly left: number; readonly remainingMs: number } {
    if (this.grips.length === 0) return NOTHING;
    const remainingMs = this.remainingMs(performance.now());
    return { left: remainingMs > 0 ? this.grips.length : 0, remainingMs };
  }

  /**
   * Monotonic time until which Redis keeps it at least, once it was told which grips are left.
   * @param now - monotonic time before Redis is told
   */
  keptUntil(now: number): number {
    let end = 0;
    for (const grip of this.grips) {
      end = Math.max(end, grip.leaseMs === -1 ? confirmedUntil(now, grip.watchdogMs) : grip.leaseEnd);
    }
    return end;
  }

  /**
   * Whether a release of it is under way. The next acquisition is sent when none is: a release that is repeated, because
   * its answer is late, would take away what the acquisition brings.
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

  /** Resolves when no acquisition is under way, or nothing is left to be given back. To be asked for again then. */
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

  /** It has no grips any more: who waits to give one back need not wait for an acquisition that goes on. */
  emptied(): void {
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

/**
 * Until when a lease that was confirmed is surely ours: counted from before the command was sent, less a margin for two
 * clocks that do not run alike and for a timer that fires late. Nobody else can hold the lock before that.
 *
 * @param sentAt - monotonic time just before the command was sent
 * @param leaseMs - the lease it set, in ms
 */
export function confirmedUntil(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - Math.min(leaseMs / 10, 2 + leaseMs / 1_000);
}

/**
 * What `unlock` gives back of a thread: what `lock` took, else what `acquire` took, else the hold of a section around it.
 * What is left to run out comes last, and a section that runs beside keeps its hold.
 * @param around - the scope of the call
 */
export function gripForUnlock(grips: readonly Grip[], around: Scope | undefined): Grip | undefined {
  let best: Grip | undefined;
  let bestRank = 0;
  for (let i = grips.length - 1; i >= 0 && bestRank < PLAIN; i--) {
    const rank = rankForUnlock(grips[i]!, around);
    if (rank <= bestRank) continue;
    best = grips[i];
    bestRank = rank;
  }
  return best;
}

/** Comes first. */
const PLAIN = 4;

function rankForUnlock({ origin, scope, left }: Grip, around: Scope | undefined): number {
  if (left === true) return 1;
  if (origin === 'acquire') return 3;
  if (origin !== 'section' || scope === undefined) return PLAIN;
  return scope.over || isAround(scope, around) ? 2 : 0;
}
