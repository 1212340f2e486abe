import type { AcquireOptions, LockHold } from '../../api';
import { ACQUIRE_OPTIONS } from '../../config/optionNames';
import { CommandTimeoutError, LockTimeoutError } from '../../errors';
import { endSection, runInSection } from '../../thread/threadScope';
import { toMillis } from '../../util/duration';
import { type CallingThread, readCaller, threadForHold } from './calls';

/**
 * Acquires a lock once, for the thread of the call.
 * @returns the hold; else `undefined`, or the time-out error if Redis did not reply to the last attempt
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

/** `tryAcquireHold` of every lock. @returns `null` when not acquired in time */
export async function tryAcquireHold<H extends LockHold>(
  options: AcquireOptions | undefined,
  take: TakeHold<H>,
): Promise<H | null> {
  const waitMs = options?.waitTime === undefined ? 0 : toMillis(options.waitTime, options.unit, 'waitTime');
  const hold = await take(waitMs);
  return hold === undefined || hold instanceof CommandTimeoutError ? null : hold;
}

/**
 * `withLock` of every lock: runs `fn` in its own section and releases the hold afterwards, whatever happens.
 * @param acquire - acquires the lock for the given call
 * @param end - ends the hold afterwards. @default releases it
 */
export async function withHold<T, H extends LockHold>(
  fn: (hold: H) => T | PromiseLike<T>,
  options: AcquireOptions | undefined,
  acquire: (call: CallingThread) => Promise<H>,
  end: (hold: H) => Promise<void> = (hold) => hold.unlock(),
): Promise<T> {
  if (typeof fn !== 'function') throw new TypeError('withLock needs a function to run');
  const call = threadForHold(readCaller(options, ACQUIRE_OPTIONS).threadId, true);
  const section = call.section!;
  let hold: H;
  let result: T;
  try {
    hold = await acquire(call);
  } catch (error) {
    endSection(section);
    throw error;
  }
  try {
    result = await runInSection(section, () => fn(hold));
  } catch (error) {
    endSection(section);
    await end(hold).catch(() => undefined);
    throw error;
  }
  endSection(section);
  await end(hold);
  return result;
}
