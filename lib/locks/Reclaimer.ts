import { newFarewellToken, type CallToken } from '../connection/CommandExecutor';
import type { Grip, Hold } from '../renewal/Hold';
import type { Leftover, LeftoverPlace, Search } from '../wait/Rollback';
import type { AttemptRequest, LockDriver } from './drivers/LockDriver';
import type { LockContext } from './LockContext';

/** So long (ms) a waiter is taken off its queue again and again, in case that a broken socket puts it there late. */
const LATE_WAITER_MS = 5_000;

/** What an acquisition or a release may have left in Redis, or may still leave there, and nobody wants. */
export interface Ghost {
  readonly hold: Hold;
  readonly driver: LockDriver;
  /** Of the command that may have run, or may still run; `undefined` where there is none: only its hold may be left. */
  readonly token: CallToken | undefined;
  /** Whether the holds in Redis are in doubt; otherwise there is but a waiter to be taken off its queue. */
  readonly doubtful: boolean;
  /** The waiter that leaves a queue in Redis. */
  readonly waiter: AttemptRequest | undefined;
  /** How long Redis keeps such a hold by itself, in ms. */
  readonly leaseMs: number;
  /** How long Redis keeps such a waiter by itself, in ms; 0 without one. */
  readonly queuedMs: number;
  /**
   * A predecessor is handing the lock over: whether it got there, in the end. The command is the predecessor's release, and
   * whether and when it is sent again is not for us to say; so it has to end first. It rejects when nobody knows.
   */
  readonly handOver?: Promise<boolean> | undefined;
}

/** What of a client is needed to undo something. */
export type UndoContext = Pick<LockContext, 'holds' | 'rollback'>;

/**
 * Undoes, in the background, what a thread left behind without having it: takes a waiter off its queue, and sets holds
 * whose end nobody saw back to what the thread is known to have. The first try is written at once, behind the ghost on its
 * connection, or when the hand-over has ended that is the ghost. If the ghost's connection broke, what was in its socket
 * may still run later, so the undo is repeated until Redis would have forgotten it by itself. While the thread has the
 * lock, or asks for it, there is nothing to undo: its count says what is right.
 */
export function reclaim(ghost: Ghost, { holds, rollback }: UndoContext): void {
  const { hold, handOver } = ghost;
  const leftover = new LockLeftover(ghost, holds);
  // Meanwhile the thread asks for nothing new: what is undone must not be that.
  hold.ghosts++;
  hold.beginRelease();
  const begin = (): void => {
    // Its connection is gone: nothing is behind it any more, so it can be looked for together with others.
    const later = handOver === undefined && leftover.isLost;
    rollback.add(leftover, !later);
    hold.endRelease();
    holds.tidy(hold);
  };
  if (handOver === undefined) return begin();
  void handOver
    .catch(() => true)
    .then((there) => {
      if (there) return begin();
      hold.endRelease();
      leftover.ended();
    });
}

/**
 * The same for an acquisition that has succeeded, but was written to a connection that broke as well: from there it may
 * run once more, and if that is after the hold was given back, it is nobody's.
 */
export function guard(ghost: Ghost, { holds, rollback }: UndoContext): void {
  ghost.hold.ghosts++;
  rollback.add(new LockLeftover(ghost, holds), false);
}

/** {@link reclaim} of a grip that was given back and may be there still. @param token - of the release, if there was one */
export function reclaimGrip(context: UndoContext, driver: LockDriver, hold: Hold, grip: Grip, token?: CallToken): void {
  context.holds.unseen(hold, grip);
  reclaimHold(context, driver, hold, Math.max(grip.leaseMs, grip.watchdogMs), token);
}

/** {@link reclaim} of a hold that Redis may have for so long, in ms. @param token - of its release, if there was one */
export function reclaimHold(
  context: UndoContext,
  driver: LockDriver,
  hold: Hold,
  leaseMs: number,
  token?: CallToken,
): void {
  // A release that was never run will not be either: only the hold is left, on whatever connection it is looked for.
  const sent = token?.sends === 0 ? undefined : token;
  reclaim({ hold, driver, token: sent, doubtful: true, waiter: undefined, leaseMs, queuedMs: 0 }, context);
}

/** A {@link Ghost} on its way out. */
class LockLeftover implements Leftover {
  livesMs: number;
  readonly #ghost: Ghost;
  readonly #holds: UndoContext['holds'];
  /** Whether the waiter, if there was one, is off its queue. */
  #left: boolean;

  constructor(ghost: Ghost, holds: UndoContext['holds']) {
    this.#ghost = ghost;
    this.#holds = holds;
    this.livesMs = Math.max(ghost.leaseMs, ghost.queuedMs);
    this.#left = ghost.waiter === undefined;
  }

  get hold(): Hold {
    return this.#ghost.hold;
  }

  get unwanted(): boolean {
    const { hold } = this.#ghost;
    return !hold.acquiring && hold.grips.length === 0;
  }

  get place(): LeftoverPlace {
    return { key: this.hold.rawName, member: this.hold.owner };
  }

  get search(): Search | undefined {
    return this.#left ? this.#ghost.driver.search : undefined;
  }

  /** Whether there is but a hold, which its thread does not have, and a command that went to a connection that is gone. */
  get isLost(): boolean {
    const { token, driver, hold, waiter } = this.#ghost;
    if (waiter !== undefined || hold.grips.length > 0 || token === undefined || token.sends === 0) return false;
    return token.scattered || token.epoch !== driver.executor.epoch;
  }

  async undo(): Promise<boolean> {
    const { hold, driver, token: ghost, doubtful, waiter } = this.#ghost;
    const commands: Promise<unknown>[] = [];
    const tokens: CallToken[] = [];
    const newToken = (): CallToken => {
      const token = newFarewellToken();
      tokens.push(token);
      return token;
    };
    hold.beginRelease();
    try {
      if (waiter !== undefined) commands.push(driver.abandon!(waiter, newToken()));
      if (doubtful) {
        const { name, rawName, threadId, owner } = hold;
        // With its lease: the ghost of a re-entry may have set a longer one.
        commands.push(driver.release({ name, rawName, threadId, owner, ...hold.rest(), token: newToken() }));
      }
      await Promise.all(commands);
    } finally {
      hold.endRelease();
      // Another try may follow, but nothing is being given back until then.
      this.#holds.tidy(hold);
    }
    const behind = ghost === undefined || (!ghost.scattered && tokens.every(({ epoch }) => epoch === ghost.epoch));
    if (!doubtful || behind) return true;
    // The waiter is off its queue: what may still come out of the broken socket is worth a lease, not a whole wait.
    const { leaseMs, queuedMs } = this.#ghost;
    this.livesMs = Math.max(leaseMs, Math.min(queuedMs, LATE_WAITER_MS));
    return false;
  }

  ended(): void {
    this.hold.ghosts--;
    this.#holds.tidy(this.hold);
  }
}
