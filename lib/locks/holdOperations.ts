import type { AcquireOptions, LockHold } from '../api';
import { LockTimeoutError } from '../errors';
import { runAsThread } from '../thread/threadScope';
import { toMillis } from '../util/duration';

/** Takes a lock once for the thread of the call. @returns `undefined` when the time was over */
type TakeHold = (waitMs: number) => Promise<LockHold | undefined>;

/** `acquire` of every lock. @throws LockTimeoutError when `options.waitTime` passes */
export async function acquireHold(
  name: string,
  options: AcquireOptions | undefined,
  take: TakeHold,
): Promise<LockHold> {
  const waitMs = options?.waitTime === undefined ? Infinity : toMillis(options.waitTime, options.unit, 'waitTime');
  const hold = await take(waitMs);
  if (hold === undefined) throw new LockTimeoutError(name, waitMs);
  return hold;
}

/** `tryAcquireHold` of every lock. */
export async function tryAcquireHold(options: AcquireOptions | undefined, take: TakeHold): Promise<LockHold | null> {
  return (
    (await take(options?.waitTime === undefined ? 0 : toMillis(options.waitTime, options.unit, 'waitTime'))) ?? null
  );
}

/** `withLock` of every lock: runs `fn` in the thread scope of the hold and gives the hold back, whatever happens. */
export async function withHold<T>(
  fn: (hold: LockHold) => T | PromiseLike<T>,
  acquire: () => Promise<LockHold>,
): Promise<T> {
  if (typeof fn !== 'function') throw new TypeError('withLock needs a function to run');
  const hold = await acquire();
  let result: T;
  try {
    result = await runAsThread(hold.threadId, () => fn(hold));
  } catch (error) {
    await hold.unlock().catch(() => undefined);
    throw error;
  }
  await hold.unlock();
  return result;
}
