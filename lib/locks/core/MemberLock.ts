import type { AcquireOptions, LockHold, ObjectKind, RLock, RunOptions, TryResult } from '../../api';
import type { AcquireFailure } from '../../acquire/Acquisition';
import { type AcquireTrace, type HoldEnd, HoldTrace, traceAcquire } from '../../telemetry/tracing';
import { type CallingThread, endSection, runInSection, type Scope, threadForHold } from '../../thread/threadScope';
import { readCaller, type readTryLock } from './LockEngine';
import type { AcquireRequest } from './LockTarget';
import type { Hold } from '../../watchdog/Ownership';
import { RUN_OPTIONS } from '../../config/optionNames';
import { LockLostError, LockTimeoutError } from '../../errors';
import { atLeastMillis, toMillis } from '../../util/duration';
import { runAndEnd } from '../../util/timing';

/** Options for calls within this package only. */
export interface InternalOptions extends Partial<Pick<AcquireRequest, 'queues' | 'watchdogMs' | 'from' | 'member'>> {
  /** The calling thread, if the caller has determined it already, and checked the names of the options. */
  readonly call?: CallingThread;
}

/** What a multi-lock needs of its members. Every lock of this package implements it, including multi-locks. */
export interface MemberLock extends RLock {
  /** The members of a multi-lock are acquired in the order of this key: the server, then the key in Redis. */
  readonly sortKey: string;
  /** The kind of lock: locks of different kinds may have the same key. */
  readonly kind: ObjectKind;
  /** An object that identifies its client; `undefined` for a multi-lock, which may have several. */
  readonly client: object | undefined;
  /** The id of its client; for a multi-lock, that of its first member's client. */
  readonly clientId: string;
  /**
   * Like `tryAcquireHold`.
   * @param waitMs - in ms; `Infinity` without limit
   * @returns the hold; else `undefined` if another owner has it, or why it was not acquired
   */
  takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InternalOptions,
  ): Promise<TakenHold<MemberHold>>;
}

/** See {@link MemberLock.takeHold}. */
export type TakenHold<H extends LockHold> = H | AcquireFailure | undefined;

/** A hold of a member. */
export interface MemberHold extends LockHold {
  /**
   * Sets another lease, counted from now, with or without one before.
   * @param leaseMs - in ms
   * @returns whether it is still held
   */
  setLease(leaseMs: number): Promise<boolean>;
  /**
   * Leaves the hold to expire: it is neither renewed nor released, and its end is not reported as a loss. `unlock` then
   * does nothing.
   * @param leaseMs - how long it stays, in ms from now. @default the rest of its lease
   * @throws LockLostError if it was lost before; errors of the connection
   */
  letExpire(leaseMs?: number): Promise<void>;
  /** The multi-lock that it is a member of is acquired: it is its caller's from now on. */
  acquired(): void;
  /** A section begins under it. @param whole - the hold of the multi-lock that it is a part of. @default itself */
  enter(section: Scope, whole?: LockHold): void;
  /** That section has ended. */
  leave(section: Scope): void;
  /** Whether it is a hold of the lock of this name, or contains one. */
  isOf(name: string): boolean;
  /** Registers a callback object for its end. One of its methods is called, once. */
  onEnd(end: HoldEnd): void;
}

/** Whether a value is a lock of this package. */
export function isMemberLock(value: unknown): value is MemberLock {
  return typeof value === 'object' && value !== null && 'takeHold' in value && typeof value.takeHold === 'function';
}

/**
 * Publishes an acquisition and its hold to telemetry subscribers.
 * @param run - makes the acquisition that the request describes
 * @param holdOf - the hold of its result, if it was acquired
 */
export async function acquireTraced<T>(
  { clientId, kind, name }: MemberLock,
  request: Pick<AcquireRequest, 'thread' | 'waitMs' | 'leaseMs' | 'signal' | 'trace'>,
  run: () => Promise<T>,
  holdOf: (result: T) => MemberHold | undefined,
): Promise<T> {
  const { waitMs, leaseMs: leaseTime, signal } = request;
  const subject = { clientId, kind, name, threadId: request.thread.id, waitTime: Math.max(0, waitMs), leaseTime };
  const start = (trace: AcquireTrace): Promise<T> => {
    request.trace = trace;
    return run();
  };
  const isAcquired = (result: T): boolean => holdOf(result) !== undefined;
  const result = await traceAcquire(subject, signal, start, isAcquired, () => request.thread.id);
  const hold = holdOf(result);
  // Begun here and not where the hold is made: the trace of the hold belongs to the caller, not to the acquisition.
  const trace = hold && HoldTrace.begin({ ...subject, threadId: request.thread.id }, hold.token);
  if (trace !== undefined) hold!.onEnd(trace);
  return result;
}

/** What a decorated method adds to the options of its section. */
export interface SectionOptions extends InternalOptions {
  /** Whether the lock is left to expire at the end instead of being released. */
  readonly letsExpire?: boolean;
}

/** `tryLock` in all its forms. */
export type TryLock<T> = (...call: Parameters<typeof readTryLock>) => Promise<T>;

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
export async function withHold<T>(lock: MemberLock, work: Work<T>, options: RunOptions | undefined): Promise<T> {
  const result = await runInHold(acquireHold, lock, work, options);
  return (result as { readonly value: T }).value;
}

/**
 * `tryWithLock` of every lock: runs `work` in a section of its own, and ends the hold afterwards, whatever happens.
 * @param acquire - how the lock is acquired
 */
export async function runInHold<T>(
  acquire: typeof acquireHold | typeof tryAcquireHold,
  lock: MemberLock,
  work: Work<T>,
  options: RunOptions | undefined,
  inner?: SectionOptions,
): Promise<TryResult<T>> {
  if (typeof work !== 'function') throw new TypeError('withLock needs a function to run');
  const { threadId } = readCaller(options, RUN_OPTIONS);
  const atLeastMs = options?.atLeast === undefined ? 0 : atLeastMillis(options.atLeast, 'atLeast');
  // It begins the section, which ends below: nothing may throw in between.
  const call = threadForHold(threadId, true);
  const section = call.section!;
  let hold: MemberHold | null = null;
  try {
    hold = await acquire(lock, options, { ...inner, call });
  } finally {
    if (hold === null) endSection(section);
  }
  if (hold === null) return { acquired: false };
  const taken = hold;
  taken.enter(section);
  const staysUntil = atLeastMs === 0 ? 0 : performance.now() + atLeastMs;
  const value = await runAndEnd(
    () => runInSection(section, () => work(taken)),
    () => {
      endSection(section);
      taken.leave(section);
      return end(taken, staysUntil, inner);
    },
  );
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

/** The error of an operation on a hold that its owner has released or detached. */
export function notHeld(name: string, threadId: number, hold?: Hold): LockLostError {
  const detached = hold?.released === 'detached';
  const how = detached ? 'detached before, and belongs to whoever has its ticket' : 'released before';
  return new LockLostError(name, threadId, `this hold of it was ${how}`);
}
