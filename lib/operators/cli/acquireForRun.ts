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

/** How to acquire the lock. Times in ms. */
export interface Wish {
  /** How long to wait; `undefined` = without limit, 0 = one attempt. */
  readonly wait?: number | undefined;
  /** `undefined` = the watchdog keeps the lock. */
  readonly lease?: number;
}

/**
 * How long slow connects and answers are retried, in ms: a machine that starts many commands at once may need it. Not
 * those of a single attempt.
 */
const SLOW_START_MS = 15_000;

/**
 * Acquires the lock. In the beginning it retries if a connection is slow but not refused, or if an answer is late.
 *
 * @returns `undefined` if others held the lock for the whole wait
 * @throws the errors of the lock's `acquire`; a {@link Failure} if the wait ended without an answer from Redis
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
      if (wish.wait === 0 || !isSlow(error) || performance.now() - startedAt > SLOW_START_MS) throw error;
    }
  }
}

/**
 * Releases the lock at the end, or leaves it held for `--at-least`. To leave it, it detaches the lock and discards the
 * ticket: so an inspection can distinguish it from the lock of a dead process. A read lock cannot be detached; it gets
 * a lease for that time instead.
 *
 * @param staysUntil - monotonic time until which the lock stays held, in ms
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

/** Whether Redis may only be slow: nothing shows that it is gone. */
function isSlow(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.mayHaveRun && error.cause === undefined;
  return error instanceof CommandTimeoutError;
}
