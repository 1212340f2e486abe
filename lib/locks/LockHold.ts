import { endsUndo, mayHaveRun } from '../acquire/Rollback';
import type { DetachOptions, LockHold as LockHoldApi } from '../api';
import { checkOptionNames, LEASE_OPTIONS } from '../config/optionNames';
import { serverIdentity } from '../config/serverIdentity';
import type { Settings } from '../config/Settings';
import { IllegalMonitorStateError, LockLostError, UnsupportedOperationError } from '../errors';
import type { ReleaseReply } from '../scripts/replies';
import { NOTICE_MS } from '../scripts/shortenLease';
import type { HoldEnd } from '../telemetry/tracing';
import type { Scope } from '../thread/threadScope';
import { holdLease, NO_LEASE } from '../util/duration';
import { newSecret, shortHash, type Ticket, ticketOwnerId, ticketText } from '../util/ticket';
import type { TimeUnit } from '../util/TimeUnit';
import { signalOf } from '../watchdog/OwnershipTable';
import { type Hold, Ownership, ownershipKey } from '../watchdog/Ownership';
import type { LockEngine } from './core/LockEngine';
import { undo } from './core/LockTarget';
import { type MemberHold, notHeld } from './core/MemberLock';

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
    return this.#released === undefined && this.#hold.lost === undefined && this.#hold.released === false;
  }

  get #ownership(): Ownership | undefined {
    return this.#engine.ownershipOf(this.threadId);
  }

  get remainingLeaseMs(): number {
    if (!this.isHeld) return 0;
    const hold = this.#hold;
    return Math.max(0, Math.min(this.#ownership?.deadline ?? 0, hold.leaseEnd) - performance.now());
  }

  /**
   * Releases the hold, once; later calls share the outcome of the first. If it was lost, a hold that Redis may still
   * have is released in the background.
   * @throws LockLostError if it was lost before
   */
  unlock(): Promise<void> {
    return (this.#released ??= this.#unlockOnce());
  }

  async letExpire(leaseMs?: number): Promise<void> {
    const ownership = this.isHeld ? this.#ownership : undefined;
    if (ownership === undefined) {
      if (this.#hold.lost !== undefined) throw this.#hold.lost;
      return;
    }
    const heldUntil = ownership.deadline;
    // First: from now on the end of this hold is no loss, however long Redis refuses the other lease.
    this.#engine.context.ownerships.letExpire(ownership, this.#hold);
    this.#released = Promise.resolve();
    if (leaseMs === undefined) return;
    let gone = false;
    const held = await this.#engine.setLease(this.threadId, this.#hold, leaseMs, () => (gone = true));
    // Unless Redis says that it was gone, it may have ended before the answer came, as it should.
    if (held || performance.now() >= (gone ? heldUntil : Math.min(heldUntil, this.#hold.leaseEnd))) return;
    throw new LockLostError(this.name, this.threadId, 'it was gone when its last lease was set (expired or deleted)');
  }

  async extend(leaseTime: number, unit?: TimeUnit): Promise<void> {
    const leaseMs = holdLease(leaseTime, unit);
    // One that was given up is left to expire: its caller may still work.
    if (this.isHeld && (await this.setLease(leaseMs))) return;
    if (this.#hold.expires === true) throw this.#hold.lost ?? notHeld(this.name, this.threadId, this.#hold);
    // The lease before may have ended while the answer was on its way: then Redis has the new lease without a holder.
    void this[Symbol.asyncDispose]();
    throw this.#hold.lost ?? notHeld(this.name, this.threadId, this.#hold);
  }

  async detach(options?: DetachOptions): Promise<string> {
    const given = readHoldLease(options);
    const leaseMs = given === NO_LEASE ? this.#engine.context.settings.lockWatchdogTimeout : given;
    const hold = this.#hold;
    const { leaseMs: before, leaseEnd } = hold;
    this.#detaching = this.#detach(leaseMs).catch(async (error: unknown) => {
      // The hold stays with its caller, who did not ask for a shorter lease.
      const remainingMs = before === NO_LEASE ? before : Math.max(1, Math.ceil(leaseEnd - performance.now()));
      if (hold.leaseMs === before) throw error;
      await this.setLease(remainingMs).catch(() => undefined);
      // Where Redis has refused that, too, a renewal sets it.
      const ownership = this.isHeld && before === NO_LEASE ? this.#ownership : undefined;
      if (ownership !== undefined) {
        const { ownerships, watchdog } = this.#engine.context;
        ownerships.setLease(ownership, hold, before, leaseEnd);
        watchdog.renewNow();
      }
      throw error;
    });
    return this.#detaching;
  }

  async setLease(leaseMs: number): Promise<boolean> {
    return this.isHeld && this.#engine.setLease(this.threadId, this.#hold, leaseMs);
  }

  acquired(): void {
    this.#hold.reserved = false;
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
    if (this.#hold.lost === undefined) this.#hold.trace = end;
    else end.lost(this.#hold.lost);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(() => undefined);
  }

  /**
   * Changes the owner to one that no client has, and makes the ticket for it. The hold ends here, but the lock stays
   * held. If the outcome is unknown, both owners are undone: no caller has the hold any more.
   * @param leaseMs - that of the ticket
   */
  async #detach(leaseMs: number): Promise<string> {
    const { kind, name, rawName, context } = this.#engine;
    const { ownerships } = context;
    if (kind.move === undefined) {
      throw new UnsupportedOperationError(
        `${kind.name} lock`,
        'detach',
        'only a hold of one owner in one lock can move',
      );
    }
    const hold = this.#hold;
    let own: Ownership;
    for (let shortened = false; ; shortened = true) {
      for (let turn = this.#ownership?.lane.turn('alone'); turn !== undefined;) {
        await turn;
        turn = this.#ownership?.lane.turn('alone');
      }
      own = this.#checkDetachable();
      if (shortened || own.remainingMs(performance.now()) - leaseMs <= NOTICE_MS) break;
      // Waiters are notified of a shorter lease.
      await this.setLease(leaseMs);
    }
    // Nothing is awaited from here on: a call that the check has not seen would begin beside the command.
    const ticket: Ticket = { kind: kind.name, name, leaseMs, ...placeOf(context.settings), secret: newSecret() };
    const { deadline, owner } = own;
    const heir = kind.ownerOf(0, ticketOwnerId(ticket, rawName));
    await ownerships.end<ReleaseReply>(own, hold, {
      send: ({ sendRecord }) => kind.move!(own, owner, heir, leaseMs, sendRecord),
      failed: (error, { sendRecord: sent }) => {
        if (!mayHaveRun(error)) {
          hold.released = false;
          ownerships.add(own, hold, deadline);
        } else if (!endsUndo(error)) {
          for (const one of [own, new Ownership({ ...own, owner: heir, key: ownershipKey(rawName, heir) })]) {
            undo({ ownership: one, kind, sent, leaseMs }, 'doubtful', context);
          }
        }
      },
      answered: (reply) => {
        hold.released = reply.kind === 'handed' ? 'detached' : true;
        if (reply.kind === 'handed') return;
        const why = 'detach() found it gone (expired or deleted)';
        ownerships.lose([{ ownership: own, holds: [hold], why, how: 'released' }]);
        throw this.#hold.lost as Error;
      },
    });
    return ticketText(ticket);
  }

  /** @throws LockLostError if it is gone; IllegalMonitorStateError if it is not the one hold of its thread */
  #checkDetachable(): Ownership {
    const { name, threadId } = this;
    const lock = this.#engine;
    const hold = this.#hold;
    const ownership = this.#ownership;
    lock.context.watchdog.catchUp();
    if (hold.lost !== undefined) throw hold.lost;
    if (ownership?.holds.includes(hold) !== true || hold.expires === true) throw notHeld(name, threadId, hold);
    const others = lock.otherHalfOf(threadId);
    if (ownership.holds.length > 1 || ownership.lane.claimed || (others !== undefined && !others.unused)) {
      throw new IllegalMonitorStateError(
        `Lock '${name}': thread ${threadId} has other holds of it, or is acquiring one, and detach() would leave them ` +
          'without the lock. Release them first.',
        name,
      );
    }
    return ownership;
  }

  async #unlockOnce(): Promise<void> {
    const hold = this.#hold;
    // After it there is nothing to release, unless it was refused.
    if (this.#detaching !== undefined) await this.#detaching.catch(() => undefined);
    this.#engine.context.watchdog.catchUp();
    try {
      if (hold.lost === undefined) await this.#engine.release(this.threadId, hold);
      else this.#engine.releaseLost(this.threadId, hold);
    } catch (error) {
      // If the release found the lock gone, `lost` is set by now.
      if (!(error instanceof IllegalMonitorStateError)) throw error;
      throw hold.lost ?? new LockLostError(this.name, this.threadId, 'the release found it gone', { cause: error });
    }
    // It may have been lost while the release waited for a re-entry of its thread.
    if (hold.lost !== undefined) throw hold.lost;
  }
}

/** Where a ticket is valid. */
export function placeOf(settings: Settings): Pick<Ticket, 'database' | 'servers'> {
  const identity = serverIdentity(settings);
  return { database: identity.slice(identity.lastIndexOf('/') + 1), servers: shortHash(identity) };
}

/** The lease of options that have nothing else. @returns ms, or {@link NO_LEASE} */
export function readHoldLease(options: DetachOptions | undefined): number {
  if (options !== undefined) checkOptionNames(options, LEASE_OPTIONS);
  return options?.leaseTime === undefined ? NO_LEASE : holdLease(options.leaseTime, options.unit);
}
