import { newFarewellToken, type CallToken } from '../connection/CommandExecutor';
import { CommandError, ShutdownError } from '../errors';
import type { Hold } from '../renewal/Hold';
import type { HoldTable } from '../renewal/HoldTable';
import type { AttemptRequest, LockDriver } from './drivers/LockDriver';

/** First pause between two tries of an undo, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 2_000;
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

/** What a try of an undo came to: Redis answered behind the ghost, or on another connection, or not at all. */
type Undone = 'surely' | 'probably' | 'unknown';

/**
 * Undoes, in the background, what a thread left behind without having it: takes a waiter off its queue, and sets holds
 * whose end nobody saw back to what the thread is known to have. The first try is written at once, behind the ghost on its
 * connection, or when the hand-over has ended that is the ghost. If the ghost's connection broke, what was in its socket may still run later, so the undo is repeated until
 * Redis would have forgotten it by itself. While the thread has the lock, or asks for it, there is nothing to undo: its
 * count says what is right.
 */
export function reclaim(ghost: Ghost, holds: HoldTable): void {
  haunt(ghost.hold, holds, () => lay(ghost));
}

/**
 * The same for an acquisition that has succeeded, but was written to a connection that broke as well: from there it may
 * run once more, and if that is after the hold was given back, it is nobody's.
 */
export function guard(ghost: Ghost, holds: HoldTable): void {
  haunt(ghost.hold, holds, () => repeat(ghost));
}

function haunt(hold: Hold, holds: HoldTable, end: () => Promise<void>): void {
  hold.ghosts++;
  void end().finally(() => {
    hold.ghosts--;
    holds.tidy(hold);
  });
}

async function lay(ghost: Ghost): Promise<void> {
  const { hold, handOver } = ghost;
  // Meanwhile the thread asks for nothing new: what is undone must not be that.
  hold.beginRelease();
  let undone: Undone;
  try {
    const there = handOver === undefined || (await handOver.catch(() => true));
    undone = there ? await undo(ghost) : 'surely';
  } finally {
    hold.endRelease();
  }
  if (undone !== 'surely') await repeat(ghost);
}

async function repeat(ghost: Ghost): Promise<void> {
  const startedAt = performance.now();
  let livesMs = Math.max(ghost.leaseMs, ghost.queuedMs);
  for (let ms = FIRST_PAUSE_MS; performance.now() < startedAt + livesMs; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    await pause(ms);
    if (ghost.hold.acquiring || ghost.hold.grips.length > 0) continue;
    const undone = await undo(ghost);
    if (undone === 'surely') return;
    // The waiter is off its queue: what may still come out of the broken socket is worth a lease, not a whole wait.
    if (undone === 'probably') livesMs = Math.max(ghost.leaseMs, Math.min(ghost.queuedMs, LATE_WAITER_MS));
  }
}

async function undo({ hold, driver, token: ghost, doubtful, waiter }: Ghost): Promise<Undone> {
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
      const rest = hold.rest();
      commands.push(driver.release({ name, rawName, threadId, owner, ...rest, token: newToken() }));
    }
    await Promise.all(commands);
    const behind = ghost === undefined || (!ghost.scattered && tokens.every(({ epoch }) => epoch === ghost.epoch));
    return !doubtful || behind ? 'surely' : 'probably';
  } catch (error) {
    // Refused for good, or nobody is left to do it.
    return error instanceof ShutdownError || error instanceof CommandError ? 'surely' : 'unknown';
  } finally {
    hold.endRelease();
  }
}

/** It alone does not keep the process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
