import type { DetachOptions, LockHold as LockHoldApi } from '../api';
import { newSendRecord } from '../connection/pending/CommandExecutor';
import { IllegalMonitorStateError, LockLostError } from '../errors';
import type { HoldEnd } from '../telemetry/tracing';
import type { Scope } from '../thread/threadScope';
import { holdLease, NO_LEASE } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { mayHaveRun } from '../acquire/Rollback';
import { signalOf } from '../watchdog/holdObjects';
import { confirmedUntil, type Hold } from '../watchdog/Ownership';
import type { LockEngine } from './core/LockEngine';
import { detach, notHeld, readDetachLease } from './core/detach';
import type { MemberHold } from './core/MemberLock';

/**
 * One hold as an object: what `acquire` resolves to.
 *
 * States: held -> released | lost. The signal aborts only when the hold is lost.
 */
export class LockHold implements MemberHold {
  readonly name: string;
  readonly threadId: number;
  readonly token?: bigint;
  readonly #engine: LockEngine;
  readonly #hold: Hold;
  #released: Promise<void> | undefined;
  #detaching: Promise<string> | undefined;

  /** @param hold - the hold that this object releases */
  constructor(engine: LockEngine, threadId: number, hold: Hold, token: bigint | undefined) {
    this.name = engine.name;
    this.threadId = threadId;
    if (token !== undefined) this.token = token;
    this.#engine = engine;
    this.#hold = hold;
  }

  get signal(): AbortSignal {
    this.#engine.context.watchdog.catchUp();
    return signalOf(this.#hold);
  }

  get isHeld(): boolean {
    this.#engine.context.watchdog.catchUp();
    return this.#released === undefined && this.#lost === undefined && !this.#hold.released;
  }

  get #lost(): Error | undefined {
    return this.#hold.lost;
  }

  get remainingLeaseMs(): number {
    if (!this.isHeld) return 0;
    const hold = this.#hold;
    const ownership = this.#engine.ownershipOf(this.threadId);
    return Math.max(0, Math.min(ownership?.deadline ?? 0, hold.leaseEnd) - performance.now());
  }

  /**
   * Releases the hold, once; later calls share the outcome of the first. If it was lost, a hold that Redis may still
   * have is released in the background.
   * @throws LockLostError if it was lost before
   */
  unlock(): Promise<void> {
    this.#released ??= this.#unlockOnce();
    return this.#released;
  }

  async letExpire(leaseMs?: number): Promise<void> {
    const ownership = this.isHeld ? this.#engine.ownershipOf(this.threadId) : undefined;
    if (ownership === undefined) {
      if (this.#lost !== undefined) throw this.#lost;
      return;
    }
    const heldUntil = ownership.deadline;
    // First: from now on its end is no loss, however long Redis refuses the other lease.
    this.#engine.context.ownerships.letExpire(ownership, this.#hold);
    this.#released = Promise.resolve();
    if (leaseMs === undefined) return;
    const held = await setHoldLease(this.#engine, this.threadId, this.#hold, leaseMs);
    if (held || performance.now() >= heldUntil) return;
    throw new LockLostError(this.name, this.threadId, 'it was gone when its last lease was set (expired or deleted)');
  }

  async extend(leaseTime: number, unit?: TimeUnit): Promise<void> {
    if (await this.setLease(holdLease(leaseTime, unit))) return;
    throw this.#lost ?? notHeld(this.name, this.threadId);
  }

  async detach(options?: DetachOptions): Promise<string> {
    const leaseMs = readDetachLease(options, this.#engine.context.settings);
    this.#detaching = detach(this.#engine, this.threadId, this.#hold, leaseMs, () => this.setLease(leaseMs));
    return this.#detaching;
  }

  async setLease(leaseMs: number): Promise<boolean> {
    return this.isHeld && setHoldLease(this.#engine, this.threadId, this.#hold, leaseMs);
  }

  enter(section: Scope, whole: LockHoldApi = this): void {
    this.#engine.context.closing.entered(section, whole);
  }

  leave(section: Scope): void {
    this.#engine.context.closing.left(section);
  }

  isOf(name: string): boolean {
    return this.name === name;
  }

  onEnd(end: HoldEnd): void {
    if (this.#lost === undefined) this.#hold.trace = end;
    else end.lost(this.#lost);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(() => undefined);
  }

  async #unlockOnce(): Promise<void> {
    // After it there is nothing to release, unless it was refused.
    if (this.#detaching !== undefined) await this.#detaching.catch(() => undefined);
    this.#engine.context.watchdog.catchUp();
    if (this.#lost === undefined) await this.#release();
    else this.#engine.releaseLost(this.threadId, this.#hold);
    // It may have been lost while the release waited for a re-entry of its thread.
    if (this.#lost !== undefined) throw this.#lost;
  }

  async #release(): Promise<void> {
    try {
      await this.#engine.release(this.threadId, this.#hold);
    } catch (error) {
      // If the release found the lock gone, `#lost` is set by now.
      if (!(error instanceof IllegalMonitorStateError)) throw error;
      throw this.#lost ?? new LockLostError(this.name, this.threadId, 'the release found it gone', { cause: error });
    }
  }
}

/**
 * Sets another lease for a hold, counted from now, with or without one before.
 * @param leaseMs - in ms; {@link NO_LEASE}: the watchdog renews it from now on
 * @returns whether it is still held
 * @throws errors of the connection; if the command may have run, the lease is in doubt, and the shorter of the old and
 *   the new one counts
 */
export async function setHoldLease(lock: LockEngine, threadId: number, hold: Hold, leaseMs: number): Promise<boolean> {
  const { kind, name, rawName } = lock;
  const { ownerships } = lock.context;
  let ownership = lock.ownershipOf(threadId);
  while (ownership?.unsettled === true && ownership.holds.includes(hold)) {
    await ownership.whenIdle();
    ownership = lock.ownershipOf(threadId);
  }
  if (ownership?.holds.includes(hold) !== true) return false;
  const sentAt = performance.now();
  const { deadline } = ownership;
  const { leaseMs: leaseBefore, leaseEnd: endBefore } = hold;
  // Set before anything is sent: a renewal sent after the command would undo it.
  ownerships.setLease(ownership, hold, leaseMs, leaseMs === NO_LEASE ? Infinity : confirmedUntil(sentAt, leaseMs));
  if (leaseMs === NO_LEASE && (hold.maxStallMs ?? 0) > 0) lock.context.threadStarter.use();
  // A release that leaves all holds; like any other release, it must not be repeated after an acquisition.
  ownership.beginRelease();
  try {
    const remainingMs = Math.max(leaseMs, ownership.remainingMs(sentAt));
    const left = ownership.holds.length;
    const { owner } = ownership;
    const reply = await kind.release({
      name,
      rawName,
      threadId,
      owner,
      ownership,
      left,
      remainingMs,
      sendRecord: newSendRecord(),
    });
    if (reply.kind !== 'notHeld') {
      lock.keepLease(ownership);
      ownerships.confirm(ownership, Math.min(ownership.leaseEnd, confirmedUntil(sentAt, remainingMs)));
    } else {
      const why = 'it was gone when its lease was set (expired or deleted)';
      ownerships.lose([{ ownership, why, gone: reply.gone }]);
    }
  } catch (error) {
    if (!mayHaveRun(error) && ownership.holds.includes(hold)) {
      ownerships.setLease(ownership, hold, leaseBefore, endBefore);
      ownerships.confirm(ownership, deadline);
    }
    throw error;
  } finally {
    ownership.endRelease();
    ownerships.tidy(ownership);
  }
  return ownership.holds.includes(hold);
}
