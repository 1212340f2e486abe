import type { AcquireOptions, LockOptions } from '../api';
import { ConfigError } from '../errors';
import { FIRST_AUTOMATIC_THREAD_ID, isAutomaticThreadId } from '../thread/threadScope';
import { isTimeUnit, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';

/** The thread and the signal a caller named. */
export interface Caller {
  readonly threadId: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const NOBODY: Caller = Object.freeze({ threadId: undefined, signal: undefined });

/**
 * Checks a caller's thread id.
 * @throws RangeError unless it is an integer from 0 to 2^32 - 1, or one that this process gave to a thread
 */
export function checkThreadId(threadId: unknown): number {
  if (typeof threadId === 'number' && Number.isInteger(threadId) && threadId >= 0) {
    if (threadId < FIRST_AUTOMATIC_THREAD_ID || isAutomaticThreadId(threadId)) return threadId;
  }
  throw new RangeError(`threadId must be an integer from 0 to 2^32 - 1, not ${String(threadId)}`);
}

/** By its looks: other realms (jsdom, vm) have an `AbortSignal` of their own. */
function isAbortSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>;
  return (
    [addEventListener, removeEventListener].every((one) => typeof one === 'function') && typeof aborted === 'boolean'
  );
}

/** Reads `options`: a thread id, or an object with `threadId` and `signal`. */
export function readCaller(options: LockOptions | AcquireOptions | undefined): Caller {
  if (options === undefined) return NOBODY;
  if (typeof options === 'number') return { threadId: checkThreadId(options), signal: undefined };
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError(`options must be a thread id or an object, not ${String(options)}`);
  }
  const { threadId, signal } = options;
  if (signal !== undefined && !isAbortSignal(signal)) {
    throw new ConfigError('options.signal must be an AbortSignal');
  }
  return { threadId: threadId === undefined ? undefined : checkThreadId(threadId), signal };
}

/** The arguments of `tryLock` in all its forms. */
export interface TryLockArguments {
  /** In ms; 0 = one attempt. */
  readonly waitMs: number;
  /** Whether a wait was given at all: without one a fair lock does not queue. */
  readonly waits: boolean;
  readonly leaseTime: number | undefined;
  readonly unit: TimeUnit | undefined;
  readonly options: LockOptions | undefined;
}

/** Reads `()`, `(options)`, `(waitTime, unit)`, `(waitTime, leaseTime?, unit?, options?)`. */
export function readTryLock(
  first: number | Exclude<LockOptions, number> | undefined,
  second: number | TimeUnit | undefined,
  unit: TimeUnit | undefined,
  options: LockOptions | undefined,
): TryLockArguments {
  if (first === undefined || typeof first === 'object') {
    return { waitMs: 0, waits: false, leaseTime: undefined, unit: undefined, options: first ?? options };
  }
  if (isTimeUnit(second)) {
    return { waitMs: toMillis(first, second, 'waitTime'), waits: true, leaseTime: undefined, unit: second, options };
  }
  return { waitMs: toMillis(first, unit, 'waitTime'), waits: true, leaseTime: second, unit, options };
}
