import { LockLostError, ShutdownError } from '../errors';
import { lostChannel } from '../util/channels';
import { gaveBack } from '../thread/threadScope';
import { SectionQueues } from '../thread/SectionQueues';
import { NO_LEASE } from '../util/duration';
import { runOutside } from '../util/outside';
import { Leftovers } from '../acquire/Rollback';
import type { Loss } from './losses';
import { OwnedValues } from './OwnedValues';
import {
  confirmedUntil,
  type GroupValues,
  type Hold,
  Ownership,
  type OwnershipIdentity,
  ownershipKey,
} from './Ownership';

/** A lock was lost (Redisson has no such event). */
export interface LockLost {
  readonly name: string;
  readonly threadId: number;
  readonly cause: LockLostError;
}

/**
 * Who holds what in this client: (key, owner) -> {@link Ownership}. This is the only mutable state of ownership;
 * facades and the watchdog share it. An entry exists while it has holds, or an acquisition, a release or a rollback
 * under way.
 *
 * States of a hold: held ({@link add}) -> released ({@link release}) | lost ({@link lose}: gone, past its deadline, its
 * renewals used up, released by force, or the client closed) | left to expire ({@link letExpire}), and then over at its
 * deadline.
 */
export class OwnershipTable {
  readonly #ownerships = new Map<string, Ownership>();
  /** For each group and owner. */
  readonly #values = new Map<string, OwnedValues>();
  readonly #listeners = new Set<(event: LockLost) => void>();
  readonly #leftovers = new Leftovers();
  // Made when needed: most clients have no such calls.
  #sectionQueues: SectionQueues | undefined;
  /** Called when the holds or the deadline of an ownership have changed, and when it has no holds any more. */
  watcher: { changed(ownership: Ownership): void; ended(ownership: Ownership): void } | undefined;

  /** Called when something may have been released; set while the client drains. */
  onReleased: (() => void) | undefined;

  /** The calls of this client that wait until a section has released its lock. */
  get sectionQueues(): SectionQueues {
    return (this.#sectionQueues ??= new SectionQueues());
  }

  /**
   * Whether a lock is held, or its holder waits for the release. Holds that are left to expire do not count, nor do
   * rollbacks: no caller waits for those.
   */
  get busy(): boolean {
    for (const { releasing, rollbacks, holds } of this.#ownerships.values()) {
      if ((releasing && rollbacks === 0) || holds.some(({ expires }) => expires !== true)) return true;
    }
    return false;
  }

  /** How many leftovers are kept: ownerships that Redis may still have although this client has given them up. */
  get leftovers(): number {
    return this.#leftovers.size;
  }

  /** How many ownerships there are. */
  get size(): number {
    return this.#ownerships.size;
  }

  /** The ownership with this `ownershipKey`, if there is one. */
  get(key: string): Ownership | undefined {
    return this.#ownerships.get(key);
  }

  /** Adds an ownership; there must be none with its key. The caller then adds a hold to it or calls {@link tidy}. */
  open(identity: OwnershipIdentity): Ownership {
    const ownership = identity instanceof Ownership ? identity : new Ownership(identity);
    this.#ownerships.set(ownership.key, ownership);
    if (ownership.values !== undefined) {
      const key = ownershipKey(ownership.rawName, ownership.owner);
      let values = this.#values.get(key);
      if (values === undefined) this.#values.set(key, (values = new OwnedValues()));
      values.add(ownership);
      ownership.owned = values;
    }
    return ownership;
  }

  /**
   * For a group lock: the ownerships of an owner that cover one of these values.
   * @param fields - the values. @default those of the given ownership
   */
  sharing({ rawName, owner, values }: OwnershipIdentity, fields = values?.fields): readonly Ownership[] {
    if (fields === undefined) return [];
    return this.#values.get(ownershipKey(rawName, owner))?.sharing(fields) ?? [];
  }

  /** All ownerships. */
  all(): IterableIterator<Ownership> {
    return this.#ownerships.values();
  }

  /**
   * A lock was acquired once more.
   * @param deadline - monotonic time until which Redis keeps the lock at least
   */
  add(ownership: Ownership, hold: Hold, deadline: number): void {
    ownership.add(hold);
    if (deadline > ownership.deadline) ownership.deadline = deadline;
    this.watcher?.changed(ownership);
  }

  /** A hold is released by its owner. {@link update} must follow. @returns whether it was held */
  release(ownership: Ownership, hold: Hold): boolean {
    const held = ownership.holds.includes(hold);
    if (held) this.#part(ownership, ownership.holds.length === 1 ? ownership.holds : [hold]);
    return held;
  }

  /** The holds of an ownership have changed: limits its deadline to the longest of them, and notifies the watchdog. */
  update(ownership: Ownership): void {
    if (ownership.holds.length > 0) {
      this.#shorten(ownership);
      this.watcher?.changed(ownership);
      return;
    }
    ownership.deadline = 0;
    ownership.recheck();
    this.watcher?.ended(ownership);
    this.#shortenOthers(ownership);
    this.tidy(ownership);
  }

  /**
   * Sets another lease for a hold, with or without one before. The command to Redis follows, so until its reply
   * ({@link confirm}) only the shorter of the old and the new lease counts.
   * @param leaseEnd - monotonic end of the lease
   */
  setLease(ownership: Ownership, hold: Hold, leaseMs: number, leaseEnd: number): void {
    hold.leaseMs = leaseMs;
    hold.leaseEnd = leaseEnd;
    this.#shorten(ownership);
    this.watcher?.changed(ownership);
  }

  /** Leaves a hold to expire when its last renewal or its lease ends. That is not reported as a loss. */
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

  /** Redis confirmed that it keeps the lock until `deadline` (monotonic). */
  confirm(ownership: Ownership, deadline: number): void {
    if (ownership.holds.length === 0 || deadline <= ownership.deadline) return;
    ownership.deadline = deadline;
    this.watcher?.changed(ownership);
  }

  /**
   * The deadline of an ownership has passed. Values that all belong to other ownerships of its owner, too, are kept as
   * long as those are.
   * @returns whether it is held on
   */
  isCovered(ownership: Ownership, now: number): boolean {
    if (ownership.overlapping === undefined || ownership.overlapping.length === 0) return false;
    const until = ownership.owned!.keptUntil(ownership.values!.fields);
    if (until <= now) return false;
    ownership.deadline = until;
    return true;
  }

  /** Whether Redis may still have a hold of this owner that this client has reported as lost, or has given up. */
  isLeftover(ownership: Ownership): boolean {
    return this.#leftovers.remainingMs(ownership.key) > 0;
  }

  /** How long Redis may still have such a hold, in ms; 0 if it has none. */
  leftoverMs(ownership: Ownership): number {
    return this.#leftovers.remainingMs(ownership.key);
  }

  /**
   * Holds are lost: aborts each, calls each listener once, and removes ownerships without holds. All are marked before
   * the first listener is called, since a listener may check the others.
   */
  lose(losses: Iterable<Loss>): void {
    const tell: (() => void)[] = [];
    const lose = (ownership: Ownership, { holds = ownership.holds, why, options, how }: Loss): void => {
      if (holds.length === 0) return;
      const cause = new LockLostError(ownership.name, ownership.threadId, why, options);
      if (how === undefined) this.mayRemain(ownership, ...holds);
      this.#part(ownership, holds);
      const lost = holds.filter(({ expires }) => expires !== true);
      for (const hold of lost) hold.lost = cause;
      this.update(ownership);
      if (lost.length > 0) tell.push(() => this.#tell(lost, cause, how === 'closed' ? undefined : ownership));
    };
    for (const loss of losses) {
      lose(loss.ownership, loss);
      const { why, options, gone } = loss;
      if (gone === undefined) continue;
      for (const ownership of this.sharing(loss.ownership, gone)) lose(ownership, { ownership, why, options });
    }
    for (const one of tell) one();
  }

  /**
   * Marks every ownership of a key as lost (forceUnlock by this client).
   * @param values - for a group lock: only ownerships that cover one of these
   */
  loseAll(rawName: string, why: string, values?: GroupValues): void {
    const fields = values && new Set(values.fields);
    const lost = [...this.#ownerships.values()].filter(
      (one) => one.rawName === rawName && (!fields || one.values?.fields.some((field) => fields.has(field))),
    );
    this.lose(lost.map((ownership) => ({ ownership, why })));
  }

  /** An acquisition has ended. @param failed - the section for which it was made, if it did not acquire the lock */
  ended(ownership: Ownership, failed: object | undefined): void {
    ownership.ended();
    this.tidy(ownership);
    if (this.#sectionQueues === undefined) return;
    this.#sectionQueues.free(ownership);
    if (failed !== undefined) this.#sectionQueues.free(failed);
  }

  /** Removes an ownership without holds and without an acquisition, a release or a rollback under way. */
  tidy(ownership: Ownership): void {
    this.onReleased?.();
    if (!ownership.unused || this.#ownerships.get(ownership.key) !== ownership) return;
    this.#ownerships.delete(ownership.key);
    if (ownership.values === undefined) return;
    const key = ownershipKey(ownership.rawName, ownership.owner);
    const values = this.#values.get(key);
    values?.remove(ownership);
    if (values?.isEmpty === true) this.#values.delete(key);
  }

  /** Adds a listener. @returns a function that removes it */
  onLost(listener: (event: LockLost) => void): () => void {
    // A wrapper of its own, so that one function added twice is called twice and removed once.
    const entry = (event: LockLost): void => listener(event);
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /**
   * Removes everything: the client is shut down and its locks are left to expire. Nothing renews the holds any more, so
   * each is marked as lost. The client's listeners are not called, because the shutdown was requested.
   *
   * @param why - they are lost
   * @param cause - becomes the `cause` of the losses
   */
  clear(why = 'its client was shut down, and nothing renews it', cause: Error = new ShutdownError()): void {
    const ownerships = [...this.#ownerships.values()];
    this.#ownerships.clear();
    this.#values.clear();
    this.lose(ownerships.map((ownership) => ({ ownership, why, options: { cause }, how: 'closed' })));
  }

  /** Redis may still have these holds: they were lost or given up, or their release got no reply or was refused. */
  mayRemain({ key }: Ownership, ...holds: readonly Hold[]): void {
    this.#leftovers.add(key, Math.max(...holds.flatMap(({ leaseMs, watchdogMs }) => [leaseMs, watchdogMs])));
  }

  /** These holds are no longer part of their ownership. Those that were released before are not either. */
  #part(ownership: Ownership, holds: readonly Hold[]): void {
    const gone = holds === ownership.holds ? holds : ownership.holds.filter((hold) => holds.includes(hold));
    ownership.remove(gone);
    for (const hold of gone) {
      const { origin, scope, given } = hold;
      if (origin === 'section') this.#freeSection(hold);
      else if (scope !== undefined && given !== true) gaveBack(scope, ownership.threadId);
    }
  }

  /** A section has released its lock: the calls that waited for it continue. */
  #freeSection({ origin, scope }: Hold): void {
    if (origin === 'section' && scope !== undefined) this.#sectionQueues?.free(scope);
  }

  /** Limits the deadline to the longest of the holds. */
  #shorten(ownership: Ownership): void {
    ownership.deadline = Math.min(ownership.deadline, ownership.keptUntil(performance.now()));
    this.#shortenOthers(ownership);
  }

  /** The values of an ownership may be kept for a shorter time, which also those count on that share some of them. */
  #shortenOthers({ overlapping }: Ownership): void {
    overlapping?.forEach((other) => {
      const until = other.keptUntil(performance.now());
      if (other.holds.length === 0 || until >= other.deadline) return;
      other.deadline = until;
      this.watcher?.changed(other);
    });
  }

  /**
   * Calls the listeners outside any async context: the context in which a loss is found is not the holder's.
   * @param of - `undefined`: the client's listeners are not called
   */
  #tell(lost: readonly Hold[], cause: LockLostError, of: Ownership | undefined): void {
    runOutside(() => {
      for (const hold of lost) {
        hold.onLost?.(cause);
        hold.trace?.lost(cause);
      }
      if (of === undefined) return;
      const { name, threadId } = of;
      if (lostChannel.hasSubscribers) lostChannel.publish({ name, threadId, cause });
      for (const listener of [...this.#listeners]) {
        try {
          listener({ name, threadId, cause });
        } catch (error) {
          // The author of the listener must learn of its error. But the error must not stop the watchdog, nor be thrown
          // in one of our timers.
          process.emitWarning(`An onLockLost listener threw: ${String(error)}`, { code: 'IOREDISSON_LISTENER' });
        }
      }
    });
  }
}
