import type { AcquireOptions, LockHold } from '../api';
import { CommandTimeoutError, LockTimeoutError } from '../errors';
import { runAsThread } from '../thread/threadScope';
import { toMillis } from '../util/duration';

/**
 * Takes a lock once for the thread of the call.
 * @returns when the time was over `undefined`, or the silence of Redis where it did not answer
 */
type TakeHold<H extends LockHold> = (waitMs: number) => Promise<H | CommandTimeoutError | undefined>;

/** `acquire` of every lock. @throws LockTimeoutError when `options.waitTime` passes */
export async function acquireHold<H extends LockHold>(
  name: string,
  options: AcquireOptions | undefined,
  take: TakeHold<H>,
): Promise<H> {
  const waitMs = options?.waitTime === undefined ? Infinity : toMillis(options.waitTime, options.unit, 'waitTime');
  const hold = await take(waitMs);
  if (hold === undefined) throw new LockTimeoutError(name, waitMs);
  if (hold instanceof CommandTimeoutError) throw new LockTimeoutError(name, waitMs, { cause: hold });
  return hold;
}

/** `tryAcquireHold` of every lock. */
export async function tryAcquireHold<H extends LockHold>(
  options: AcquireOptions | undefined,
  take: TakeHold<H>,
): Promise<H | null> {
  const waitMs = options?.waitTime === undefined ? 0 : toMillis(options.waitTime, options.unit, 'waitTime');
  const hold = await take(waitMs);
  return hold === undefined || hold instanceof CommandTimeoutError ? null : hold;
}

/**
 * `withLock` of every lock: runs `fn` in the thread scope of the hold and gives the hold back, whatever happens.
 * @param end - what becomes of the hold then. @default it is given back
 */
export async function withHold<T, H extends LockHold>(
  fn: (hold: H) => T | PromiseLike<T>,
  acquire: () => Promise<H>,
  end: (hold: H) => Promise<void> = (hold) => hold.unlock(),
): Promise<T> {
  if (typeof fn !== 'function') throw new TypeError('withLock needs a function to run');
  const hold = await acquire();
  let result: T;
  try {
    result = await runAsThread(hold.threadId, () => fn(hold));
  } catch (error) {
    await end(hold).catch(() => undefined);
    throw error;
  }
  await end(hold);
  return result;
}
