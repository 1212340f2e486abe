import { mapName } from '../config/validateName';
import { newCallToken } from '../connection/CommandExecutor';
import { IllegalMonitorStateError } from '../errors';
import { gripForUnlock, Hold, holdKey, type Grip } from '../renewal/Hold';
import type { ReleaseReply } from '../scripts/replies';
import { tookIn, type Scope } from '../thread/threadScope';
import { NO_LEASE } from '../util/duration';
import { acquireWithin } from '../wait/acquireWithin';
import { endsUndo } from '../wait/Rollback';
import { Acquisition, type Acquired } from './Acquisition';
import { patienceOf, type Demand, type Taken } from './Demand';
import type { LockDriver } from './drivers/LockDriver';
import type { LockContext } from './LockContext';
import { reclaimGrip, reclaimHold } from './Reclaimer';
import { releaseOrHandOver } from './releaseOrHandOver';

/** One lock, whoever the thread: takes and gives back. Facades read the thread and the options and come here. */
export class LockEngine {
  readonly name: string;
  readonly rawName: string;
  readonly driver: LockDriver;
  readonly context: LockContext;
  readonly #otherHalf: LockDriver | undefined;
  #last: Hold | undefined;

  /** @param otherHalf - of a read/write lock: the driver of the other half, which counts as the same lock */
  constructor(context: LockContext, driver: LockDriver, name: string, otherHalf?: LockDriver) {
    this.#otherHalf = otherHalf;
    this.context = context;
    this.driver = driver;
    this.name = name;
    this.rawName = mapName(name, context.settings.nameMapper);
  }

  /**
   * Acquires once more for a thread.
   * @throws IllegalMonitorStateError when the thread is acquiring it already, or re-enters where that is forbidden;
   *   the signal's reason; errors of the connection
   */
  async take(demand: Demand): Promise<Taken> {
    const { context, driver } = this;
    const identity = this.#identify(demand.threadId);
    const hold = context.holds.get(identity.key) ?? context.holds.open(identity);
    if (hold.acquiring) throw IllegalMonitorStateError.acquisitionPending(this.name, demand.threadId);
    if (demand.viaHandle && driver.reentrant) this.#checkReentry(hold);
    const watchdogMs = demand.watchdogMs ?? context.settings.lockWatchdogTimeout;
    const leaseMs = demand.leaseMs === NO_LEASE ? watchdogMs : demand.leaseMs;
    const acquisition = new Acquisition(context, driver, hold, leaseMs, demand.waitMs, demand.queues);
    const { call } = demand;
    const { section } = call;
    if (call.around !== undefined) acquisition.call = call;
    hold.acquiring = true;
    // Readers beside one another wait for each other's acquisition at most, not for the section.
    if (section !== undefined && !this.shared) hold.acquirer = section;
    let ok = false;
    try {
      const acquired = await acquireWithin(acquisition, patienceOf(demand));
      if (acquired === undefined) return { ok: false, ttl: acquisition.ttl, silence: acquisition.silence };
      acquisition.succeeded();
      ok = true;
      return { ok: true, grip: this.#hold(acquisition, acquired, demand, watchdogMs), token: acquired.token };
    } finally {
      if (acquisition.selfWait !== undefined) context.selfWaits.end(acquisition.selfWait);
      context.holds.ended(hold, ok ? undefined : section);
    }
  }

  /**
   * Gives one hold of a thread back: that grip, or the one that `unlock` means.
   * @param around - the scope of the call
   * @throws IllegalMonitorStateError when the thread does not hold the lock; errors of the connection and refusals of Redis,
   *   after which the release is tried on in the background
   */
  async give(threadId: number, grip?: Grip, around?: Scope): Promise<void> {
    const { context, driver, name, rawName } = this;
    const identity = this.#identify(threadId);
    const { key, owner } = identity;
    let hold = context.holds.get(key);
    // Asked again after each pause: the thread may have begun another acquisition meanwhile.
    while (hold?.acquiring === true) {
      if (grip !== undefined && !hold.grips.includes(grip)) return;
      if (hold.grips.length === 0) throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
      await hold.whenIdle();
      hold = context.holds.get(key);
    }
    if (grip !== undefined && hold?.grips.includes(grip) !== true) return;
    if (hold === undefined || hold.grips.length === 0) return this.#giveUnknown(identity);
    const chosen = grip ?? gripForUnlock(hold.grips, around);
    if (chosen === undefined) throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
    // Before the grip goes: the hold must stay the one that the next acquisition of this thread waits for.
    hold.beginRelease();
    const token = newCallToken();
    const given = context.holds.drop(hold, chosen)!;
    given.released = true;
    let reply: ReleaseReply;
    try {
      const { left, remainingMs } = hold.rest();
      const request = { name, rawName, threadId, owner, left, remainingMs, token };
      const releasing = releaseOrHandOver(driver, context.hub, request, hold.deadline, context.settings.maxHandOvers);
      // In the turn it is sent in, since whatever becomes of the command, nobody may renew it any more; and behind it,
      // since the server works meanwhile.
      context.holds.settle(hold);
      reply = await releasing;
    } catch (error) {
      // Whatever the error: it is nobody's by now.
      if (!endsUndo(error)) reclaimGrip(context, driver, hold, given, token);
      throw error;
    } finally {
      hold.endRelease();
      context.holds.tidy(hold);
    }
    if (reply.kind === 'freed') {
      if (reply.unheard === true) context.warnUnheard(name);
      // A kind with a queue in Redis has an order of its own.
      if (reply.receivers === 0) context.hub.courtesy.forget(rawName);
      else if (driver.abandon === undefined) {
        context.hub.freed(driver.channelOf(rawName, owner), rawName, reply.receivers);
      }
    }
    // Gone although it was sent twice: the first send did it.
    if (reply.kind !== 'notHeld' || token.sends > 1) return;
    context.holds.missed(hold, given, 'the release found it gone (expired or deleted)');
    throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
  }

  /**
   * Somebody gives back a grip that was lost, and is told so. Redis may have it still (it was renewed, but the answer never
   * came), or its waiters may not know that it is gone: both are seen to in the background.
   */
  forsake(threadId: number, grip: Grip): void {
    const { holds } = this.context;
    const identity = this.#identify(threadId);
    const hold = holds.get(identity.key) ?? holds.open(identity);
    // Otherwise the thread has it again, or asks for it: what is right it will say itself.
    if (!hold.acquiring && hold.grips.length === 0) reclaimGrip(this.context, this.driver, hold, grip);
  }

  /** Whether several hold it at once: the read half of a read/write lock. */
  get shared(): boolean {
    return this.driver.kind === 'read';
  }

  /** What this client knows of a thread's hold. */
  holdOf(threadId: number): Hold | undefined {
    return this.context.holds.get(this.#identify(threadId).key);
  }

  /** The same of the other half of a read/write lock. */
  otherHalfOf(threadId: number): Hold | undefined {
    const half = this.#otherHalf;
    return half === undefined ? undefined : this.context.holds.get(holdKey(this.rawName, half.ownerOf(threadId)));
  }

  /** Deletes the lock whoever holds it. @returns whether there was one */
  async force(): Promise<boolean> {
    const there = await this.driver.forceRelease(this.rawName, this.name);
    if (there) this.context.holds.loseAll(this.rawName, 'it was released by force by this client');
    return there;
  }

  /**
   * Gives back what this client does not know of: the thread never had it, or was told that it is lost, and Redis may have
   * it still. Redis is asked first, since a release says what it leaves, so that a repeat of it changes nothing. Where that
   * fails it is tried on in the background, as any other release: whatever is left there is nobody's.
   */
  async #giveUnknown(identity: Hold): Promise<void> {
    const { context, driver, name, rawName } = this;
    const { threadId, owner, key } = identity;
    const hold = context.holds.get(key) ?? context.holds.open(identity);
    if (hold.releasing) {
      // Not before that one is over: they would read the same number.
      await hold.whenReleased();
      return this.give(threadId);
    }
    hold.beginRelease();
    const token = newCallToken();
    let given: boolean;
    try {
      const held = await driver.holdCount(rawName, owner, name);
      const request = { name, rawName, threadId, owner, left: Math.max(0, held - 1), remainingMs: 0, token };
      const reply = await releaseOrHandOver(driver, context.hub, request, Infinity, context.settings.maxHandOvers);
      given = reply.kind !== 'notHeld' || (held > 0 && token.sends > 1);
    } catch (error) {
      if (!endsUndo(error)) {
        const leaseMs = Math.max(context.settings.lockWatchdogTimeout, context.holds.lingersMs(hold));
        reclaimHold(context, driver, hold, leaseMs, token);
      }
      throw error;
    } finally {
      hold.endRelease();
      context.holds.tidy(hold);
    }
    if (!given) throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
  }

  /**
   * A suspicious call re-enters where its thread has the lock, or, for a read lock, the write lock. Where the other half is
   * only being acquired, Redis would let both in without a word: they are one owner.
   */
  #checkReentry(hold: Hold): void {
    const { context, name } = this;
    const { threadId, grips } = hold;
    const other = this.otherHalfOf(threadId);
    if (other?.acquiring === true) {
      context.holds.tidy(hold);
      throw IllegalMonitorStateError.acquisitionPending(name, threadId);
    }
    if (grips.length === 0 && !(this.shared && (other?.grips.length ?? 0) > 0)) return;
    if (!context.settings.strictThreads) return context.warnReentry(name);
    context.holds.tidy(hold);
    throw IllegalMonitorStateError.handleReentry(name, threadId);
  }

  /**
   * What a thread's hold would be, were it not in the table; that of the last thread is kept, since most handles serve
   * one thread. A hold outside the table has nothing, so it can be put back into it.
   */
  #identify(threadId: number): Hold {
    if (this.#last?.threadId === threadId) return this.#last;
    const { name, rawName, driver } = this;
    const owner = driver.ownerOf(threadId);
    const key = holdKey(rawName, owner);
    this.#last = new Hold({ key, name, rawName, threadId, owner, renewal: driver.renewal });
    return this.#last;
  }

  #hold(acquisition: Acquisition, acquired: Acquired, demand: Demand, watchdogMs: number): Grip {
    const { holds, settings } = this.context;
    const { hold } = acquisition;
    const { around, section, origin, given } = demand.call;
    if (acquired.holds !== undefined && acquired.holds < acquisition.count) {
      holds.lose(hold, 'a re-entry found it gone (expired or deleted)');
    }
    const grip: Grip = {
      leaseMs: demand.leaseMs,
      leaseEnd: demand.leaseMs === NO_LEASE ? Infinity : acquired.deadline,
      watchdogMs,
      maxRenewals: demand.maxRenewals ?? settings.maxRenewTimes,
      renewals: 0,
      released: false,
      origin,
      scope: section ?? around,
      given,
    };
    holds.grip(hold, grip, acquired.deadline);
    const { thread } = demand;
    if (thread !== undefined && origin !== 'section') tookIn(around!, thread);
    // A leftover of holds that this client was told lost: it is not this thread's any more.
    if (acquired.holds !== undefined && acquired.holds > hold.grips.length) {
      reclaimGrip(this.context, this.driver, hold, grip);
    }
    return grip;
  }
}
