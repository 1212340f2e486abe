import { newCleanupRecord, type SendRecord } from '../../connection/pending/CommandExecutor';
import type { Hold, Ownership } from '../../watchdog/Ownership';
import { LATE_MS, lateMs, type Leftover, type LeftoverPlace, type Search } from '../../wait/Rollback';
import type { AttemptRequest, LockKind } from '../kinds/LockKind';
import type { LockContext } from './LockContext';

/** How long the undo is repeated for a waiter that has left its queue, in ms: a broken socket may add it again late. */
const LATE_WAITER_MS = 5_000;

/** What an acquisition or a release may have left in Redis, or may still leave there, although no caller owns it. */
export interface UnwantedHold {
  readonly ownership: Ownership;
  readonly kind: LockKind;
  /**
   * The record of the command that may have run, or may still run; `undefined` if there is none: then only a hold may
   * be left.
   */
  readonly sendRecord: SendRecord | undefined;
  /** Whether the holds in Redis are in doubt; otherwise only a waiter has to be removed from its queue. */
  readonly doubtful: boolean;
  /** The waiter that leaves a queue in Redis. */
  readonly waiter: AttemptRequest | undefined;
  /** How long Redis keeps such a hold without an undo, in ms. */
  readonly leaseMs: number;
  /**
   * Whether it is what a release may have left: it was there before, so that its lease has begun.
   * @default false
   */
  readonly released?: boolean;
  /**
   * How long such a waiter may delay those behind it, in ms; 0 without a waiter. Its place stays in Redis until somebody
   * comes by: where Redis refuses the undo, it is tried for that time and a minute.
   */
  readonly queuedMs: number;
  /**
   * Set while a holder hands the lock over: resolves to whether the hand-over succeeded. Its command is the holder's
   * release, which the heir cannot cancel, so the rollback waits for its end. Rejects if the outcome is unknown.
   */
  readonly handOver?: Promise<boolean> | undefined;
}

/** The parts of a client that an undo needs. */
export type RollbackContext = Pick<LockContext, 'ownerships' | 'rollback'>;

/**
 * Undoes, in the background, what a thread left in Redis without owning it. It removes a waiter from its queue, and
 * sets the holds in Redis, which a command without a reply may have changed, back to those that the thread is known to
 * have. The first try is written at once, behind the command on its connection, or when the hand-over has ended. If
 * that connection broke, a command in its socket may still run later, so the undo is repeated for the lease and a minute
 * (`lateMs`). While the thread has, acquires or releases the lock, there is nothing to undo: its next command sets the
 * right number of holds.
 */
export function rollBack(unwanted: UnwantedHold, { ownerships, rollback }: RollbackContext): void {
  const { ownership, handOver } = unwanted;
  const leftover = new LockLeftover(unwanted, ownerships);
  // Until the undo is sent, the thread must not acquire: the undo would release the new hold.
  ownership.rollbacks++;
  ownership.beginRelease();
  const begin = (): void => {
    // Its connection is gone, so no command can be sent behind it: the rollback looks for it together with others.
    const later = handOver === undefined && leftover.isLost;
    rollback.add(leftover, !later);
    ownership.endRelease();
    ownerships.tidy(ownership);
  };
  if (handOver === undefined) return begin();
  void handOver
    .catch(() => true)
    .then((there) => {
      if (there) return begin();
      ownership.endRelease();
      leftover.ended();
    });
}

/**
 * {@link rollBack} for an acquisition that has succeeded, but was also written to a connection that broke. From there
 * it may run once more; if that is after the release, no caller owns the hold.
 */
export function rollBackLateRun(unwanted: UnwantedHold, { ownerships, rollback }: RollbackContext): void {
  unwanted.ownership.rollbacks++;
  rollback.add(new LockLeftover(unwanted, ownerships), false);
}

/**
 * {@link rollBack} for a hold that was released and may still be in Redis.
 * @param sendRecord - the record of the release, if there was one
 */
export function rollBackRelease(
  context: RollbackContext,
  kind: LockKind,
  ownership: Ownership,
  hold: Hold,
  sendRecord?: SendRecord,
): void {
  context.ownerships.mayRemain(ownership, hold);
  rollBackHold(context, kind, ownership, Math.max(hold.leaseMs, hold.watchdogMs), sendRecord);
}

/**
 * {@link rollBack} for a hold that was released, but no replica has confirmed that: a failover may bring it back.
 * @param sendRecord - the record of the release
 */
export function rollBackUnconfirmed(
  { ownerships, rollback }: RollbackContext,
  kind: LockKind,
  ownership: Ownership,
  hold: Hold,
  sendRecord: SendRecord,
): void {
  const leaseMs = Math.max(hold.leaseMs, hold.watchdogMs);
  // It must be looked for again and again: no command can be sent behind a failover.
  const record = { ...sendRecord, onManyConnections: true };
  const unwanted = { ownership, kind, sendRecord: record, doubtful: true, waiter: undefined, leaseMs, queuedMs: 0 };
  rollBackLateRun(unwanted, { ownerships, rollback });
}

/**
 * {@link rollBack} for a hold that Redis may have for `leaseMs`.
 * @param sendRecord - the record of its release, if there was one
 */
export function rollBackHold(
  context: RollbackContext,
  kind: LockKind,
  ownership: Ownership,
  leaseMs: number,
  sendRecord?: SendRecord,
): void {
  // A release that was never sent will not run later: only the hold is left, and the undo may use any connection.
  const sent = sendRecord?.sends === 0 ? undefined : sendRecord;
  const unwanted = { ownership, kind, sendRecord: sent, doubtful: true, waiter: undefined, leaseMs, queuedMs: 0 };
  rollBack({ ...unwanted, released: true }, context);
}

/** An {@link UnwantedHold} as the rollback sees it. */
class LockLeftover implements Leftover {
  readonly #unwantedHold: UnwantedHold;
  readonly #ownerships: RollbackContext['ownerships'];
  /** Whether there is no waiter to remove from its queue. */
  #offQueue: boolean;
  /** How long the waiter is taken off its queue, in ms. */
  #queuedMs: number;

  constructor(unwanted: UnwantedHold, ownerships: RollbackContext['ownerships']) {
    this.#unwantedHold = unwanted;
    this.#ownerships = ownerships;
    this.#offQueue = unwanted.waiter === undefined;
    this.#queuedMs = this.#offQueue ? 0 : unwanted.queuedMs + LATE_MS;
  }

  get livesMs(): number {
    const { leaseMs, released } = this.#unwantedHold;
    return Math.max(this.#elsewhere && released !== true ? lateMs(leaseMs) : leaseMs, this.#queuedMs);
  }

  get ownership(): Ownership {
    return this.#unwantedHold.ownership;
  }

  get unwanted(): boolean {
    const { ownership } = this.#unwantedHold;
    // A release under way still needs the hold: an undo before it would make that release find the lock gone.
    return !ownership.unsettled && !ownership.releasing && ownership.holds.length === 0;
  }

  get place(): LeftoverPlace {
    return { key: this.ownership.rawName, member: this.ownership.owner };
  }

  get search(): Search | undefined {
    return this.#offQueue ? this.#unwantedHold.kind.search : undefined;
  }

  /** Whether only a hold can be left, its thread has no hold, and its command was sent on a connection that is gone. */
  get isLost(): boolean {
    const { ownership, waiter } = this.#unwantedHold;
    return waiter === undefined && ownership.holds.length === 0 && this.#elsewhere;
  }

  /** Whether its command was sent on a connection that is gone. */
  get #elsewhere(): boolean {
    const { sendRecord, kind } = this.#unwantedHold;
    if (sendRecord === undefined || sendRecord.sends === 0) return false;
    return sendRecord.onManyConnections || sendRecord.connectionNumber !== kind.executor.connectionNumber;
  }

  async undo(): Promise<boolean> {
    const { ownership, kind, sendRecord: sent, doubtful, waiter } = this.#unwantedHold;
    const commands: Promise<unknown>[] = [];
    const sendRecords: SendRecord[] = [];
    const newRecord = (): SendRecord => {
      const sendRecord = newCleanupRecord();
      sendRecords.push(sendRecord);
      return sendRecord;
    };
    ownership.beginRelease();
    try {
      if (waiter !== undefined) commands.push(kind.abandon!(waiter, newRecord()));
      if (doubtful) {
        const { name, rawName, threadId, owner } = ownership;
        // Sets the lease as well: a late re-entry may have set a longer one.
        const rest = ownership.remainder();
        commands.push(kind.release({ name, rawName, threadId, owner, ownership, ...rest, sendRecord: newRecord() }));
      }
      await Promise.all(commands);
    } finally {
      ownership.endRelease();
      // Another try may follow, but until then no release is under way.
      this.#ownerships.tidy(ownership);
    }
    const behind =
      sent === undefined ||
      (!sent.onManyConnections &&
        sendRecords.every(({ connectionNumber }) => connectionNumber === sent.connectionNumber));
    if (!doubtful || behind) return true;
    // The waiter is off its queue now. What the broken socket may still add lives for a lease, not for a whole wait.
    this.#queuedMs = Math.min(this.#queuedMs, LATE_WAITER_MS);
    return false;
  }

  ended(): void {
    this.ownership.rollbacks--;
    this.#ownerships.tidy(this.ownership);
  }
}
