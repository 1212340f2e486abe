import { mapName } from '../config/validateName';
import { newCallToken } from '../connection/CommandExecutor';
import { IllegalMonitorStateError, type CommandTimeoutError } from '../errors';
import { confirmedUntil, Hold, holdKey, type Grip } from '../renewal/Hold';
import type { ReleaseReply } from '../scripts/replies';
import { NO_LEASE } from '../util/duration';
import { acquireWithin } from '../wait/acquireWithin';
import { ENDLESS_PATIENCE, Patience } from '../wait/Patience';
import { endsUndo } from '../wait/Rollback';
import { Acquisition, type Acquired } from './Acquisition';
import type { LockDriver } from './drivers/LockDriver';
import type { LockContext } from './LockContext';
import { reclaimGrip } from './Reclaimer';
import { releaseOrHandOver } from './releaseOrHandOver';

/** How a lock is wanted by a thread. */
export interface Demand {
  readonly threadId: number;
  /** In ms; -1 = the watchdog keeps it. */
  readonly leaseMs: number;
  /** In ms; `Infinity` = without limit; 0 or less: a single attempt. */
  readonly waitMs: number;
  /** `false`: a single attempt that queues nowhere; a positive `waitMs` then limits the wait for its answer. */
  readonly queues: boolean;
  readonly signal: AbortSignal | undefined;
  /** Whether a re-entry is suspicious: the thread is a handle's. */
  readonly viaHandle: boolean;
  /** @default the client's setting */
  readonly maxRenewals?: number | undefined;
  /** What the watchdog extends to, in ms. @default the client's setting */
  readonly watchdogMs?: number | undefined;
}

/** What came of a demand. */
export type Taken =
  | { readonly ok: true; readonly grip: Grip; readonly token: bigint | undefined }
  /** Not acquired; `ttl` as the last attempt read it. `silence`: the last attempt got no answer. */
  | { readonly ok: false; readonly ttl: number; readonly silence: CommandTimeoutError | undefined };

/** One lock, whoever the thread: takes and gives back. Facades read the thread and the options and come here. */
export class LockEngine {
  readonly name: string;
  readonly rawName: string;
  readonly driver: LockDriver;
  readonly context: LockContext;
  #last: Hold | undefined;

  constructor(context: LockContext, driver: LockDriver, name: string) {
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
    if (hold.grips.length > 0 && demand.viaHandle && driver.reentrant) {
      if (context.settings.strictThreads) throw IllegalMonitorStateError.handleReentry(this.name, demand.threadId);
      context.warnReentry(this.name);
    }
    const watchdogMs = demand.watchdogMs ?? context.settings.lockWatchdogTimeout;
    const leaseMs = demand.leaseMs === NO_LEASE ? watchdogMs : demand.leaseMs;
    const acquisition = new Acquisition(context, driver, hold, leaseMs, demand.waitMs, demand.queues);
    hold.acquiring = true;
    try {
      const acquired = await acquireWithin(acquisition, patienceOf(demand));
      if (acquired === undefined) return { ok: false, ttl: acquisition.ttl, silence: acquisition.silence };
      acquisition.succeeded();
      return { ok: true, grip: this.#hold(acquisition, acquired, demand, watchdogMs), token: acquired.token };
    } finally {
      hold.ended();
      context.holds.tidy(hold);
    }
  }

  /**
   * Gives one hold of a thread back: that grip, or the last one it took.
   * @throws IllegalMonitorStateError when the thread does not hold the lock; errors of the connection and refusals of Redis,
   *   after which the release is tried on in the background
   */
  async give(threadId: number, grip?: Grip): Promise<void> {
    const { context, driver, name, rawName } = this;
    const identity = this.#identify(threadId);
    const { key, owner } = identity;
    let hold = context.holds.get(key);
    // Asked again after each pause: the thread may have begun another acquisition meanwhile.
    while (hold?.acquiring === true) {
      if (hold.grips.length === 0) throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
      await hold.whenIdle();
      hold = context.holds.get(key);
    }
    if (grip !== undefined && hold?.grips.includes(grip) !== true) return;
    if (hold === undefined || hold.grips.length === 0) return this.#giveUnknown(identity);
    // Before the grip goes: the hold must stay the one that the next acquisition of this thread waits for.
    hold.beginRelease();
    const token = newCallToken();
    const given = context.holds.drop(hold, grip)!;
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
    if (reply.kind === 'freed' && reply.unheard === true) context.warnUnheard(name);
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

  /**
   * Gives a grip another lease, counted from now, whatever it had.
   * @param leaseMs - in ms
   * @returns whether it is still held
   * @throws errors of the connection; the lease is then in doubt, and nobody believes in more than it
   */
  async relet(threadId: number, grip: Grip, leaseMs: number): Promise<boolean> {
    const { driver, name, rawName } = this;
    const { holds } = this.context;
    const { key, owner } = this.#identify(threadId);
    let hold = holds.get(key);
    while (hold?.acquiring === true) {
      await hold.whenIdle();
      hold = holds.get(key);
    }
    if (hold?.grips.includes(grip) !== true) return false;
    const sentAt = performance.now();
    // Before anything is sent: a renewal behind it would undo it.
    holds.relet(hold, grip, leaseMs, confirmedUntil(sentAt, leaseMs));
    const remainingMs = Math.max(leaseMs, hold.remainingMs(sentAt));
    const left = hold.grips.length;
    // A release that leaves everything; as any other, it must not be repeated behind an acquisition.
    hold.beginRelease();
    try {
      const reply = await driver.release({ name, rawName, threadId, owner, left, remainingMs, token: newCallToken() });
      if (reply.kind === 'notHeld') holds.lose(hold, 'it was gone when its lease was set (expired or deleted)');
      else holds.confirm(hold, Math.min(hold.leaseEnd, confirmedUntil(sentAt, remainingMs)));
    } finally {
      hold.endRelease();
      holds.tidy(hold);
    }
    return hold.grips.includes(grip);
  }

  /** Deletes the lock whoever holds it. @returns whether there was one */
  async force(): Promise<boolean> {
    const there = await this.driver.forceRelease(this.rawName, this.name);
    if (there) this.context.holds.loseAll(this.rawName, 'it was released by force by this client');
    return there;
  }

  /**
   * Gives back what this client does not know of: the thread never had it, or was told that it is lost, and Redis may have
   * it still. Redis is asked first, since a release says what it leaves, so that a repeat of it changes nothing.
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
    } finally {
      hold.endRelease();
      context.holds.tidy(hold);
    }
    if (!given) throw IllegalMonitorStateError.notOwner(context.clientId, threadId);
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
    if (acquired.holds !== undefined && acquired.holds < acquisition.count) {
      holds.lose(hold, 'a re-entry found it gone (expired or deleted)');
    }
    const grip: Grip = {
      leaseMs: demand.leaseMs,
      leaseEnd: demand.leaseMs === NO_LEASE ? Infinity : acquired.deadline,
      watchdogMs,
      maxRenewals: demand.maxRenewals ?? settings.maxRenewTimes,
      renewals: 0,
    };
    holds.grip(hold, grip, acquired.deadline);
    // A leftover of holds that this client was told lost: it is not this thread's any more.
    if (acquired.holds !== undefined && acquired.holds > hold.grips.length) {
      reclaimGrip(this.context, this.driver, hold, grip);
    }
    return grip;
  }
}

function patienceOf({ waitMs, signal }: Demand): Patience {
  const timed = waitMs > 0 && waitMs !== Infinity;
  if (!timed && signal === undefined) return ENDLESS_PATIENCE;
  return new Patience(timed ? performance.now() + waitMs : Infinity, signal);
}
