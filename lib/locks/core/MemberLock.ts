import type { AcquireOptions, LockHold, RLock } from '../../api';
import type { CommandTimeoutError } from '../../errors';
import type { HoldEnd } from '../../telemetry/tracing';
import type { CallingThread } from './calls';
import type { AcquireRequest } from './LockEngine';

/** What only the package itself may ask for. */
export interface InternalOptions extends Partial<Pick<AcquireRequest, 'queues' | 'watchdogMs'>> {
  /** Whose call it is, where the caller has read that already. */
  readonly call?: CallingThread;
  /** Whether the lock is taken as a member of a multi-lock. */
  readonly member?: boolean;
}

/** What a multi-lock needs of the locks it is made of. Every lock of this package has it, multi-locks too. */
export interface MemberLock extends RLock {
  /** Its place in the order in which the members of a multi-lock are taken: the server, then the key in Redis. */
  readonly sortKey: string;
  /** Which kind of lock it is: locks of different kinds may have one key. */
  readonly kind: string;
  /** What stands for the client it belongs to; `undefined` for a lock of several clients. */
  readonly client: object | undefined;
  /** The id of that client, or of that of its first lock. */
  readonly clientId: string;
  /**
   * As `tryAcquireHold`.
   * @param waitMs - in ms; `Infinity` without limit
   * @returns the hold; else `undefined`, or the time-out error where Redis did not answer the last attempt
   */
  takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InternalOptions,
  ): Promise<TakenHold<MemberHold>>;
}

/** See {@link MemberLock.takeHold}. */
export type TakenHold<H extends LockHold> = H | CommandTimeoutError | undefined;

/** A hold of a member. */
export interface MemberHold extends LockHold {
  /**
   * Gives it another lease, counted from now, whatever it had.
   * @param leaseMs - in ms
   * @returns whether it is still held
   */
  setLease(leaseMs: number): Promise<boolean>;
  /** Tells of its end, once. */
  onEnd(end: HoldEnd): void;
}

/** Whether a value is a lock of this package. */
export function isMemberLock(value: unknown): value is MemberLock {
  return typeof value === 'object' && value !== null && 'takeHold' in value && typeof value.takeHold === 'function';
}
