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
export async function acquireForRun(lock: RLock, wish: Wish, signal: AbortSignal): Promise<LockHold | undefined> {
  const startedAt = performance.now();
  for (;;) {
    const elapsed = performance.now() - startedAt;
    const waitTime = wish.wait === undefined ? undefined : Math.max(0, Math.ceil(wish.wait - elapsed));
    try {
      return await lock.acquire({ waitTime, leaseTime: wish.lease, signal });
    } catch (error) {
      if (error instanceof LockTimeoutError) {
        if (error.reason === 'held' || (error.reason === 'unanswered' && (await answers(lock)))) return undefined;
        throw new Failure(messageOf(error.cause), ExitCode.unavailable, { cause: error });
      }
      if (!isSlow(error) || performance.now() - startedAt > SLOW_START_MS) throw error;
    }
  }
}

/**
 * Gives the lock back at the end, or leaves it where it is to stay. It is then detached, and nobody gets the ticket: so
 * whoever looks at it can tell it from a lock whose process has died. A reader cannot leave it so, and gives it a lease
 * that ends then.
 *
 * @param staysUntil - monotonic time until which it stays
 * @throws LockLostError if it was lost; errors of the connection
 */
export async function leave(hold: LockHold, staysUntil: number): Promise<unknown> {
  const leaseTime = Math.ceil(staysUntil - performance.now());
  if (leaseTime <= 0 || !hold.isHeld) return hold.unlock();
  try {
    return await hold.detach({ leaseTime });
  } catch (error) {
    if (!(error instanceof UnsupportedOperationError)) throw error;
    return hold.extend(leaseTime);
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
