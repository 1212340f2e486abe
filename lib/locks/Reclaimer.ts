import { setTimeout as pause } from 'node:timers/promises';
import { newCallToken, type CallToken } from '../connection/CommandExecutor';
import { ShutdownError } from '../errors';
import type { Hold } from '../renewal/Hold';
import type { HoldTable } from '../renewal/HoldTable';
import type { LockDriver } from './drivers/LockDriver';

/** First pause between two tries of an undo, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 2_000;

/** A command that may have taken, or may still take, a hold nobody wants. */
export interface Ghost {
  readonly hold: Hold;
  readonly driver: LockDriver;
  /** The lease it sets, in ms. */
  readonly leaseMs: number;
  readonly token: CallToken;
}

/**
 * Undoes, in the background, acquisitions and releases whose end nobody saw: sets the holds in Redis back to what the
 * thread is known to have. The first try is written at once, behind the ghost on its connection. If the ghost's
 * connection broke, what was in its socket may still run later, so the undo is repeated until the ghost's lease would
 * have passed; it stops early when the thread takes the lock again, whose count then says what is right.
 */
export function reclaim(ghost: Ghost, holds: HoldTable): void {
  const { hold } = ghost;
  const first = undo(ghost);
  hold.undoing = first;
  void first
    .then(async (certain) => {
      if (hold.undoing === first) hold.undoing = undefined;
      holds.tidy(hold);
      if (!certain) await repeat(ghost);
    })
    .catch(() => undefined);
}

async function repeat(ghost: Ghost): Promise<void> {
  const until = performance.now() + ghost.leaseMs;
  for (let ms = FIRST_PAUSE_MS; performance.now() < until; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    await pause(ms, undefined, { ref: false });
    if (ghost.hold.acquiring || ghost.hold.grips.length > 0) return;
    await undo(ghost);
  }
}

/** @returns whether the ghost is certainly gone: the undo ran behind it on the same connection */
async function undo({ hold, driver, token: ghost }: Ghost): Promise<boolean> {
  const token = newCallToken();
  try {
    await driver.release({
      name: hold.name,
      rawName: hold.rawName,
      threadId: hold.threadId,
      owner: hold.owner,
      left: hold.grips.length,
      remainingMs: 0,
      token,
    });
    return token.epoch === ghost.epoch;
  } catch (error) {
    return error instanceof ShutdownError;
  }
}
