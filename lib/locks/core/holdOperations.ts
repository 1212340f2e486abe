import type { AcquireOptions, LockHold, RunOptions, TryResult } from '../../api';
import { RUN_OPTIONS } from '../../config/optionNames';
import { LockTimeoutError } from '../../errors';
import { endSection, runInSection } from '../../thread/threadScope';
import { toMillis } from '../../util/duration';
import { readCaller, threadForHold } from './calls';
import type { InternalOptions, MemberHold, MemberLock } from './MemberLock';

/** What a decorated method adds to the options of its section. */
export interface SectionOptions extends InternalOptions {
  /** Whether the lock is left to expire at the end instead of being released. */
  readonly letsExpire?: boolean;
}

/** The work of a section. */
export type Work<T> = (hold: LockHold) => T | PromiseLike<T>;

/** `acquire` of every lock. @throws LockTimeoutError when `options.waitTime` passes */
export async function acquireHold(
  lock: MemberLock,
  options: AcquireOptions | undefined,
  inner?: InternalOptions,
): Promise<MemberHold> {
  const waitMs = waitMillis(options, Infinity);
  const hold = await lock.takeHold(waitMs, options, inner);
  if (hold === undefined) throw new LockTimeoutError(lock.name, waitMs);
  if (hold instanceof Error) throw new LockTimeoutError(lock.name, waitMs, { cause: hold });
  return hold;
}

/** `tryAcquireHold` of every lock. @returns `null` when not acquired in time */
export async function tryAcquireHold(
  lock: MemberLock,
  options: AcquireOptions | undefined,
  inner?: InternalOptions,
): Promise<MemberHold | null> {
  const hold = await lock.takeHold(waitMillis(options, 0), options, inner);
  return hold === undefined || hold instanceof Error ? null : hold;
}

/** `withLock` of every lock. */
export async function withHold<T>(
  lock: MemberLock,
  work: Work<T>,
  options: RunOptions | undefined,
  inner?: SectionOptions,
): Promise<T> {
  const result = await runInHold(acquireHold, lock, work, options, inner);
  return (result as { readonly value: T }).value;
}

/** `tryWithLock` of every lock. */
export function tryWithHold<T>(
  lock: MemberLock,
  work: Work<T>,
  options: RunOptions | undefined,
  inner?: SectionOptions,
): Promise<TryResult<T>> {
  return runInHold(tryAcquireHold, lock, work, options, inner);
}

/** Runs `work` in a section of its own, and ends the hold afterwards, whatever happens. */
async function runInHold<T>(
  acquire: typeof acquireHold | typeof tryAcquireHold,
  lock: MemberLock,
  work: Work<T>,
  options: RunOptions | undefined,
  inner: SectionOptions | undefined,
): Promise<TryResult<T>> {
  if (typeof work !== 'function') throw new TypeError('withLock needs a function to run');
  const call = threadForHold(readCaller(options, RUN_OPTIONS).threadId, true);
  const { atLeastMs, acquireOptions } = readRunOptions(options);
  const section = call.section!;
  let hold: MemberHold | null;
  let value: T;
  try {
    hold = await acquire(lock, acquireOptions, inner === undefined ? { call } : { ...inner, call });
  } catch (error) {
    endSection(section);
    throw error;
  }
  if (hold === null) {
    endSection(section);
    return { acquired: false };
  }
  const taken = hold;
  taken.enter(section);
  const staysUntil = atLeastMs === 0 ? 0 : performance.now() + atLeastMs;
  try {
    value = await runInSection(section, () => work(taken));
  } catch (error) {
    endSection(section);
    taken.leave(section);
    await end(taken, staysUntil, inner).catch(() => undefined);
    throw error;
  }
  endSection(section);
  taken.leave(section);
  await end(taken, staysUntil, inner);
  return { acquired: true, value };
}

/** @param staysUntil - monotonic time until which the lock stays; 0: it need not */
function end(hold: MemberHold, staysUntil: number, inner: SectionOptions | undefined): Promise<void> {
  const leaseMs = staysUntil === 0 ? 0 : Math.ceil(staysUntil - performance.now());
  const letsExpire = inner?.letsExpire === true;
  if (leaseMs > 0 && !(letsExpire && hold.remainingLeaseMs >= leaseMs)) return hold.letExpire(leaseMs);
  return letsExpire ? hold.letExpire() : hold.unlock();
}

function waitMillis(options: AcquireOptions | undefined, otherwise: number): number {
  return options?.waitTime === undefined ? otherwise : toMillis(options.waitTime, options.unit, 'waitTime');
}

/** @throws RangeError unless `atLeast` is a valid time that is not negative */
function readRunOptions(options: RunOptions | undefined): {
  readonly atLeastMs: number;
  readonly acquireOptions: AcquireOptions | undefined;
} {
  if (options?.atLeast === undefined) return { atLeastMs: 0, acquireOptions: options };
  const { atLeast, ...acquireOptions } = options;
  const atLeastMs = toMillis(atLeast, undefined, 'atLeast');
  if (atLeastMs < 0) throw new RangeError(`atLeast must not be negative, got ${atLeast}`);
  return { atLeastMs, acquireOptions };
}
