import { LockLostError, ShutdownError } from '../errors';
import { gaveBack } from '../thread/threadScope';
import { Turns } from '../thread/Turns';
import { NO_LEASE } from '../util/duration';
import { runOutside } from '../util/outside';
import { confirmedUntil, Hold, type Grip, type HoldIdentity } from './Hold';

/** A renewal may lie so much longer (ms) than its lease in a connection that is slow, or broken, and still be run. */
const LATE_MS = 60_000;

/** So many holds may be known lost before it is looked which of them Redis has forgotten as well. */
const MIN_LINGERING = 64;

/** Somebody lost a lock (Redisson has no such event). */
export interface LockLost {
  readonly name: string;
  readonly threadId: number;
  readonly cause: LockLostError;
}

/** A hold that turned out to be gone, and how. */
export interface Loss {
  readonly hold: Hold;
  readonly why: string;
  readonly options?: ErrorOptions | undefined;
}

/**
 * Who holds what in this client: (key, owner) -> {@link Hold}. The only mutable state of holds; facades and the watchdog
 * share it. An entry exists while it has grips, or an acquisition, a release or an undo under way.
 */
export class HoldTable {
  readonly #holds = new Map<string, Hold>();
  readonly #listeners = new Set<(event: LockLost) => void>();
  /** Holds that Redis may have although this client does not, and until when (monotonic). */
  readonly #lingering = new Map<string, number>();
  /** When they have become so many, those that are over are dropped. */
  #sweepAt = MIN_LINGERING;
  /** Who waits, within this client, for a section to give up its lock. */
  readonly turns = new Turns();
  /** Told when a hold got its first grip or new grips, and when it has none any more. */
  watcher: { changed(hold: Hold): void; ended(hold: Hold): void } | undefined;

  /** Told when something may have been given back; set while the client drains. */
  onGivenBack: (() => void) | undefined;

  /** Whether a lock is held, being taken or being given back. What is left to run out, nobody will give back. */
  get busy(): boolean {
    for (const { acquiring, releasing, grips } of this.#holds.values()) {
      if (acquiring || releasing || grips.some(({ left }) => left !== true)) return true;
    }
    return false;
  }

  /** How many keys are kept of holds that Redis may have although this client does not. */
  get lingering(): number {
    return this.#lingering.size;
  }

  /** How many holds there are. */
  get size(): number {
    return this.#holds.size;
  }

  /** The hold of {@link holdKey}, if this client knows one. */
  get(key: string): Hold | undefined {
    return this.#holds.get(key);
  }

  /** Takes a hold in where there is none of its key. The caller gives it a grip or calls {@link tidy}. */
  open(identity: HoldIdentity): Hold {
    const hold = identity instanceof Hold ? identity : new Hold(identity);
    this.#holds.set(hold.key, hold);
    return hold;
  }

  /** Every hold there is. */
  all(): IterableIterator<Hold> {
    return this.#holds.values();
  }

  /**
   * A hold was taken once more.
   * @param deadline - monotonic time until which Redis keeps the lock at least
   */
  grip(hold: Hold, grip: Grip, deadline: number): void {
    hold.add(grip);
    if (deadline > hold.deadline) hold.deadline = deadline;
    this.watcher?.changed(hold);
  }

  /**
   * One acquisition is given back: that grip, or the last one, which is one that is left to run out only where there is
   * no other. {@link settle} is to follow.
   * @returns it, or `undefined` where there was none
   */
  drop(hold: Hold, grip?: Grip): Grip | undefined {
    const { grips } = hold;
    const index = grip === undefined ? lastHeld(grips) : grips.lastIndexOf(grip);
    if (index < 0) return undefined;
    const gone = grips[index]!;
    hold.remove(gone);
    this.#part(hold.threadId, gone);
    return gone;
  }

  /** {@link drop} and {@link settle} in one. */
  release(hold: Hold, grip?: Grip): Grip | undefined {
    const gone = this.drop(hold, grip);
    if (gone !== undefined) this.settle(hold);
    return gone;
  }

  /** The grips of a hold are other ones than before: believes in no more than they are worth, and tells the watchdog. */
  settle(hold: Hold): void {
    if (hold.grips.length > 0) {
      this.#shorten(hold);
      this.watcher?.changed(hold);
      return;
    }
    hold.deadline = 0;
    hold.renewalFailed = undefined;
    hold.emptied();
    this.watcher?.ended(hold);
    this.tidy(hold);
  }

  /**
   * A grip has another lease from now on, whatever it had. Redis is told afterwards, so nobody may believe in more than
   * the shorter of both until it has answered ({@link confirm}).
   * @param leaseEnd - monotonic end of the lease
   */
  relet(hold: Hold, grip: Grip, leaseMs: number, leaseEnd: number): void {
    grip.leaseMs = leaseMs;
    grip.leaseEnd = leaseEnd;
    this.#shorten(hold);
    this.watcher?.changed(hold);
  }

  /** A grip is left to run out with what its last renewal, or its lease, has set: nobody is told when it ends. */
  leave(hold: Hold, grip: Grip): void {
    if (!hold.grips.includes(grip)) return;
    grip.left = true;
    this.onGivenBack?.();
    if (grip.leaseMs === NO_LEASE) {
      grip.leaseEnd = Math.min(hold.deadline, confirmedUntil(performance.now(), grip.watchdogMs));
      grip.leaseMs = grip.watchdogMs;
    }
    this.#freeTurn(grip);
    this.settle(hold);
  }

  /** Redis confirmed that it keeps the lock until `deadline` (monotonic). */
  confirm(hold: Hold, deadline: number): void {
    if (hold.grips.length === 0 || deadline <= hold.deadline) return;
    hold.deadline = deadline;
    this.watcher?.changed(hold);
  }

  /** Whether Redis may still have what this client was told lost, or has given up: a hold of that owner that is found there. */
  mayLinger(hold: Hold): boolean {
    return this.#lingering.size > 0 && this.lingersMs(hold) > 0;
  }

  /** For how long Redis may still have that, in ms; 0: it has not. */
  lingersMs({ key }: Hold): number {
    return Math.max(0, (this.#lingering.get(key) ?? 0) - performance.now());
  }

  /** The lock turned out to be gone: aborts every grip, tells the listeners once, forgets the hold. */
  lose(hold: Hold, why: string, options?: ErrorOptions): void {
    this.loseEach([{ hold, why, options }]);
  }

  /**
   * The same for several at once: whoever is told of one, and looks at another, finds that one lost as well.
   * @param losses - each hold once
   */
  loseEach(losses: Iterable<Loss>): void {
    const tell: (() => void)[] = [];
    for (const { hold, why, options } of losses) {
      if (hold.grips.length === 0) continue;
      const cause = new LockLostError(hold.name, hold.threadId, why, options);
      const grips = hold.removeAll();
      this.#linger(hold, grips);
      for (const grip of grips) {
        grip.lost = cause;
        this.#part(hold.threadId, grip);
      }
      this.settle(hold);
      tell.push(() => this.#tell(hold, grips, cause));
    }
    for (const one of tell) one();
  }

  /** One grip is given up although the lock is still there (its renewals are used up). */
  surrender(hold: Hold, grip: Grip, why: string): void {
    if (this.release(hold, grip) === undefined) return;
    this.#linger(hold, [grip]);
    this.#tell(hold, [grip], new LockLostError(hold.name, hold.threadId, why, { cause: new Error(why) }));
  }

  /** A release found the lock gone: tells of the grip that was just given back. */
  missed(hold: Hold, grip: Grip, why: string): void {
    const others = hold.removeAll();
    for (const other of others) this.#part(hold.threadId, other);
    this.#tell(hold, [...others, grip], new LockLostError(hold.name, hold.threadId, why));
    this.settle(hold);
  }

  /** Loses every hold of a key (forceUnlock by this client). */
  loseAll(rawName: string, why: string): void {
    this.loseEach([...this.#holds.values()].filter((hold) => hold.rawName === rawName).map((hold) => ({ hold, why })));
  }

  /** An acquisition has ended. @param failed - the section that it was for, and that has not got the lock */
  ended(hold: Hold, failed: object | undefined): void {
    hold.ended();
    this.tidy(hold);
    if (this.turns.size === 0) return;
    this.turns.free(hold);
    if (failed !== undefined) this.turns.free(failed);
  }

  /** Forgets a hold that has nothing any more. */
  tidy(hold: Hold): void {
    this.onGivenBack?.();
    if (hold.grips.length > 0 || hold.acquiring || hold.releasing || hold.ghosts > 0) return;
    if (this.#holds.get(hold.key) === hold) this.#holds.delete(hold.key);
  }

  /** Adds a listener. @returns what removes it */
  onLost(listener: (event: LockLost) => void): () => void {
    // A wrapper of its own, so that one function added twice is called twice and removed once.
    const entry = (event: LockLost): void => listener(event);
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /**
   * Forgets everything: the client is shut down and its locks are left to expire. Nobody watches over the grips any more,
   * so each is told that it may be lost; the listeners of the client are not, since they know.
   */
  clear(): void {
    const holds = [...this.#holds.values()];
    this.#holds.clear();
    for (const hold of holds) {
      const grips = hold.removeAll();
      for (const grip of grips) this.#part(hold.threadId, grip);
      this.watcher?.ended(hold);
      if (grips.length === 0) continue;
      const cause = new LockLostError(hold.name, hold.threadId, 'its client was shut down, and nothing renews it', {
        cause: new ShutdownError(),
      });
      runOutside(() => grips.forEach((grip) => grip.onLost?.(cause)));
    }
  }

  /** A release whose end nobody saw, or that was refused: Redis may have that hold still. */
  unseen(hold: Hold, grip: Grip): void {
    this.#linger(hold, [grip]);
  }

  #linger({ key }: Hold, grips: readonly Grip[]): void {
    const now = performance.now();
    const longestMs = Math.max(...grips.map(({ leaseMs, watchdogMs }) => Math.max(leaseMs, watchdogMs)));
    this.#lingering.set(key, now + longestMs + LATE_MS);
    if (this.#lingering.size < this.#sweepAt) return;
    // All of them: their leases differ, so no order tells which are over. Seldom enough to cost each loss next to nothing.
    for (const [one, until] of this.#lingering) if (until <= now) this.#lingering.delete(one);
    this.#sweepAt = Math.max(MIN_LINGERING, 2 * this.#lingering.size);
  }

  /** A grip is no longer part of its hold. */
  #part(threadId: number, grip: Grip): void {
    const { origin, scope, given } = grip;
    if (scope === undefined) return;
    if (origin === 'section') this.#freeTurn(grip);
    else if (given !== true) gaveBack(scope, threadId);
  }

  /** A section that has given up its lock keeps nobody waiting. */
  #freeTurn({ origin, scope }: Grip): void {
    if (this.turns.size > 0 && origin === 'section' && scope !== undefined) this.turns.free(scope);
  }

  /** Nobody may believe in the lock longer than what is left of it lasts. */
  #shorten(hold: Hold): void {
    hold.deadline = Math.min(hold.deadline, hold.keptUntil(performance.now()));
  }

  /** Outside: it is by chance that a loss shows itself in the thread, or the span, of somebody. */
  #tell(hold: Hold, grips: readonly Grip[], cause: LockLostError): void {
    const lost = grips.filter(({ left }) => left !== true);
    if (lost.length === 0) return;
    for (const grip of lost) grip.lost = cause;
    runOutside(() => {
      for (const grip of lost) grip.onLost?.(cause);
      for (const listener of [...this.#listeners]) {
        try {
          listener({ name: hold.name, threadId: hold.threadId, cause });
        } catch (error) {
          // A listener's error must reach its author but may not stop the watchdog, nor be thrown in a timer of ours.
          process.emitWarning(`An onLockLost listener threw: ${String(error)}`, { code: 'IOREDISSON_LISTENER' });
        }
      }
    });
  }
}

/** Where the last grip is that somebody will give back; else the last one. */
function lastHeld(grips: readonly Grip[]): number {
  const index = grips.findLastIndex(({ left }) => left !== true);
  return index < 0 ? grips.length - 1 : index;
}
