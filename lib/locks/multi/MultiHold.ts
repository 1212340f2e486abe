import type { LockHold } from '../../api';
import { LockLostError, UnsupportedOperationError } from '../../errors';
import type { HoldEnd } from '../../telemetry/tracing';
import type { Scope } from '../../thread/threadScope';
import { holdLease } from '../../util/duration';
import type { TimeUnit } from '../../util/TimeUnit';
import { notHeld } from '../core/detach';
import type { MemberHold } from '../core/MemberLock';
import { settleQuorum } from './quorum';

/**
 * One hold of a multi-lock: the holds of its members. It is lost when too few of them are left.
 *
 * States: held -> released | lost, like every hold.
 */
export class MultiHold implements MemberHold {
  readonly name: string;
  readonly threadId: number;
  readonly #holds: readonly MemberHold[];
  readonly #needed: number;
  #controller: AbortController | undefined;
  #released: Promise<void> | undefined;

  /**
   * @param holds - the holds of the acquired members
   * @param needed - how many of them are needed to hold the lock
   */
  constructor(name: string, threadId: number, holds: readonly MemberHold[], needed: number) {
    this.name = name;
    this.threadId = threadId;
    this.#holds = holds;
    this.#needed = needed;
  }

  /** Listens to the members' signals once it has been read for the first time. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      for (const { signal } of this.#holds) {
        if (signal.aborted) this.#check(signal.reason);
        else signal.addEventListener('abort', () => this.#check(signal.reason), { once: true });
      }
    }
    return this.#controller.signal;
  }

  get isHeld(): boolean {
    return this.#released === undefined && this.#holds.filter((hold) => hold.isHeld).length >= this.#needed;
  }

  /** The time until too few members have their lease, in ms. */
  get remainingLeaseMs(): number {
    if (this.#released !== undefined) return 0;
    const leases = this.#holds.map((hold) => hold.remainingLeaseMs).sort((a, b) => b - a);
    return leases[this.#needed - 1] ?? 0;
  }

  unlock(): Promise<void> {
    this.#released ??= settleQuorum(
      this.#holds.map((hold) => hold.unlock()),
      this.#needed,
    );
    return this.#released;
  }

  async extend(leaseTime: number, unit?: TimeUnit): Promise<void> {
    const leaseMs = holdLease(leaseTime, unit);
    if (this.#released !== undefined) throw notHeld(this.name, this.threadId);
    if (!(await this.setLease(leaseMs))) throw this.#lostBy('too few of its locks are held');
  }

  detach(): Promise<string> {
    return Promise.reject(new UnsupportedOperationError('multi-lock', 'detach', 'detach the holds of its locks'));
  }

  async setLease(leaseMs: number): Promise<boolean> {
    const renewed = await Promise.allSettled(this.#holds.map((hold) => hold.setLease(leaseMs)));
    if (renewed.filter((one) => one.status === 'fulfilled' && one.value).length >= this.#needed) return true;
    const failed = renewed.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return false;
  }

  letExpire(leaseMs?: number): Promise<void> {
    this.#released ??= settleQuorum(
      this.#holds.map((hold) => hold.letExpire(leaseMs)),
      this.#needed,
    );
    return this.#released;
  }

  enter(section: Scope, whole: LockHold = this): void {
    for (const hold of this.#holds) hold.enter(section, whole);
  }

  leave(section: Scope): void {
    for (const hold of this.#holds) hold.leave(section);
  }

  isOf(name: string): boolean {
    return this.name === name || this.#holds.some((hold) => hold.isOf(name));
  }

  /** The hold ends when too few of its members are left, or when all of them have ended. */
  onEnd(end: HoldEnd): void {
    let open = this.#holds.length;
    let lost = 0;
    let error: unknown;
    const released = (failure?: unknown): void => {
      error ??= failure;
      if (--open === 0) end.released(error);
    };
    const member: HoldEnd = {
      released,
      lost: (cause) => {
        if (++lost > this.#holds.length - this.#needed) end.lost(this.#lostBy(cause));
        released();
      },
    };
    for (const hold of this.#holds) hold.onEnd(member);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(() => undefined);
  }

  #check(cause: unknown): void {
    const left = this.#holds.filter((hold) => !hold.signal.aborted).length;
    if (left >= this.#needed) return;
    this.#controller?.abort(this.#lostBy(cause));
  }

  #lostBy(cause: unknown): LockLostError {
    const why =
      cause instanceof LockLostError ? `too many of its locks are, the last one since ${cause.why}` : String(cause);
    return new LockLostError(this.name, this.threadId, why, { cause });
  }
}
