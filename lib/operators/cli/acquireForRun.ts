import {
  CommandTimeoutError,
  ConnectionError,
  type LockHold,
  LockTimeoutError,
  type RLock,
  UnsupportedOperationError,
} from '../../index';
import { inTime } from '../doctor';
import { ExitCode, Failure, messageOf } from './exit';
import { CLEANUP_MS } from './output';

/** How the lock is wanted. Times in ms. */
export interface Wish {
  /** How long to wait; `undefined` = without limit, 0 = one attempt. */
  readonly wait?: number | undefined;
  /** `undefined` = the watchdog keeps the lock. */
  readonly lease?: number;
  /** It stays for so long at least, counted from when it was acquired. */
  readonly atLeast?: number;
}

/** The lock, while the command may run. */
export interface Held {
  readonly hold: LockHold;
  /** Ends it: gives the lock back, or leaves it to expire where it is to stay. Rejects with LockLostError where it was lost. */
  leave(): Promise<unknown>;
}

/** A machine that starts many commands at once is slow to connect for so long at most, in ms; then Redis is gone. */
const SLOW_START_MS = 15_000;

/**
 * Takes the lock. A connection that nobody refuses, but that is not there yet, or an answer that is late, is waited for
 * once more in the beginning.
 *
 * @returns `undefined` when somebody else has it for all of that time
 * @throws what the lock's `acquire` throws; a {@link Failure} when the time was over and Redis gave no answer in it
 */
export async function acquireForRun(lock: RLock, wish: Wish, signal: AbortSignal): Promise<Held | undefined> {
  const startedAt = performance.now();
  for (;;) {
    const elapsed = performance.now() - startedAt;
    const wait = wish.wait === undefined ? undefined : Math.max(0, Math.ceil(wish.wait - elapsed));
    try {
      return await acquireOnce(lock, { ...wish, wait }, signal);
    } catch (error) {
      if (!isSlow(error) || performance.now() - startedAt > SLOW_START_MS) throw error;
    }
  }
}

async function acquireOnce(
  lock: RLock,
  { wait, lease = -1, atLeast = 0 }: Wish,
  signal: AbortSignal,
): Promise<Held | undefined> {
  const options = { leaseTime: lease, atLeast, signal };
  if (wait === 0) return enter((work) => lock.tryWithLock(work, options), atLeast);
  try {
    const waiting = wait === undefined ? options : { ...options, waitTime: wait };
    return await enter((work) => lock.withLock(work, waiting), atLeast);
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    if (error.reason === 'held') return undefined;
    if (error.reason === 'unanswered' && (await answers(lock))) return undefined;
    throw new Failure(messageOf(error.cause), ExitCode.unavailable, { cause: error });
  }
}

/** Enters a section of the lock. @returns `undefined` where it ended without being entered */
function enter(
  section: (work: (hold: LockHold) => Promise<void>) => Promise<unknown>,
  atLeastMs: number,
): Promise<Held | undefined> {
  return new Promise((resolve, reject) => {
    const over = section((hold) => {
      const staysUntil = performance.now() + atLeastMs;
      return new Promise<void>((end) => {
        const leave = (): Promise<unknown> => {
          end(atLeastMs === 0 ? undefined : leaveBehind(hold, staysUntil));
          return over;
        };
        resolve({ hold, leave });
      });
    });
    over.then(() => resolve(undefined), reject);
  });
}

/**
 * This process is about to end, and the lock is to stay until then (monotonic). It is detached, and nobody gets the
 * ticket: so whoever looks at it can tell it from a lock whose process has died. A reader cannot leave it so, and leaves
 * it to expire at the end of its section.
 */
async function leaveBehind(hold: LockHold, staysUntil: number): Promise<void> {
  const leaseTime = Math.ceil(staysUntil - performance.now());
  if (leaseTime <= 0 || !hold.isHeld) return;
  try {
    await hold.detach({ leaseTime });
  } catch (error) {
    if (!(error instanceof UnsupportedOperationError)) throw error;
  }
}

/** Whether Redis answers at all: the wait may have been shorter than a new process needs to connect. */
async function answers(lock: RLock): Promise<boolean> {
  return (await inTime(lock.isLocked(), CLEANUP_MS).catch(() => undefined)) !== undefined;
}

/** Whether nothing says that Redis is not there, only that it takes its time. */
function isSlow(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.mayHaveRun && error.cause === undefined;
  return error instanceof CommandTimeoutError;
}
