import { mapName } from '../../config/validateName';
import { newSendRecord, type SendRecord } from '../../connection/pending/CommandExecutor';
import { IllegalMonitorStateError } from '../../errors';
import type { ReleaseReply } from '../../scripts/replies';
import { type Scope, tookIn } from '../../thread/threadScope';
import { NO_LEASE } from '../../util/duration';
import { acquireWithin, waitLimit } from '../../acquire/acquireWithin';
import { endsUndo, type Why } from '../../acquire/Rollback';
import { type Hold, holdForUnlock, Ownership, ownershipKey } from '../../watchdog/Ownership';
import type { LockKind } from '../../kinds/LockKind';
import { type Acquired, LockTarget } from './LockTarget';
import type { AcquireRequest } from './calls';
import type { AcquireFailure } from '../../acquire/Acquisition';
import { releaseOrHandOver, takingOver } from './handOver';
import type { LockContext } from './LockContext';
import { undo } from './undo';

/** The result of an acquire request. */
export type AcquireResult =
  | { readonly ok: true; readonly hold: Hold; readonly token: bigint | undefined }
  /** Not acquired. `ttl`: as the last attempt read it, in ms; `failure`: why, unless another owner has it. */
  | { readonly ok: false; readonly ttl: number; readonly failure: AcquireFailure | undefined };

/** Acquires and releases one lock, for all threads. The facades read the thread and the options, and call it. */
export class LockEngine {
  readonly name: string;
  readonly rawName: string;
  readonly kind: LockKind;
  readonly context: LockContext;
  readonly #otherHalf: LockKind | undefined;
  #lastOwnership: Ownership | undefined;

  /** @param otherHalf - for a read/write lock: the kind of the other half, which counts as the same lock */
  constructor(context: LockContext, kind: LockKind, name: string, otherHalf?: LockKind) {
    this.#otherHalf = otherHalf;
    this.context = context;
    this.kind = kind;
    this.name = name;
    this.rawName = mapName(name, context.settings.nameMapper);
  }

  /**
   * Acquires once more for a thread.
   * @throws IllegalMonitorStateError if the thread is acquiring the lock already, or re-enters although that is
   *   forbidden; the signal's reason; errors of the connection
   */
  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { context } = this;
    const kind = request.from === undefined ? this.kind : takingOver(this.kind, request.from);
    const identity = this.#identify(request.threadId);
    const ownership = context.ownerships.get(identity.key) ?? context.ownerships.open(identity);
    if (ownership.unsettled) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.acquisitionPending(this.name, request.threadId);
    }
    if (request.viaHandle && kind.reentrant) this.#checkReentry(ownership);
    const watchdogMs = request.watchdogMs ?? context.settings.lockWatchdogTimeout;
    const leaseMs = request.leaseMs === NO_LEASE ? watchdogMs : request.leaseMs;
    const target = new LockTarget(context, kind, ownership, request, leaseMs);
    const { acquisition } = target;
    const { section } = request.call;
    ownership.acquiring = true;
    // Parallel readers wait only for each other's acquisition, not for each other's section.
    if (section !== undefined && !this.shared) ownership.acquirer = section;
    let ok = false;
    try {
      const acquired = await acquireWithin(acquisition, waitLimit(request.waitMs, request.signal));
      if (acquired === undefined) return { ok: false, ttl: acquisition.ttl, failure: acquisition.failure };
      acquisition.succeeded();
      ok = true;
      return { ok: true, hold: this.#addHold(target, acquired, request, watchdogMs), token: acquired.token };
    } finally {
      if (target.selfWait !== undefined) context.selfWaits.end(target.selfWait);
      context.ownerships.ended(ownership, ok ? undefined : section);
    }
  }

  /**
   * Releases one hold of a thread: the given one, else the one that {@link holdForUnlock} chooses.
   * @param around - the scope of the call
   * @throws IllegalMonitorStateError if the thread does not hold the lock; errors of the connection and refusals of
   *   Redis, after which the release is retried in the background
   */
  async release(threadId: number, hold?: Hold, around?: Scope): Promise<void> {
    const { context, kind, name, rawName } = this;
    const { ownerships, subscriptions, settings } = context;
    const identity = this.#identify(threadId);
    const { key, owner } = identity;
    let ownership = ownerships.get(key);
    // Checked again after each pause: the thread may have begun another acquisition meanwhile.
    while (ownership?.unsettled === true) {
      if (hold !== undefined && !ownership.holds.includes(hold)) return;
      if (ownership.holds.length === 0) throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
      await ownership.whenIdle();
      ownership = ownerships.get(key);
    }
    if (hold !== undefined && ownership?.holds.includes(hold) !== true) return;
    if (ownership === undefined || ownership.holds.length === 0) return this.#releaseUnknown(identity);
    const chosen = hold ?? holdForUnlock(ownership.holds, around);
    if (chosen === undefined) throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
    // Called before the hold is removed: the next acquisition of this thread waits for the release of this ownership.
    ownership.beginRelease();
    const sendRecord = newSendRecord();
    const heldUntil = ownership.deadline > performance.now() ? ownership.deadline : Infinity;
    ownerships.release(ownership, chosen);
    chosen.released = true;
    let reply: ReleaseReply;
    try {
      const { left, remainingMs } = ownership.remainder();
      const request = { name, rawName, threadId, owner, ownership, left, remainingMs, sendRecord };
      const releasing = releaseOrHandOver(kind, subscriptions, request, ownership.deadline, settings.maxHandOvers);
      // In the same turn as the send: the hold must not be renewed any more, whatever happens to the command. After the
      // send, so that the server works meanwhile.
      ownerships.update(ownership);
      reply = await releasing;
      this.keepLease(ownership);
      if (sendRecord.unconfirmed === true) this.#undo(ownership, leaseOf(chosen), sendRecord, 'unconfirmed');
    } catch (error) {
      // No caller owns this hold any more, whatever the error.
      if (!endsUndo(error)) this.#undoRelease(ownership, chosen, sendRecord);
      chosen.trace?.released(error);
      this.#wakeOwn(owner);
      throw error;
    } finally {
      ownership.endRelease();
      ownerships.tidy(ownership);
    }
    if (reply.kind === 'released') {
      if (reply.unheard === true) context.warnUnheard(name);
      // Not for a kind with a queue in Redis, which has its own order.
      if (reply.receivers > 0 && kind.abandon === undefined) {
        subscriptions.released(kind.channelOf(rawName, owner), rawName, reply.receivers);
      }
    }
    // If it was sent twice, "not held" means that the first send released it.
    if (reply.kind !== 'notHeld' || sendRecord.sends > 1) return chosen.trace?.released();
    this.#wakeOwn(owner);
    // Its lease ended while Redis refused the release, or did not get it: nobody worked under it any more.
    if (performance.now() >= heldUntil && ownership.holds.length === 0) return chosen.trace?.released();
    const why = 'the release found it gone (expired or deleted)';
    ownerships.lose([{ ownership, holds: [...ownership.holds, chosen], why, gone: reply.gone, how: 'released' }]);
    throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
  }

  /**
   * Releases, in the background, a hold that was lost. Redis may still have it (it was renewed, but the reply never
   * came), or waiters may not know yet that it is gone.
   */
  releaseLost(threadId: number, hold: Hold): void {
    const { ownerships } = this.context;
    const identity = this.#identify(threadId);
    const ownership = ownerships.get(identity.key) ?? ownerships.open(identity);
    this.#wakeOwn(identity.owner);
    // The thread has the lock again, or is acquiring it: its next command sets the right number of holds.
    if (ownership.acquiring || ownership.holds.length > 0) return;
    if (!ownership.unsettled) this.#undoRelease(ownership, hold);
    // An undo must not overtake the acquisition of values that both have.
    else void ownership.whenIdle().then(() => this.releaseLost(threadId, hold));
  }

  /**
   * A command has set the lease of an ownership. If the watchdog thread renewed the same owner before, its last renewal
   * may still be under way on its own connection, and prolong that lease. Then the lease is set once more behind it.
   * Nobody waits for that: a lease that is too long for a moment gives the lock to nobody else.
   */
  keepLease(ownership: Ownership): void {
    const { thread } = this.context.watchdog;
    if (thread === undefined || ownership.holds.length === 0 || ownership.watchdogMs > 0) return;
    void thread.settled(ownership)?.then(async () => {
      // Another acquisition would set a lease of its own.
      while (ownership.unsettled) await ownership.whenIdle();
      if (ownership.holds.length === 0 || ownership.watchdogMs > 0) return;
      this.#undo(ownership, ownership.remainder().remainingMs);
    });
  }

  /** Whether several threads can hold it at the same time: the read half of a read/write lock. */
  get shared(): boolean {
    return this.kind.name === 'read';
  }

  /** The lock may be free, and no message says so: the waiters of this process attempt. */
  #wakeOwn(owner: string): void {
    const { kind, rawName, context } = this;
    context.subscriptions.queue(kind.channelOf(rawName, owner), rawName)?.wakeAll();
  }

  /** The ownership of a thread, if this client knows of one. */
  ownershipOf(threadId: number): Ownership | undefined {
    return this.context.ownerships.get(this.#identify(threadId).key);
  }

  /** The ownerships of a thread that are this lock for it: its own; for a group lock, all that share a value with it. */
  ownershipsOf(threadId: number): readonly Ownership[] {
    const identity = this.#identify(threadId);
    const own = this.context.ownerships.get(identity.key);
    if (own === undefined) return this.context.ownerships.sharing(identity);
    return [own, ...(own.overlapping ?? [])];
  }

  /** The ownership of a thread for the other half of a read/write lock. */
  otherHalfOf(threadId: number): Ownership | undefined {
    const half = this.#otherHalf;
    return half === undefined
      ? undefined
      : this.context.ownerships.get(ownershipKey(this.rawName, half.ownerOf(threadId)));
  }

  /** Deletes the lock, whoever holds it. @returns whether it existed */
  async forceRelease(): Promise<boolean> {
    const { kind, rawName, name } = this;
    const there = await kind.forceRelease(rawName, name);
    if (there) this.context.ownerships.loseAll(rawName, 'it was released by force by this client', kind.values);
    return there;
  }

  /**
   * Releases a hold that this client does not know: the thread never had it, or it was reported as lost, and Redis may
   * still have it. The hold count is read from Redis first: a release sends the number of holds that it leaves, so that
   * a repeat changes nothing. If it fails, it is retried in the background like any other release, because no caller
   * owns what is left.
   */
  async #releaseUnknown(identity: Ownership): Promise<void> {
    const { context, kind, name, rawName } = this;
    const { threadId, owner, key } = identity;
    const ownership = context.ownerships.get(key) ?? context.ownerships.open(identity);
    if (ownership.overlapping?.some(({ holds }) => holds.length > 0) === true) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
    }
    if (ownership.releasing) {
      // Waits for the release under way: otherwise both would read the same count.
      await ownership.whenReleased();
      return this.release(threadId);
    }
    ownership.beginRelease();
    const sendRecord = newSendRecord();
    let given: boolean;
    try {
      const held = await kind.holdCount(rawName, owner, name);
      const left = Math.max(0, held - 1);
      const request = { name, rawName, threadId, owner, ownership, left, remainingMs: 0, sendRecord };
      const { subscriptions, settings } = context;
      const reply = await releaseOrHandOver(kind, subscriptions, request, Infinity, settings.maxHandOvers);
      given = reply.kind !== 'notHeld' || (held > 0 && sendRecord.sends > 1);
    } catch (error) {
      if (!endsUndo(error)) {
        const leaseMs = Math.max(context.settings.lockWatchdogTimeout, context.ownerships.leftoverMs(ownership));
        this.#undo(ownership, leaseMs, sendRecord);
      }
      throw error;
    } finally {
      ownership.endRelease();
      context.ownerships.tidy(ownership);
    }
    if (!given) throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
  }

  /** Undoes a hold that no caller owns, although its release may not have run. @param sendRecord - of that release */
  #undoRelease(ownership: Ownership, hold: Hold, sendRecord?: SendRecord): void {
    this.context.ownerships.mayRemain(ownership, hold);
    this.#undo(ownership, leaseOf(hold), sendRecord);
  }

  /** @param leaseMs - for which Redis may have the hold */
  #undo(ownership: Ownership, leaseMs: number, sendRecord?: SendRecord, why: Why = 'released'): void {
    // A release that was never sent will not run later: only the hold is left, and the undo may use any connection.
    const sent = sendRecord?.sends === 0 ? undefined : sendRecord;
    undo({ ownership, kind: this.kind, sent, leaseMs }, why, this.context);
  }

  /**
   * Warns of a suspicious call that re-enters, or refuses it. It re-enters if its thread has the lock or, for a read
   * lock, the write lock. While the other half is being acquired, the call is refused: Redis would let both in, since
   * they are one owner.
   */
  #checkReentry(ownership: Ownership): void {
    const { context, name } = this;
    const { threadId, holds } = ownership;
    const other = this.otherHalfOf(threadId);
    if (other?.acquiring === true) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.acquisitionPending(name, threadId);
    }
    if (holds.length === 0 && !(this.shared && (other?.holds.length ?? 0) > 0)) return;
    if (!context.settings.strictThreads) return context.warnReentry(name);
    context.ownerships.tidy(ownership);
    throw IllegalMonitorStateError.handleReentry(name, threadId);
  }

  /**
   * An ownership that identifies a thread, and that can be added to the table. The one of the last thread is cached,
   * since most handles serve one thread.
   */
  #identify(threadId: number): Ownership {
    if (this.#lastOwnership?.threadId === threadId) return this.#lastOwnership;
    const { name, rawName, kind } = this;
    const owner = kind.ownerOf(threadId);
    const { values, renewal } = kind;
    // A group lock and another lock of the same name are unrelated, so their keys must differ.
    const key = ownershipKey(values === undefined ? rawName : `${rawName}\u0000${values.key}`, owner);
    this.#lastOwnership = new Ownership({ key, name, rawName, kind: kind.name, threadId, owner, values, renewal });
    return this.#lastOwnership;
  }

  #addHold(target: LockTarget, acquired: Acquired, request: AcquireRequest, watchdogMs: number): Hold {
    const { ownerships, settings } = this.context;
    const { ownership } = target;
    const { around, section, origin, given } = request.call;
    if (acquired.holds !== undefined && acquired.holds < target.count) {
      ownerships.lose([{ ownership, why: 'a re-entry found it gone (expired or deleted)' }]);
    }
    if (acquired.gone !== undefined) {
      const why = 'a re-entry found values of it gone (expired or deleted)';
      ownerships.lose([{ ownership, why, gone: acquired.gone }]);
    }
    const hold: Hold = {
      since: performance.now(),
      callSite: target.callSite,
      leaseMs: request.leaseMs,
      leaseEnd: request.leaseMs === NO_LEASE ? Infinity : acquired.deadline,
      watchdogMs,
      maxRenewals: request.maxRenewals ?? settings.maxRenewTimes,
      renewals: 0,
      maxStallMs: request.maxStallMs ?? this.context.threadStarter.maxStallMs,
      released: false,
      trace: undefined,
      origin,
      scope: section ?? around,
      given,
    };
    if (hold.leaseMs === NO_LEASE && hold.maxStallMs! > 0) this.context.threadStarter.use();
    ownerships.add(ownership, hold, acquired.deadline);
    this.keepLease(ownership);
    const { thread } = request;
    if (thread !== undefined && origin !== 'section') tookIn(around!, thread);
    // More than this thread has: leftovers of holds that this client has reported lost.
    if (acquired.holds !== undefined && acquired.holds > ownership.holds.length) {
      this.#undoRelease(ownership, hold);
    }
    return hold;
  }
}

/** How long Redis keeps a hold, in ms. */
function leaseOf({ leaseMs, watchdogMs }: Hold): number {
  return Math.max(leaseMs, watchdogMs);
}
