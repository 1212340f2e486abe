import type { AcquireOptions, LockHold, RLock } from '../../api';
import type { AcquireFailure } from '../../acquire/Acquisition';
import type { HoldEnd } from '../../telemetry/tracing';
import type { Scope } from '../../thread/threadScope';
import type { AcquireRequest, CallingThread } from './calls';

/** Options for calls within this package only. */
export interface InternalOptions extends Partial<Pick<AcquireRequest, 'queues' | 'watchdogMs' | 'from'>> {
  /** The calling thread, if the caller has determined it already. */
  readonly call?: CallingThread;
  /** Whether the lock is acquired as a member of a multi-lock. */
  readonly member?: boolean;
}

/** What a multi-lock needs of its members. Every lock of this package implements it, including multi-locks. */
export interface MemberLock extends RLock {
  /** The members of a multi-lock are acquired in the order of this key: the server, then the key in Redis. */
  readonly sortKey: string;
  /** The kind of lock: locks of different kinds may have the same key. */
  readonly kind: string;
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
