import type { AcquireOptions, LockOptions, ThreadOptions } from '../../api';
import { checkOptionNames, THREAD_OPTIONS } from '../../config/optionNames';
import { mapName } from '../../config/validateName';
import type { SendRecord } from '../../connection/pending/CommandExecutor';
import { IllegalMonitorStateError } from '../../errors';
import type { ReleaseReply } from '../../scripts/replies';
import { checkThreadId, type Scope, tookIn } from '../../thread/threadScope';
import { leaseMillis, NO_LEASE, toMillis, confirmedUntil } from '../../util/duration';
import { TimeUnit } from '../../util/TimeUnit';
import type { Acquired, AcquireFailure } from '../../acquire/Acquisition';
import { acquireWithin, waitLimit } from '../../acquire/acquireWithin';
import { mayHaveRun, type Why } from '../../acquire/Rollback';
import { checkSignal } from '../../acquire/WaitLimit';
import {
  type Hold,
  holdForUnlock,
  type OwnerCommand,
  Ownership,
  ownershipKey,
  waitKeyOf,
} from '../../watchdog/Ownership';
import type { LockKind } from '../../kinds/Kind';
import { type AcquireRequest, LockTarget, undo } from './LockTarget';
import { releaseOrHandOver, wakeWaiters } from './handOver';
import type { LockContext } from './LockContext';

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
  #lastOwnership: Ownership | undefined;

  constructor(context: LockContext, kind: LockKind, name: string) {
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
    const { context, kind } = this;
    const { thread } = request;
    const identity = this.#identify(thread.id);
    const ownership = context.ownerships.open(identity);
    if (ownership.lane.mustWait('claim')) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.acquisitionPending(this.name, thread.id);
    }
    const isSuspicious = request.call.viaHandle || request.suspicious === true;
    if (isSuspicious && kind.reentrant && (ownership.holds.length > 0 || kind.half !== undefined)) {
      this.#checkReentry(ownership);
    }
    const watchdogMs = request.watchdogMs ?? context.settings.lockWatchdogTimeout;
    const leaseMs = request.leaseMs === NO_LEASE ? watchdogMs : request.leaseMs;
    const target = new LockTarget(context, kind, ownership, request, leaseMs);
    const { acquisition } = target;
    const { section } = request.call;
    // Parallel readers wait only for each other's acquisition, not for each other's section.
    ownership.lane.claim(target, kind.half === 'read' ? undefined : section);
    let ok = false;
    try {
      const acquired = await acquireWithin(acquisition, waitLimit(request.waitMs, request.signal));
      if (acquired === undefined) return { ok: false, ttl: acquisition.ttl, failure: acquisition.failure };
      ok = true;
      return { ok: true, hold: this.#addHold(target, acquired, request, watchdogMs), token: acquired.token };
    } finally {
      if (target.selfWait !== undefined) context.selfWaits.end(target.selfWait);
      context.ownerships.ended(target, ok ? undefined : section);
    }
  }

  /**
   * Releases one hold of a thread: the given one, else the one that {@link holdForUnlock} chooses.
   * @param around - the scope of the call
   * @throws IllegalMonitorStateError if the thread does not hold the lock; errors of the connection and refusals of
   *   Redis, after which the release is retried in the background
   */
  release(threadId: number, hold?: Hold, around?: Scope): Promise<void> {
    const { context, kind } = this;
    const { ownerships } = context;
    const identity = this.#identify(threadId);
    const { key } = identity;
    const ownership = ownerships.get(key);
    if (hold !== undefined && ownership?.holds.includes(hold) !== true) return Promise.resolve();
    const free = ownership === undefined || ownership.holds.length === 0;
    if (free) {
      if (ownership?.lane.mustWait('claim') !== true) return this.#releaseUnknown(identity);
      throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
    }
    // Checked again after each pause: the thread may have begun another acquisition meanwhile.
    const turn = ownership.lane.turn('release');
    if (turn !== undefined) return turn.then(() => this.release(threadId, hold, around));
    const chosen = hold ?? holdForUnlock(ownership.holds, around);
    if (chosen === undefined) throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
    const heldUntil = ownership.deadline;
    const inTime = heldUntil > performance.now();
    return ownerships.end<ReleaseReply>(ownership, chosen, {
      send: (command) => releaseOrHandOver(context, kind, command, ownership.deadline),
      undo: (why, sent) => {
        if (why === 'unconfirmed') this.#undo(ownership, leaseOf(chosen), sent, why);
        else this.#undoRelease(ownership, chosen, sent);
      },
      failed: () => wakeWaiters(context, kind, ownership),
      answered: (reply, command) => {
        if (reply.kind !== 'notHeld') return this.#left(command, reply);
        const { gone } = reply;
        const isFree = inTime && ownership.holds.length === 0;
        // If it was sent twice, "not held" means that the first send released it; or another command did, which carried
        // the same.
        const isReleased = (): boolean => command.sendRecord.sends > 1 || ownership.lane.wasFreedBeside(command);
        const judge = (): void => {
          if (isFree && isReleased()) return;
          wakeWaiters(context, kind, ownership);
          // Its lease ended while Redis refused the release, or did not get it: no caller worked under it any more.
          if (isFree && performance.now() >= heldUntil) return;
          const why = 'the release found it gone (expired or deleted)';
          ownerships.lose([{ ownership, holds: [...ownership.holds, chosen], why, gone, how: 'released' }]);
          throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
        };
        // One that is still under way may have done it.
        const others = isFree && !isReleased() ? ownership.lane.turn('alone') : undefined;
        return others === undefined ? judge() : others.then(judge);
      },
    });
  }

  /** Redis has answered a command of an owner, and has not found the lock gone. */
  #left(command: OwnerCommand, reply: ReleaseReply): void {
    const { kind, rawName, name, context } = this;
    const { ownership, sendRecord, begunAt } = command;
    if (context.watchdog.thread !== undefined) this.keepLease(ownership);
    if (reply.kind === 'released') {
      if (reply.unheard === true) context.warnUnheard(name);
      // Not for a kind with a queue in Redis, which has its own order.
      if (reply.receivers > 0 && kind.abandon === undefined) {
        const channel = kind.channelOf(rawName, ownership.owner);
        context.subscriptions.released(channel, ownership.waitKey, reply.receivers);
      }
    }
    // An earlier command says nothing of what a later one changes.
    if (reply.kind !== 'kept' || ownership.holds.length === 0 || ownership.lane.hasChangedSince(command)) return;
    context.ownerships.confirm(ownership, ownership.keptUntil(sendRecord.sentAt ?? begunAt));
  }

  /**
   * Sets another lease for a hold, counted from now, with or without one before.
   * @param leaseMs - in ms; {@link NO_LEASE}: the watchdog renews it from now on
   * @param gone - called if Redis answers that the lock was gone
   * @returns whether it is still held
   * @throws errors of the connection; if the command may have run, the lease is in doubt, and the shorter of the old
   *   and the new one counts
   */
  async setLease(threadId: number, hold: Hold, leaseMs: number, gone?: () => void): Promise<boolean> {
    const { kind, context } = this;
    const { ownerships } = context;
    let ownership = this.ownershipOf(threadId);
    for (let turn; ownership?.live.includes(hold) === true; ownership = this.ownershipOf(threadId)) {
      turn = ownership.lane.turn('lease');
      if (turn === undefined) break;
      await turn;
    }
    if (ownership?.live.includes(hold) !== true) return false;
    const own = ownership;
    const sentAt = performance.now();
    const { deadline } = own;
    const { leaseMs: leaseBefore, leaseEnd: endBefore } = hold;
    // Set before anything is sent: a renewal sent after the command would undo it.
    ownerships.setLease(own, hold, leaseMs, leaseMs === NO_LEASE ? Infinity : confirmedUntil(sentAt, leaseMs));
    if (leaseMs === NO_LEASE && (hold.maxStallMs ?? 0) > 0) context.threadStarter.use();
    // A release that leaves all holds; like any other release, it must not be repeated after an acquisition.
    await ownerships.end<ReleaseReply>(own, undefined, {
      send: (command) => kind.release(command),
      failed: (error, command) => {
        // Another command may have carried it.
        if (mayHaveRun(error) || !own.live.includes(hold) || own.lane.hadOthersBeside(command)) return;
        ownerships.setLease(own, hold, leaseBefore, endBefore);
        ownerships.confirm(own, deadline);
      },
      answered: (reply, command) => {
        if (reply.kind !== 'notHeld') return this.#left(command, reply);
        gone?.();
        const why = 'it was gone when its lease was set (expired or deleted)';
        ownerships.lose([{ ownership: own, why, gone: reply.gone }]);
      },
    });
    return own.live.includes(hold);
  }

  /**
   * Gives the one hold of a thread back to the owner from whom it was taken over, in the background: no caller got
   * it.
   * @param leaseMs - in ms; how long the lock is kept for that owner
   */
  giveBack(threadId: number, from: string, leaseMs: number): void {
    const { kind, context } = this;
    const ownership = this.ownershipOf(threadId);
    if (ownership === undefined || ownership.holds.length === 0) return;
    const giving = context.ownerships.end<ReleaseReply>(ownership, ownership.holds[0], {
      send: ({ sendRecord }) => kind.move!(ownership, ownership.owner, from, leaseMs, sendRecord),
      undo: (why, sent) => undo({ ownership, kind, sent, leaseMs, from }, why, context),
    });
    void giving.catch(() => undefined);
  }

  /**
   * Releases, in the background, a hold that was lost. Redis may still have it (it was given up; or renewed, but the
   * reply never came), or waiters may not know yet that it is gone.
   */
  releaseLost(threadId: number, hold: Hold): void {
    const { ownerships } = this.context;
    const identity = this.#identify(threadId);
    const ownership = ownerships.open(identity);
    wakeWaiters(this.context, this.kind, identity);
    // It stays in the table: values that others of its thread acquire now must not be cut off from it.
    const unblock = ownership.lane.block();
    if (ownerships.release(ownership, hold)) ownerships.update(ownership);
    unblock();
    // The thread has the lock again, or is acquiring it: its next command sets the right number of holds.
    if (ownership.lane.claimed || ownership.holds.length > 0) return;
    const turn = ownership.lane.turn('undo');
    if (turn === undefined) this.#undoRelease(ownership, hold);
    else void turn.then(() => this.releaseLost(threadId, hold));
  }

  /**
   * A command has set the lease of an ownership. If the watchdog thread renewed the same owner before, its last renewal
   * may still be under way on its own connection, and prolong that lease. Then the lease is set once more behind it.
   * No caller waits for that: a lease that is too long for a moment does not give the lock to another owner.
   */
  keepLease(ownership: Ownership): void {
    const { thread } = this.context.watchdog;
    if (thread === undefined || ownership.holds.length === 0 || ownership.watchdogMs > 0) return;
    void thread.settled(ownership)?.then(async () => {
      // Another acquisition would set a lease of its own.
      for (let turn = ownership.lane.turn('undo'); turn !== undefined; turn = ownership.lane.turn('undo')) await turn;
      if (ownership.holds.length === 0 || ownership.watchdogMs > 0) return;
      this.#undo(ownership, ownership.remainder().remainingMs);
    });
  }

  /** Whether several threads can hold it at the same time: the read half of a read/write lock. */
  get shared(): boolean {
    return this.kind.half === 'read';
  }

  /** The ownership of a thread, if this client knows of one. */
  ownershipOf(threadId: number): Ownership | undefined {
    return this.context.ownerships.get(this.#identify(threadId).key);
  }

  /**
   * The ownerships of a thread that are this lock for it: its own; for a group lock, all that share a value with it.
   */
  ownershipsOf(threadId: number): readonly Ownership[] {
    const identity = this.#identify(threadId);
    const own = this.context.ownerships.get(identity.key);
    if (own === undefined) return this.context.ownerships.sharing(identity);
    return [own, ...(own.overlapping ?? [])];
  }

  /** The ownership of a thread for the other half of a read/write lock, which counts as the same lock. */
  otherHalfOf(threadId: number): Ownership | undefined {
    return this.context.ownerships.otherHalf(this.#identify(threadId));
  }

  /** Deletes the lock, whoever holds it. @returns whether it existed */
  async forceRelease(): Promise<boolean> {
    const { kind, rawName } = this;
    const there = await kind.forceRelease(this);
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
    const { context, kind } = this;
    const { threadId, owner } = identity;
    const ownership = context.ownerships.open(identity);
    if (ownership.overlapping?.some(({ holds }) => holds.length > 0) === true) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
    }
    const turn = ownership.lane.turn('alone');
    if (turn !== undefined) {
      await turn;
      return this.release(threadId);
    }
    return context.ownerships.end<ReleaseReply>(ownership, undefined, {
      send: async ({ sendRecord }) => {
        const remainder = { left: Math.max(0, (await kind.holdCount(identity, owner)) - 1), remainingMs: 0 };
        return releaseOrHandOver(context, kind, { ownership, sendRecord, leaves: () => remainder }, Infinity);
      },
      undo: (why, sent) => {
        const leaseMs = Math.max(context.settings.lockWatchdogTimeout, context.ownerships.leftoverMs(ownership));
        this.#undo(ownership, leaseMs, sent, why);
      },
      answered: (reply) => {
        // Also if it was sent twice: it is unknown whether the first send released it, or its lease had ended before.
        if (reply.kind !== 'notHeld') return;
        throw IllegalMonitorStateError.notOwner(context.clientId, threadId, this.name);
      },
    });
  }

  /** Undoes a hold that no caller owns, although its release may not have run. @param sent - that release */
  #undoRelease(ownership: Ownership, hold: Hold, sent?: SendRecord): void {
    this.context.ownerships.mayRemain(ownership, hold);
    this.#undo(ownership, leaseOf(hold), sent);
  }

  /** @param leaseMs - for which Redis may have the hold */
  #undo(ownership: Ownership, leaseMs: number, sent?: SendRecord, why: Why = 'released'): void {
    undo({ ownership, kind: this.kind, sent, leaseMs }, why, this.context);
  }

  /**
   * Warns of a suspicious call that re-enters, or refuses it. It re-enters if its thread has the lock or, for a read
   * lock, the write lock. While the other half is being acquired, the call is refused: Redis would let both in, since
   * they are one owner.
   */
  #checkReentry(ownership: Ownership): void {
    const { context, name } = this;
    const { threadId, live } = ownership;
    const other = this.kind.half !== undefined ? this.otherHalfOf(threadId) : undefined;
    if (other?.lane.claimed === true) {
      context.ownerships.tidy(ownership);
      throw IllegalMonitorStateError.acquisitionPending(name, threadId);
    }
    if (live.length === 0 && !(this.shared && (other?.live.length ?? 0) > 0)) return;
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
    const key = ownershipKey(waitKeyOf(rawName, values), owner);
    this.#lastOwnership = new Ownership({ key, name, rawName, kind: kind.name, threadId, owner, values, renewal });
    return this.#lastOwnership;
  }

  #addHold(target: LockTarget, { holds, gone }: Acquired, request: AcquireRequest, watchdogMs: number): Hold {
    const { ownerships, settings } = this.context;
    const { ownership, acquisition } = target;
    const { around, section, origin, given } = request.call;
    if (holds !== undefined && holds < target.count) {
      ownerships.lose([{ ownership, why: 'a re-entry found it gone (expired or deleted)' }]);
    }
    if (gone !== undefined) {
      const why = 'a re-entry found values of it gone (expired or deleted)';
      ownerships.lose([{ ownership, why, gone }]);
    }
    const hold: Hold = {
      since: performance.now(),
      callSite: acquisition.callSite,
      leaseMs: request.leaseMs,
      leaseEnd: request.leaseMs === NO_LEASE ? Infinity : acquisition.deadline,
      watchdogMs,
      maxRenewals: request.maxRenewals ?? settings.maxRenewTimes,
      renewals: 0,
      maxStallMs: request.maxStallMs ?? this.context.threadStarter.maxStallMs,
      reserved: request.member,
      released: false,
      origin,
      scope: section ?? around,
      given,
    };
    if (hold.leaseMs === NO_LEASE && hold.maxStallMs! > 0) this.context.threadStarter.use();
    if (settings.localHandOver && ownership.lane.relay === undefined) {
      ownership.confirmedAt = acquisition.deadline - confirmedUntil(0, target.leaseMs);
    }
    ownerships.add(ownership, hold, acquisition.deadline);
    if (this.context.watchdog.thread !== undefined) this.keepLease(ownership);
    if (around !== undefined && !given && origin !== 'section') tookIn(around, request.thread);
    // More than this thread has: leftovers of holds that this client has reported lost.
    if (holds !== undefined && holds > ownership.holds.length) {
      this.#undoRelease(ownership, hold);
    }
    return hold;
  }
}

/** How long Redis keeps a hold, in ms. */
function leaseOf({ leaseMs, watchdogMs }: Hold): number {
  return Math.max(leaseMs, watchdogMs);
}

/** The thread and the signal a caller named. */
export interface Caller {
  readonly threadId: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const NOBODY: Caller = Object.freeze({ threadId: undefined, signal: undefined });

/**
 * Reads `options`: a thread id, or an object with `threadId` and `signal`.
 * @param known - the options that the call has
 * @throws RangeError for a bad thread id; ConfigError for an unknown option, and for anything else that is neither
 */
export function readCaller(options: LockOptions | AcquireOptions | undefined, known = THREAD_OPTIONS): Caller {
  if (options === undefined) return NOBODY;
  if (typeof options === 'number') return { threadId: checkThreadId(options), signal: undefined };
  checkOptionNames(options, known);
  const { threadId, signal } = options;
  checkSignal(signal);
  return { threadId: threadId === undefined ? undefined : checkThreadId(threadId), signal };
}

/** The arguments of `tryLock` in all its forms. */
export interface TryLockArguments {
  /** In ms; 0 = one attempt. */
  readonly waitMs: number;
  /** Whether a wait time was given, even 0: without one a fair lock does not queue. */
  readonly waits: boolean;
  /** In ms; -1 = the watchdog renews it. */
  readonly leaseMs: number;
  readonly options: LockOptions | undefined;
}

/**
 * Reads `()`, `(options)`, `(waitTime, unit)`, `(waitTime, leaseTime?, unit?, options?)`.
 * @throws RangeError, TypeError as `toMillis`
 */
export function readTryLock(
  first?: number | ThreadOptions,
  second?: number | TimeUnit,
  unit?: TimeUnit,
  options?: LockOptions,
): TryLockArguments {
  if (first === undefined || (typeof first === 'object' && first !== null)) {
    return { waitMs: 0, waits: false, leaseMs: NO_LEASE, options: first ?? options };
  }
  if (second instanceof TimeUnit) {
    return { waitMs: toMillis(first, second, 'waitTime'), waits: true, leaseMs: NO_LEASE, options };
  }
  return { waitMs: toMillis(first, unit, 'waitTime'), waits: true, leaseMs: leaseMillis(second, unit), options };
}
