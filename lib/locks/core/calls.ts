import type { AcquireOptions, LockOptions, ThreadOptions } from '../../api';
import { describe } from '../../util/describe';
import { checkOptionNames, THREAD_OPTIONS } from '../../config/optionNames';
import {
  currentScope,
  FIRST_AUTOMATIC_THREAD_ID,
  isAutomaticThreadId,
  isBesideSection,
  type LogicalThread,
  newSection,
  newThread,
  type Scope,
  threadAround,
} from '../../thread/threadScope';
import { isTimeUnit, leaseMillis, NO_LEASE, toMillis } from '../../util/duration';
import type { TimeUnit } from '../../util/TimeUnit';
import type { AcquireTrace } from '../../telemetry/tracing';
import type { Origin } from '../../watchdog/Ownership';
import { checkSignal } from '../../acquire/WaitLimit';

/** The thread and the signal a caller named. */
export interface Caller {
  readonly threadId: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const NOBODY: Caller = Object.freeze({ threadId: undefined, signal: undefined });

/**
 * Checks a caller's thread id.
 * @throws RangeError unless it is an integer from 0 to 2^32 - 1, or the id of a thread of this process
 */
export function checkThreadId(threadId: unknown): number {
  if (typeof threadId === 'number' && Number.isInteger(threadId) && threadId >= 0) {
    if (threadId < FIRST_AUTOMATIC_THREAD_ID || isAutomaticThreadId(threadId)) return threadId;
  }
  throw new RangeError(
    `threadId must be an integer from 0 to 2^32 - 1, or the id of a thread of this process, not ${describe(threadId)}`,
  );
}

/**
 * Reads `options`: a thread id, or an object with `threadId` and `signal`.
 * @param known - the options that the call has
 * @throws RangeError for a bad thread id; ConfigError for an unknown option, and for anything else that is neither
 */
export function readCaller(options: LockOptions | AcquireOptions | undefined, known = THREAD_OPTIONS): Caller {
  if (options === undefined) return NOBODY;
  if (typeof options === 'number') return { threadId: checkThreadId(options), signal: undefined };
  checkOptionNames(options, known);
  const { threadId, signal } = options;
  checkSignal(signal);
  return { threadId: threadId === undefined ? undefined : checkThreadId(threadId), signal };
}

/** The arguments of `tryLock` in all its forms. */
export interface TryLockArguments {
  /** In ms; 0 = one attempt. */
  readonly waitMs: number;
  /** Whether a wait time was given, even 0: without one a fair lock does not queue. */
  readonly waits: boolean;
  /** In ms; -1 = the watchdog renews it. */
  readonly leaseMs: number;
  readonly options: LockOptions | undefined;
}

/**
 * Reads `()`, `(options)`, `(waitTime, unit)`, `(waitTime, leaseTime?, unit?, options?)`.
 * @throws RangeError, TypeError as `toMillis`
 */
export function readTryLock(
  first?: number | ThreadOptions,
  second?: number | TimeUnit,
  unit?: TimeUnit,
  options?: LockOptions,
): TryLockArguments {
  if (first === undefined || (typeof first === 'object' && first !== null)) {
    return { waitMs: 0, waits: false, leaseMs: NO_LEASE, options: first ?? options };
  }
  if (isTimeUnit(second)) {
    return { waitMs: toMillis(first, second, 'waitTime'), waits: true, leaseMs: NO_LEASE, options };
  }
  return { waitMs: toMillis(first, unit, 'waitTime'), waits: true, leaseMs: leaseMillis(second, unit), options };
}

/** The thread of one call. The facade determines it once and passes it down, also to the members of a multi-lock. */
export interface CallingThread {
  readonly origin: Origin;
  /** Whether the caller named the thread. Then no other rule applies. */
  readonly given: boolean;
  /** The scope around the call. */
  readonly around: Scope | undefined;
  /** The thread of the call, unless a hold of the lock decides otherwise (`chooseThread`). */
  readonly thread: LogicalThread;
  /** The section that it begins (`withLock` only). */
  readonly section: Scope | undefined;
  /** Whether {@link thread} is the handle's, because no other rule applied. */
  readonly viaHandle: boolean;
  /** A new thread for this call alone, made if it needs one. */
  spare: LogicalThread | undefined;
  /** For a multi-lock: monotonic time at which it began to wait for its members, one after the other. */
  since: number | undefined;
}

/** One request of a thread to acquire a lock. */
export interface AcquireRequest {
  threadId: number;
  /** The thread with that id, if `chooseThread` has chosen it. */
  thread?: LogicalThread | undefined;
  readonly call: CallingThread;
  /** In ms; -1 = the watchdog renews it. */
  readonly leaseMs: number;
  /** In ms; `Infinity` = no limit; 0 or less: a single attempt. */
  waitMs: number;
  /** `false`: a single attempt that joins no queue; a positive `waitMs` then limits the wait for its reply. */
  readonly queues: boolean;
  readonly signal: AbortSignal | undefined;
  /** Whether it is a member of a multi-lock. @default false */
  readonly member?: boolean | undefined;
  /** Whether a re-entry is suspicious: the thread is a handle's, or its hold was acquired by `acquire`. */
  viaHandle: boolean;
  /** Set while acquisitions have a telemetry subscriber. */
  trace?: AcquireTrace | undefined;
  /** @default the client's setting */
  readonly maxRenewals?: number | undefined;
  /** The lease that each renewal of the watchdog sets, in ms. @default the client's setting */
  readonly watchdogMs?: number | undefined;
  /** How long the watchdog thread renews it, see `Hold.maxStallMs`. @default the client's setting */
  readonly maxStallMs?: number | undefined;
  /** The owner from whom it is taken over (`attach`). @default it is acquired */
  readonly from?: string | undefined;
}

/**
 * The logical thread of a handle, and the rule for the thread of a `lock()` or `unlock()`: the given one, else that of
 * the scope of the call, else the handle's. The two halves of a read/write lock share one {@link HandleThread}.
 */
export class HandleThread {
  #own: CallingThread | undefined;

  /** The thread of a call that names `given`. */
  of(given: number | undefined): CallingThread {
    const around = currentScope();
    if (given !== undefined) return calling('plain', true, around, threadOf(around, given));
    if (around !== undefined) return calling('plain', false, around, around.thread);
    this.#own ??= calling('plain', false, undefined, newThread(), undefined, true);
    return this.#own;
  }
}

/**
 * The thread of an `acquire` or a `withLock`: the given one; else the scope's, unless that thread is in a section
 * beside the call; else a new one.
 * @param beginsSection - `withLock`: `endSection` must follow
 */
export function threadForHold(given: number | undefined, beginsSection: boolean): CallingThread {
  const around = currentScope();
  const thread =
    given !== undefined
      ? threadOf(around, given)
      : around === undefined || isBesideSection(around)
        ? newThread()
        : around.thread;
  const section = beginsSection ? newSection(thread, around) : undefined;
  return calling(section === undefined ? 'acquire' : 'section', given !== undefined, around, thread, section);
}

function calling(
  origin: Origin,
  given: boolean,
  around: Scope | undefined,
  thread: LogicalThread,
  section?: Scope,
  viaHandle = false,
): CallingThread {
  return { origin, given, around, thread, section, viaHandle, spare: undefined, since: undefined };
}

function threadOf(around: Scope | undefined, id: number): LogicalThread {
  return threadAround(around, id) ?? newThread(id);
}
