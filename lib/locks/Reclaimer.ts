import { newFarewellToken, type CallToken } from '../connection/CommandExecutor';
import { CommandError, ShutdownError } from '../errors';
import type { Hold } from '../renewal/Hold';
import type { HoldTable } from '../renewal/HoldTable';
import type { AttemptRequest, LockDriver } from './drivers/LockDriver';

/** First pause between two tries of an undo, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 2_000;

/** What an acquisition or a release may have left in Redis, or may still leave there, and nobody wants. */
export interface Ghost {
  readonly hold: Hold;
  readonly driver: LockDriver;
  /** Of the command that may have run, or may still run. */
  readonly token: CallToken;
  /** Whether there is such a command: the holds in Redis are in doubt. */
  readonly doubtful: boolean;
  /** The waiter that leaves a queue in Redis. */
  readonly waiter: AttemptRequest | undefined;
  /** How long Redis keeps such a hold by itself, in ms. */
  readonly leaseMs: number;
  /** How long Redis keeps such a waiter by itself, in ms; 0 without one. */
  readonly queuedMs: number;
}

/** What a try of an undo came to: Redis answered behind the ghost, or on another connection, or not at all. */
type Undone = 'surely' | 'probably' | 'unknown';

/**
 * Undoes, in the background, what a thread left behind without having it: takes a waiter off its queue, and sets holds
 * whose end nobody saw back to what the thread is known to have. The first try is written at once, behind the ghost on its
 * connection. If the ghost's connection broke, what was in its socket may still run later, so the undo is repeated until
 * Redis would have forgotten it by itself. While the thread has the lock, or asks for it, there is nothing to undo: its
 * count says what is right.
 */
export function reclaim(ghost: Ghost, holds: HoldTable): void {
  const { hold } = ghost;
  hold.ghosts++;
  void lay(ghost).finally(() => {
    hold.ghosts--;
    holds.tidy(hold);
  });
}

async function lay(ghost: Ghost): Promise<void> {
  if ((await undo(ghost)) !== 'surely') await repeat(ghost);
}

async function repeat(ghost: Ghost): Promise<void> {
  const startedAt = performance.now();
  let livesMs = Math.max(ghost.leaseMs, ghost.queuedMs);
  for (let ms = FIRST_PAUSE_MS; performance.now() < startedAt + livesMs; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    await pause(ms);
    if (ghost.hold.acquiring || ghost.hold.grips.length > 0) continue;
    const undone = await undo(ghost);
    if (undone === 'surely') return;
    // The waiter is off its queue: what may still come out of the broken socket is worth a lease, not a wait.
    if (undone === 'probably') livesMs = ghost.leaseMs;
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
    const behind = !ghost.scattered && tokens.every(({ epoch }) => epoch === ghost.epoch);
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
