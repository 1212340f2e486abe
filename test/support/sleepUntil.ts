import { monotonicNow, sleep } from '../../tools/realTimers';

/** How long, and for what, {@link sleepUntil} waits. */
export interface SleepUntilOptions {
  /** Gives up after so many milliseconds of real time. Default 5000. */
  readonly timeout?: number;
  /** Looks again after so many milliseconds. Default 5. */
  readonly interval?: number;
  /** Says in the error what never happened; a function is called then. */
  readonly message?: string | (() => string);
}

const realClock = { sleep, monotonicNow };

/** Waits until `condition` gives something truthy, which it resolves to; rejects past the time-out. */
export async function sleepUntil<T>(
  condition: () => T | PromiseLike<T>,
  options: SleepUntilOptions = {},
  clock = realClock,
): Promise<NonNullable<T>> {
  const { timeout = 5000, interval = 5, message = condition.toString() } = options;
  const deadline = clock.monotonicNow() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (clock.monotonicNow() >= deadline) {
      throw new Error(`not within ${timeout} ms: ${typeof message === 'string' ? message : message()}`);
    }
    await clock.sleep(interval);
  }
}

/**
 * A condition for {@link sleepUntil}: a time to live has risen since it was last asked for, so somebody has renewed it.
 */
export function risen(timeToLive: () => number | Promise<number>): () => Promise<boolean> {
  let last = Infinity;
  return async () => {
    const before = last;
    last = await timeToLive();
    return last > before;
  };
}
