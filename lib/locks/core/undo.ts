import type { SendRecord } from '../../connection/pending/CommandExecutor';
import type { Ownership } from '../../watchdog/Ownership';
import { LATE_MS, type Leftover, type LeftoverPlace, type Search, type Why } from '../../acquire/Rollback';
import type { AttemptRequest, LockKind } from '../../kinds/LockKind';
import type { LockContext } from './LockContext';

/** How long the undo is repeated for a waiter that has left its queue, in ms: a broken socket may add it again late. */
const LATE_WAITER_MS = 5_000;

/** What an acquisition or a release may have left in Redis, or may still leave there, although no caller owns it. */
export interface UnwantedHold {
  readonly ownership: Ownership;
  readonly kind: LockKind;
  /** The record of the command that may have run, or may still run. Without one only a hold may be left. */
  readonly sent?: SendRecord | undefined;
  /** How long Redis keeps such a hold without an undo, in ms. */
  readonly leaseMs: number;
  /** The waiter that leaves a queue in Redis. */
  readonly waiter?: AttemptRequest | undefined;
  /** Whether only that waiter has to be removed, and no hold. @default false */
  readonly waiterOnly?: boolean;
  /**
   * How long such a waiter may delay those behind it, in ms. Its place stays in Redis until somebody comes by: where
   * Redis refuses the undo, it is tried for that time and a minute. @default 0
   */
  readonly queuedMs?: number;
  /**
   * Set while a holder hands the lock over: resolves to whether the hand-over succeeded. Its command is the holder's
   * release, which the heir cannot cancel, so the undo waits for its end. Rejects if the outcome is unknown.
   */
  readonly handOver?: Promise<boolean> | undefined;
}

/**
 * Undoes, in the background, what a thread left in Redis without owning it. It removes a waiter from its queue, and
 * sets the holds in Redis, which a command without a reply may have changed, back to those that the thread is known to
 * have. While the thread has, acquires or releases the lock, there is nothing to undo: its next command sets the right
 * number of holds. When and how often: see {@link Rollback}.
 */
export function undo(unwanted: UnwantedHold, why: Why, context: Pick<LockContext, 'ownerships' | 'rollback'>): void {
  const { ownership, handOver } = unwanted;
  const { ownerships, rollback } = context;
  const leftover = new LockLeftover(unwanted, ownerships);
  // Until the undo is sent, the thread must not acquire: the undo would release the new hold.
  ownership.rollbacks++;
  ownership.beginRelease();
  const begin = (): void => {
    rollback.undo(leftover, why);
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

/** An {@link UnwantedHold} as the rollback sees it. */
class LockLeftover implements Leftover {
  readonly sent: SendRecord | undefined;
  readonly leaseMs: number;
  atLeastMs: number;
  readonly #unwantedHold: UnwantedHold;
  readonly #ownerships: LockContext['ownerships'];

  constructor(unwanted: UnwantedHold, ownerships: LockContext['ownerships']) {
    this.#unwantedHold = unwanted;
    this.#ownerships = ownerships;
    this.sent = unwanted.sent;
    this.leaseMs = unwanted.leaseMs;
    this.atLeastMs = unwanted.waiter === undefined ? 0 : (unwanted.queuedMs ?? 0) + LATE_MS;
  }

  get unwanted(): boolean {
    const { ownership } = this.#unwantedHold;
    // A release under way still needs the hold: an undo before it would make that release find the lock gone.
    return !ownership.unsettled && !ownership.releasing && ownership.holds.length === 0;
  }

  /** A search finds holds. It does not find waiters, nor a hold too many. */
  get urgent(): boolean {
    const { ownership, waiter, handOver } = this.#unwantedHold;
    return waiter !== undefined || handOver !== undefined || ownership.holds.length > 0;
  }

  get place(): LeftoverPlace {
    const { rawName, owner } = this.#unwantedHold.ownership;
    return { key: rawName, member: owner };
  }

  get search(): Search | undefined {
    return this.#unwantedHold.waiter === undefined ? this.#unwantedHold.kind.search : undefined;
  }

  async undo(newRecord: () => SendRecord): Promise<boolean> {
    const { ownership, kind, waiter, waiterOnly = false } = this.#unwantedHold;
    const commands: Promise<unknown>[] = [];
    ownership.beginRelease();
    try {
      if (waiter !== undefined) commands.push(kind.abandon!(waiter, newRecord()));
      if (!waiterOnly) {
        const { name, rawName, threadId, owner } = ownership;
        // Sets the lease as well: a late re-entry may have set a longer one.
        const { left, remainingMs } = ownership.remainder();
        const sendRecord = newRecord();
        commands.push(kind.release({ name, rawName, threadId, owner, ownership, left, remainingMs, sendRecord }));
      }
      await Promise.all(commands);
    } finally {
      ownership.endRelease();
      // Another try may follow, but until then no release is under way.
      this.#ownerships.tidy(ownership);
    }
    // The waiter is off its queue now. What the broken socket may still add lives for a lease, not for a whole wait.
    this.atLeastMs = Math.min(this.atLeastMs, LATE_WAITER_MS);
    return waiterOnly;
  }

  ended(): void {
    const { ownership } = this.#unwantedHold;
    ownership.rollbacks--;
    this.#ownerships.tidy(ownership);
  }
}
