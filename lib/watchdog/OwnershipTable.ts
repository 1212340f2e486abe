import { LockLostError, ShutdownError } from '../errors';
import { lostChannel } from '../util/channels';
import { gaveBack, liveScope, type Scope } from '../thread/threadScope';
import { SectionQueues } from '../thread/SectionQueues';
import { confirmedUntil, NO_LEASE } from '../util/duration';
import { Listeners } from '../util/listeners';
import { WRITER } from '../util/names';
import { runOutside } from '../util/outside';
import { newSendRecord, type SendRecord } from '../connection/pending/CommandExecutor';
import { endsUndo, Leftovers, mayHaveRun, type Why } from '../acquire/Rollback';
import type { ReleaseReply } from '../scripts/replies';
import {
  OwnedValues,
  type GroupValues,
  type Hold,
  NO_HOLDS,
  type OwnerCommand,
  type Ownership,
  type OwnershipIdentity,
  ownershipKey,
} from './Ownership';

/** A lock was lost (Redisson has no such event). */
export interface LockLost {
  readonly name: string;
  readonly threadId: number;
  readonly cause: LockLostError;
}

/** A command of an owner: a release, a hand-over, another lease, `detach`, or an undo. */
export interface Ending<R> {
  /** The record of an undo, which is sent for no caller. @default it is a caller's */
  readonly undoes?: SendRecord;
  /** Sends the command. */
  readonly send: (command: OwnerCommand) => Promise<R>;
  /**
   * Undoes in the background what the command may have left.
   * @param sent - its record, if it was sent
   */
  readonly undo?: (why: Why, sent: SendRecord | undefined) => void;
  /** It has failed. */
  readonly failed?: (error: unknown, command: OwnerCommand) => void;
  /** Redis has answered. @throws if the hold was gone */
  readonly answered?: (reply: R, command: OwnerCommand) => void | Promise<void>;
}

/**
 * Who holds what in this client: (key, owner) -> {@link Ownership}. This is the only mutable state of ownership;
 * facades and the watchdog share it. An entry exists while it has holds, or an acquisition, a release or a rollback
 * under way.
 *
 * States of a hold: held ({@link add}) -> released ({@link release}) | lost ({@link lose}: gone, past its deadline,
 * released by force) | left to expire ({@link letExpire}; or lost, but still in Redis: its renewals are used up, or the
 * client is closed), and then over at its deadline.
 */
export class OwnershipTable {
  readonly #ownerships = new ChurnedMap<string, Ownership>();
  /** For each group and owner. */
  readonly #values = new Map<string, OwnedValues>();
  readonly #listeners = new Listeners<LockLost>('An onLockLost listener');
  readonly #leftovers = new Leftovers();
  #closed = false;
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
    for (const { lane, holds } of this.#ownerships.values()) {
      if (lane.busy || holds.some(({ expires }) => !expires)) return true;
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

  /** Of a read/write lock: what its thread has of the other half. */
  otherHalf({ kind, rawName, owner }: Ownership): Ownership | undefined {
    if (kind !== 'read' && kind !== 'write') return undefined;
    return this.get(ownershipKey(rawName, kind === 'read' ? owner + WRITER : owner.slice(0, -WRITER.length)));
  }

  /** Of a read lock: the write lock that its thread has. */
  writerOf(ownership: Ownership): Ownership | undefined {
    const other = this.otherHalf(ownership);
    return other?.live.length === 0 ? undefined : other;
  }

  /**
   * The ownership with the key of this one, which is added if there is none. The caller then adds a hold to it or calls
   * {@link tidy}.
   */
  open(ownership: Ownership): Ownership {
    const there = this.#ownerships.get(ownership.key);
    if (there !== undefined) return there;
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
    const { holds } = ownership;
    // A copy: a push to an empty array would reserve room for 17 elements.
    ownership.holds = holds.length === 0 ? [hold] : [...holds, hold];
    const until = Math.min(deadline, ownership.lane.relay?.deadline ?? Infinity);
    if (until > ownership.deadline) ownership.deadline = until;
    ownership.answeredAt = hold.since;
    // Redis answered while the client was being closed.
    if (this.#closed) this.lose([closedLoss(ownership)]);
    this.watcher?.changed(ownership);
  }

  /**
   * Sends a command of an owner: the one place where they begin and end. A hold ends at once, whatever happens to it.
   * @param hold - one of the ownership; `undefined`: all holds stay, and only what Redis has of them changes
   * @throws what `send` and `answered` throw
   */
  async end<R extends ReleaseReply | boolean>(
    ownership: Ownership,
    hold: Hold | undefined,
    { undoes, send, undo, failed, answered }: Ending<R>,
  ): Promise<void> {
    const record = undoes ?? newSendRecord();
    let ran = true;
    // Before the hold is removed: the next acquisition of this thread waits for the command.
    const command = ownership.lane.begin(record, undoes === undefined);
    if (hold !== undefined) this.release(ownership, hold);
    let reply: R;
    try {
      const sent = send(command);
      // In the same turn as the send: the hold must not be renewed any more, whatever happens to the command. After the
      // send, so that the server works meanwhile.
      if (hold !== undefined) this.update(ownership);
      reply = await sent;
      // If it was sent twice, the first run may have done what it was to do.
      ran = record.sends > 1 || typeof reply === 'boolean' || reply.kind !== 'notHeld';
      if (record.unconfirmed === true) undo?.('unconfirmed', record);
    } catch (error) {
      ran = mayHaveRun(error);
      // No caller owns the hold any more, whatever the error. What is passed on is undone by its relay. A command that
      // was never sent will not run later: only the hold is left, and the undo may use any connection.
      if (!endsUndo(error) && !record.cancelled) undo?.('released', record.sends === 0 ? undefined : record);
      failed?.(error, command);
      if (hold?.released === true) hold.trace?.released(error);
      throw error;
    } finally {
      ownership.lane.end(command, ran);
      this.tidy(ownership);
    }
    const judging = answered?.(reply, command);
    if (judging !== undefined) await judging;
    hold?.trace?.released();
  }

  /** A hold is released by its owner. {@link update} must follow. @returns whether it was held */
  release(ownership: Ownership, hold: Hold): boolean {
    hold.released = true;
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
    ownership.lane.recheck();
    this.watcher?.ended(ownership);
    if (ownership.overlapping !== undefined) this.#shortenOthers(ownership.overlapping);
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

  /** Leaves a hold to expire when its last renewal or its lease ends. @param how - as `Hold.expires` */
  letExpire(ownership: Ownership, hold: Hold, how: true | 'dropped' = true): void {
    if (!ownership.holds.includes(hold)) return;
    if (how === true) hold.trace?.released();
    this.#leaveToExpire(ownership, hold, how);
    this.update(ownership);
  }

  /** {@link update} must follow. */
  #leaveToExpire(ownership: Ownership, hold: Hold, how: true | 'dropped'): void {
    hold.expires = how;
    this.onReleased?.();
    if (hold.leaseMs === NO_LEASE) {
      hold.leaseEnd = confirmedUntil(ownership.ranBy, hold.watchdogMs);
      hold.leaseMs = hold.watchdogMs;
    }
    this.#freeSection(hold);
  }

  /** Redis confirmed that it keeps the lock until `deadline` (monotonic). */
  confirm(ownership: Ownership, deadline: number): void {
    ownership.answeredAt = performance.now();
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
    if (!ownership.overlaps) return false;
    const until = ownership.owned!.keptUntil(ownership.values!.fields);
    if (until <= now) return false;
    ownership.deadline = until;
    return true;
  }

  /**
   * How long Redis may still have a hold of this owner that this client has reported as lost, in ms; 0: it has none.
   */
  leftoverMs(ownership: Ownership): number {
    return this.#leftovers.remainingMs(ownership.key);
  }

  /**
   * Holds are lost: aborts each, calls each listener once, and removes ownerships without holds. All are marked before
   * the first listener is called, since a listener may check the others. What is given up is left to expire.
   */
  lose(losses: Iterable<Loss>): void {
    const tell: (() => void)[] = [];
    const lose = (ownership: Ownership, { holds = ownership.holds, why, options, how }: Loss): void => {
      if (holds.length === 0) return;
      const { name, threadId, ofPermits: permits } = ownership;
      const cause = new LockLostError(name, threadId, why, { ...options, permits });
      const lost = holds.filter(({ expires }) => expires !== true);
      for (const hold of lost) hold.lost = cause;
      if (how !== 'released' && how !== 'cleared') this.mayRemain(ownership, ...holds);
      if (how === 'givenUp' || how === 'closed') for (const hold of lost) this.#leaveToExpire(ownership, hold, true);
      else this.#part(ownership, holds);
      this.update(ownership);
      if (lost.length > 0)
        tell.push(() => this.#tell(lost, cause, how === 'closed' || how === 'cleared' ? undefined : ownership));
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
  ended(acquisition: { readonly ownership: Ownership }, failed: object | undefined): void {
    const { ownership } = acquisition;
    ownership.lane.unclaim(acquisition);
    if (ownership.holds.length === 0) this.tidy(ownership);
    this.#sectionQueues?.free(ownership);
    if (failed !== undefined) this.#sectionQueues?.free(failed);
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
    return this.#listeners.add(listener);
  }

  /**
   * The client is shut down and its locks are left to expire. Nothing renews the holds any more, so each is marked as
   * lost, but stays: commands that end now must leave it. The client's listeners are not called, because the shutdown
   * was requested.
   */
  close(): void {
    const { watcher } = this;
    this.watcher = undefined;
    this.#closed = true;
    const ownerships = [...this.#ownerships.values()];
    for (const ownership of ownerships) watcher?.ended(ownership);
    this.lose(ownerships.map(closedLoss));
  }

  /**
   * Removes everything: what Redis had is gone. Each hold is marked as lost; the client's listeners are not called.
   * @param why - they are lost
   * @param cause - becomes the `cause` of the losses
   */
  clear(why: string, cause: Error): void {
    const ownerships = [...this.#ownerships.values()];
    this.#ownerships.clear();
    this.#values.clear();
    this.lose(ownerships.map((ownership) => ({ ownership, why, options: { cause }, how: 'cleared' })));
  }

  /** Redis may still have these holds: they were lost or given up, or their release got no reply or was refused. */
  mayRemain({ key }: Ownership, ...holds: readonly Hold[]): void {
    this.#leftovers.add(key, Math.max(...holds.flatMap(({ leaseMs, watchdogMs }) => [leaseMs, watchdogMs])));
  }

  /** These holds are no longer part of their ownership. Those that were released before are not either. */
  #part(ownership: Ownership, holds: readonly Hold[]): void {
    const all = ownership.holds;
    const gone = holds === all ? holds : all.filter((hold) => holds.includes(hold));
    ownership.holds = gone.length === all.length ? NO_HOLDS : all.filter((hold) => !gone.includes(hold));
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
    if (ownership.overlapping !== undefined) this.#shortenOthers(ownership.overlapping);
  }

  /** The values of an ownership may be kept for a shorter time, which also those count on that share some of them. */
  #shortenOthers(overlapping: readonly Ownership[]): void {
    for (const other of overlapping) {
      const until = other.keptUntil(performance.now());
      if (other.holds.length === 0 || until >= other.deadline) continue;
      other.deadline = until;
      this.watcher?.changed(other);
    }
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
      this.#listeners.tell({ name, threadId, cause });
    });
  }
}

/** The signal of a hold. Made when it is first read: most holds are short, and their signal is not used. */
export function signalOf(hold: Hold): AbortSignal {
  if (hold.signal === undefined) {
    // The hold must not keep its object reachable.
    const controller = new AbortController();
    hold.signal = controller.signal;
    if (hold.lost === undefined) hold.onLost = (cause) => controller.abort(cause);
    else controller.abort(hold.lost);
  }
  return hold.signal;
}

/** What is left of the object of a hold that was dropped. */
interface Abandoned {
  readonly client: { readonly ownerships: OwnershipTable; warnAbandoned(name: string, ofPermits: boolean): void };
  readonly ownership: Ownership;
  readonly hold: Hold;
  /** The scope in which `unlock()` of the lock reaches it. @default none: only its object does */
  readonly scope?: Scope | undefined;
}

/**
 * The object of a hold, or the scope in which `unlock()` of the lock reached it, was dropped without a release. Then a
 * scope around it may be left. If there is none, nobody can release the hold, so it is renewed no longer. Its signal
 * may have been kept (`const { signal } = await lock.acquire()`), so the end of the lease is a loss.
 */
const abandonment = new FinalizationRegistry<Abandoned>(({ client, ownership, hold, scope }) => {
  if (hold.leaseMs !== NO_LEASE || !ownership.holds.includes(hold)) return;
  const live = liveScope(scope);
  if (live !== undefined) {
    const { parent } = live;
    const weak = new WeakRef(live);
    // The hold must not keep the scope reachable: work may go on in it after its end, or not.
    Object.defineProperty(hold, 'scope', { get: () => weak.deref() ?? parent, configurable: true });
    abandonment.register(live, { client, ownership, hold, scope: parent });
    return;
  }
  client.ownerships.letExpire(ownership, hold, 'dropped');
  client.warnAbandoned(ownership.name, ownership.ofPermits);
});

/** Has a hold left to expire, with a warning, when nobody can reach it any more: by its object, or in its scope. */
export function watchForAbandonment<T extends object>(object: T, abandoned: Abandoned): T {
  abandonment.register(object, abandoned);
  return object;
}

/** Holds that are lost, and why. */
export interface Loss {
  readonly ownership: Ownership;
  /** Those of them that are lost. @default all */
  readonly holds?: readonly Hold[];
  readonly why: string;
  readonly options?: ErrorOptions | undefined;
  /** For a group lock: the values that are gone. Then every ownership of that owner that covers one of them is lost. */
  readonly gone?: readonly string[] | undefined;
  /**
   * `released`: a release found them gone, so nothing of them is left in Redis. `givenUp`: Redis has them until their
   * leases end, but nothing renews them any more. `closed`: likewise, because the client was shut down, as requested,
   * so only the holds themselves are notified. `cleared`: nothing is left, as requested. By default Redis may still
   * have them.
   */
  readonly how?: 'released' | 'givenUp' | 'closed' | 'cleared' | undefined;
}

/** The loss of an ownership whose client is shut down. */
function closedLoss(ownership: Ownership): Loss {
  const why = 'its client was shut down, and nothing renews it';
  return { ownership, why, options: { cause: new ShutdownError() }, how: 'closed' };
}

/** The code of a {@link stallFailure}. */
const STALLED = 'IOREDISSON_STALLED';

/** Why the watchdog thread renews no more: the event loop was blocked too long. */
export function stallFailure(maxStallMs: number): Error {
  const text =
    `its lease ran out because the event loop was blocked for longer than maxStall (${maxStallMs} ms): the watchdog ` +
    'thread stopped the renewals';
  return Object.assign(new Error(text), { code: STALLED });
}

/** The loss of an ownership whose deadline has passed. */
export function lossOf(ownership: Ownership): Loss {
  const { failure } = ownership;
  const options = { cause: failure };
  if (ownership.holds.some(({ expires }) => expires === 'dropped')) {
    return { ownership, why: 'its object was dropped without a release, so it was renewed no longer' };
  }
  if (ownership.watchdogMs === 0) return { ownership, why: 'its lease has ended' };
  if (failure === undefined) {
    return { ownership, why: 'its lease ran out before a renewal was confirmed (event loop blocked, or Redis silent)' };
  }
  if ('code' in failure && failure.code === STALLED) return { ownership, why: failure.message, options };
  return { ownership, why: 'its lease ran out because every renewal failed', options };
}

/** After so many deletions at the earliest the entries move to a new map. */
const MIN_DELETED = 64;

/**
 * A map whose entries come and go quickly. V8 links each table that a map has outgrown to the next one. Once the
 * garbage collector has moved one of them to the old generation, all later ones, and whatever was in them, survive
 * until the next full collection: with a few entries per millisecond that costs more than everything else that a lock
 * needs. So the entries move to a new map before that adds up.
 */
export class ChurnedMap<K, V> {
  #map = new Map<K, V>();
  #deleted = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    const deleted = this.#map.delete(key);
    if (deleted && ++this.#deleted > Math.max(MIN_DELETED, this.#map.size)) {
      this.#deleted = 0;
      this.#map = new Map(this.#map);
    }
    return deleted;
  }

  clear(): void {
    this.#map.clear();
  }

  /** Those that there are now: later changes may be missing in it. */
  values(): IterableIterator<V> {
    return this.#map.values();
  }
}
