import { LockLostError, ShutdownError } from '../errors';
import { lostChannel } from '../util/channels';
import { gaveBack } from '../thread/threadScope';
import { SectionQueues } from '../thread/SectionQueues';
import { NO_LEASE } from '../util/duration';
import { runOutside } from '../util/outside';
import { confirmValues, countDeadline, sharesValue } from './groupValues';
import { Leftovers } from './Leftovers';
import type { Loss } from './losses';
import { confirmedUntil, type GroupValues, Ownership, type Hold, type OwnershipIdentity } from './Ownership';

/** A lock was lost (Redisson has no such event). */
export interface LockLost {
  readonly name: string;
  readonly threadId: number;
  readonly cause: LockLostError;
}

/**
 * Who holds what in this client: (key, owner) -> {@link Ownership}. The only mutable state of ownership; facades and
 * the watchdog share it. An entry exists while it has holds, or an acquisition, a release or a rollback under way.
 */
export class OwnershipTable {
  readonly #ownerships = new Map<string, Ownership>();
  readonly #listeners = new Set<(event: LockLost) => void>();
  readonly #leftovers = new Leftovers();
  // Made when needed: most clients have no such calls.
  #sectionQueues: SectionQueues | undefined;
  /** Told when an ownership got a hold, and when it has none any more. */
  watcher: { changed(ownership: Ownership): void; ended(ownership: Ownership): void } | undefined;

  /** Told when something may have been given back; set while the client drains. */
  onReleased: (() => void) | undefined;

  /** The calls of this client that wait for a section to give up its lock. */
  get sectionQueues(): SectionQueues {
    return (this.#sectionQueues ??= new SectionQueues());
  }

  /** Whether a lock is held, being taken or being given back. Holds that are left to expire do not count. */
  get busy(): boolean {
    for (const { acquiring, releasing, holds } of this.#ownerships.values()) {
      if (acquiring || releasing || holds.some(({ expires }) => expires !== true)) return true;
    }
    return false;
  }

  /** How many keys are kept of leftovers: holds that Redis may still have although this client has not. */
  get leftovers(): number {
    return this.#leftovers.size;
  }

  /** How many ownerships there are. */
  get size(): number {
    return this.#ownerships.size;
  }

  /** The ownership of that `ownershipKey`, if there is one. */
  get(key: string): Ownership | undefined {
    return this.#ownerships.get(key);
  }

  /** Adds an ownership where there is none of its key. The caller adds a hold to it or calls {@link tidy}. */
  open(identity: OwnershipIdentity): Ownership {
    const ownership = identity instanceof Ownership ? identity : new Ownership(identity);
    this.#ownerships.set(ownership.key, ownership);
    return ownership;
  }

  /** Every ownership there is. */
  all(): IterableIterator<Ownership> {
    return this.#ownerships.values();
  }

  /**
   * A lock was acquired once more.
   * @param deadline - monotonic time until which Redis keeps the lock at least
   */
  add(ownership: Ownership, hold: Hold, deadline: number): void {
    ownership.add(hold);
    if (hold.values !== undefined) confirmValues(ownership, [hold], deadline);
    else if (deadline > ownership.deadline) ownership.deadline = deadline;
    this.watcher?.changed(ownership);
  }

  /**
   * One hold is released: the given one, else the last one; one that is left to expire only if there is no other.
   * {@link update} must follow.
   * @returns the hold, or `undefined` where there was none
   */
  remove(ownership: Ownership, hold?: Hold): Hold | undefined {
    const { holds } = ownership;
    const index = hold === undefined ? lastHeld(holds) : holds.lastIndexOf(hold);
    if (index < 0) return undefined;
    const gone = holds[index]!;
    ownership.remove(gone);
    this.#parted(ownership.threadId, gone);
    return gone;
  }

  /** {@link remove} and {@link update} in one. */
  release(ownership: Ownership, hold?: Hold): Hold | undefined {
    const gone = this.remove(ownership, hold);
    if (gone !== undefined) this.update(ownership);
    return gone;
  }

  /** The holds of an ownership have changed: its deadline is at most what they last, and the watchdog is told. */
  update(ownership: Ownership): void {
    if (ownership.holds.length > 0) {
      this.#shorten(ownership);
      this.watcher?.changed(ownership);
      return;
    }
    ownership.deadline = 0;
    ownership.renewalFailed = undefined;
    ownership.emptied();
    this.watcher?.ended(ownership);
    this.tidy(ownership);
  }

  /**
   * A hold has another lease from now on, whatever it had. Redis is told afterwards, so until it has answered
   * ({@link confirm}) only the shorter of the old and the new lease counts.
   * @param leaseEnd - monotonic end of the lease
   */
  setLease(ownership: Ownership, hold: Hold, leaseMs: number, leaseEnd: number): void {
    hold.leaseMs = leaseMs;
    hold.leaseEnd = leaseEnd;
    if (hold.deadline !== undefined) hold.deadline = Math.min(hold.deadline, leaseEnd);
    this.#shorten(ownership);
    this.watcher?.changed(ownership);
  }

  /** A hold is left to expire at the end of its last renewal, or of its lease. That is no loss. */
  letExpire(ownership: Ownership, hold: Hold): void {
    if (!ownership.holds.includes(hold)) return;
    hold.expires = true;
    hold.trace?.released();
    this.onReleased?.();
    if (hold.leaseMs === NO_LEASE) {
      hold.leaseEnd = Math.min(ownership.deadline, confirmedUntil(performance.now(), hold.watchdogMs));
      hold.leaseMs = hold.watchdogMs;
    }
    this.#freeSection(hold);
    this.update(ownership);
  }

  /**
   * Redis confirmed that it keeps the lock until `deadline` (monotonic).
   * @param hold - the one whose lease was set
   */
  confirm(ownership: Ownership, hold: Hold, deadline: number): void {
    if (hold.values !== undefined) {
      if (ownership.holds.includes(hold)) confirmValues(ownership, [hold], deadline);
    } else if (ownership.holds.length > 0 && deadline > ownership.deadline) ownership.deadline = deadline;
    else return;
    this.watcher?.changed(ownership);
  }

  /** Whether Redis may still have a hold of this owner that this client has reported lost, or given up. */
  isLeftover(ownership: Ownership): boolean {
    return this.#leftovers.size > 0 && this.#leftovers.remainingMs(ownership) > 0;
  }

  /** For how long Redis may still have such a hold, in ms; 0: it has none. */
  leftoverMs(ownership: Ownership): number {
    return this.#leftovers.remainingMs(ownership);
  }

  /** The lock turned out to be gone: aborts every hold, calls each listener once, forgets the ownership. */
  lose(ownership: Ownership, why: string, options?: ErrorOptions): void {
    this.loseEach([{ ownership, why, options }]);
  }

  /**
   * The same for several at once. All are lost before the first listener is called, which may look at the others.
   * @param losses - each ownership once
   */
  loseEach(losses: Iterable<Loss>): void {
    const tell: (() => void)[] = [];
    for (const { ownership, why, options, holds: some } of losses) {
      const holds = some === undefined ? ownership.removeAll() : ownership.removeSome(some);
      if (holds.length === 0) continue;
      const cause = new LockLostError(ownership.name, ownership.threadId, why, options);
      this.#leftovers.add(ownership, holds);
      for (const hold of holds) {
        hold.lost = cause;
        this.#parted(ownership.threadId, hold);
      }
      this.update(ownership);
      tell.push(() => this.#tell(ownership, holds, cause));
    }
    for (const one of tell) one();
  }

  /** One hold is given up although the lock is still there (its renewals are used up). */
  giveUp(ownership: Ownership, hold: Hold, why: string): void {
    if (this.release(ownership, hold) === undefined) return;
    this.#leftovers.add(ownership, [hold]);
    this.#tell(
      ownership,
      [hold],
      new LockLostError(ownership.name, ownership.threadId, why, { cause: new Error(why) }),
    );
  }

  /**
   * A release found the lock gone: the hold that was just released is lost.
   * @param gone - the values that are gone. @default the whole lock
   */
  foundGone(ownership: Ownership, hold: Hold, why: string, gone?: readonly string[]): void {
    const others =
      gone === undefined
        ? ownership.removeAll()
        : ownership.removeSome(ownership.holds.filter((other) => sharesValue(other, gone)));
    for (const other of others) this.#parted(ownership.threadId, other);
    this.#tell(ownership, [...others, hold], new LockLostError(ownership.name, ownership.threadId, why));
    this.update(ownership);
  }

  /**
   * Loses every ownership of a key (forceUnlock by this client).
   * @param values - only what is held of these. @default everything
   */
  loseAll(rawName: string, why: string, values?: GroupValues): void {
    this.loseEach(
      [...this.#ownerships.values()]
        .filter((ownership) => ownership.rawName === rawName)
        .map((ownership) => ({
          ownership,
          why,
          holds: values && ownership.holds.filter((hold) => sharesValue(hold, values.fields)),
        })),
    );
  }

  /** An acquisition has ended. @param failed - the section that it was for, and that has not got the lock */
  ended(ownership: Ownership, failed: object | undefined): void {
    ownership.ended();
    this.tidy(ownership);
    if (this.#sectionQueues === undefined) return;
    this.#sectionQueues.free(ownership);
    if (failed !== undefined) this.#sectionQueues.free(failed);
  }

  /** Forgets an ownership that has nothing any more. */
  tidy(ownership: Ownership): void {
    this.onReleased?.();
    if (ownership.holds.length > 0 || ownership.acquiring || ownership.releasing || ownership.rollbacks > 0) return;
    if (this.#ownerships.get(ownership.key) === ownership) this.#ownerships.delete(ownership.key);
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
   * Forgets everything: the client is shut down and its locks are left to expire. Nothing renews
   * the holds any more, so each is lost; the client's listeners are not called, since the shutdown was asked for.
   */
  clear(): void {
    const ownerships = [...this.#ownerships.values()];
    this.#ownerships.clear();
    for (const ownership of ownerships) {
      const holds = ownership.removeAll();
      for (const hold of holds) this.#parted(ownership.threadId, hold);
      this.watcher?.ended(ownership);
      if (holds.length === 0) continue;
      const cause = new LockLostError(
        ownership.name,
        ownership.threadId,
        'its client was shut down, and nothing renews it',
        {
          cause: new ShutdownError(),
        },
      );
      runOutside(() => {
        for (const hold of holds) {
          hold.lost = cause;
          hold.onLost?.(cause);
          hold.trace?.lost(cause);
        }
      });
    }
  }

  /** A release got no answer, or was refused: Redis may still have that hold. */
  mayRemain(ownership: Ownership, hold: Hold): void {
    this.#leftovers.add(ownership, [hold]);
  }

  /** A hold is no longer part of its ownership. */
  #parted(threadId: number, hold: Hold): void {
    const { origin, scope, given } = hold;
    if (scope === undefined) return;
    if (origin === 'section') this.#freeSection(hold);
    else if (given !== true) gaveBack(scope, threadId);
  }

  /** A section that has given up its lock is no obstacle any more. */
  #freeSection({ origin, scope }: Hold): void {
    if (origin === 'section' && scope !== undefined) this.#sectionQueues?.free(scope);
  }

  /** The lock counts as ours no longer than its holds last. */
  #shorten(ownership: Ownership): void {
    if (ownership.holds[0]?.values !== undefined) countDeadline(ownership);
    else ownership.deadline = Math.min(ownership.deadline, ownership.keptUntil(performance.now()));
  }

  /** Runs outside any async context: the one in which a loss is found has nothing to do with the holder's. */
  #tell(ownership: Ownership, holds: readonly Hold[], cause: LockLostError): void {
    const lost = holds.filter(({ expires }) => expires !== true);
    if (lost.length === 0) return;
    for (const hold of lost) hold.lost = cause;
    runOutside(() => {
      for (const hold of lost) {
        hold.onLost?.(cause);
        hold.trace?.lost(cause);
      }
      const { name, threadId } = ownership;
      if (lostChannel.hasSubscribers) lostChannel.publish({ name, threadId, cause });
      for (const listener of [...this.#listeners]) {
        try {
          listener({ name, threadId, cause });
        } catch (error) {
          // A listener's error must reach its author but may not stop the watchdog, nor be thrown in a timer of ours.
          process.emitWarning(`An onLockLost listener threw: ${String(error)}`, { code: 'IOREDISSON_LISTENER' });
        }
      }
    });
  }
}

/** The index of the last hold that is not left to expire; else of the last one. */
function lastHeld(holds: readonly Hold[]): number {
  const index = holds.findLastIndex(({ expires }) => expires !== true);
  return index < 0 ? holds.length - 1 : index;
}
