import type {
  AcquireOptions,
  LockHold,
  LockOptions,
  ObjectListener,
  RFencedLock,
  RunOptions,
  ThreadOptions,
  TryResult,
} from '../api';
import { leaseMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { readTryLock } from './core/calls';
import type { Work } from './core/holdOperations';
import type { Lock } from './Lock';
import { readToken } from './kinds/fenced';
import type { InternalOptions, MemberHold, MemberLock, TakenHold } from './core/MemberLock';

/**
 * The fenced lock: a {@link Lock} of the fenced kind, and its tokens.
 *
 * Redisson's `lockAndGetToken(lease)` ignores the lease, and its `tryLockAndGetToken()` waits; this class does neither.
 */
export class FencedLock implements RFencedLock, MemberLock {
  readonly #lock: Lock;

  /** @param lock - a lock of the fenced kind */
  constructor(lock: Lock) {
    this.#lock = lock;
  }

  get name(): string {
    return this.#lock.name;
  }

  get sortKey(): string {
    return this.#lock.sortKey;
  }

  get kind(): string {
    return this.#lock.kind;
  }

  get client(): object {
    return this.#lock.client;
  }

  get clientId(): string {
    return this.#lock.clientId;
  }

  getName(): string {
    return this.#lock.name;
  }

  addListener(listener: ObjectListener): Promise<number> {
    return this.#lock.addListener(listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.#lock.removeListener(listenerId);
  }

  async lockAndGetToken(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<bigint> {
    // The wait has no limit and was not aborted, so the lock was acquired.
    return (await this.#token(leaseMillis(leaseTime, unit), Infinity, true, options))!;
  }

  async tryLockAndGetToken(
    first?: number | ThreadOptions,
    second?: number | TimeUnit,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<bigint | null> {
    const call = readTryLock(first, second, unit, options);
    return this.#token(leaseMillis(call.leaseTime, call.unit), call.waitMs, call.waits, call.options);
  }

  async getToken(): Promise<bigint> {
    const { kind, rawName, name } = this.#lock.engine;
    return readToken(kind.executor, rawName, name);
  }

  lock(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    return this.#lock.lock(leaseTime, unit, options);
  }

  lockInterruptibly(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    return this.#lock.lock(leaseTime, unit, options);
  }

  tryLock(
    first?: number | ThreadOptions,
    second?: number | TimeUnit,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<boolean> {
    return this.#lock.tryLock(first, second, unit, options);
  }

  tryAcquire(leaseTime?: number, unit?: TimeUnit, options?: LockOptions): Promise<number | null> {
    return this.#lock.tryAcquire(leaseTime, unit, options);
  }

  unlock(options?: LockOptions): Promise<void> {
    return this.#lock.unlock(options);
  }

  forceUnlock(): Promise<boolean> {
    return this.#lock.forceUnlock();
  }

  isLocked(): Promise<boolean> {
    return this.#lock.isLocked();
  }

  isHeldByCurrentThread(): Promise<boolean> {
    return this.#lock.isHeldByCurrentThread();
  }

  isHeldByThread(threadId: number): Promise<boolean> {
    return this.#lock.isHeldByThread(threadId);
  }

  getHoldCount(): Promise<number> {
    return this.#lock.getHoldCount();
  }

  remainTimeToLive(): Promise<number> {
    return this.#lock.remainTimeToLive();
  }

  acquire(options?: AcquireOptions): Promise<LockHold> {
    return this.#lock.acquire(options);
  }

  tryAcquireHold(options?: AcquireOptions): Promise<LockHold | null> {
    return this.#lock.tryAcquireHold(options);
  }

  withLock<T>(fn: Work<T>, options?: RunOptions): Promise<T> {
    return this.#lock.withLock(fn, options);
  }

  tryWithLock<T>(fn: Work<T>, options?: RunOptions): Promise<TryResult<T>> {
    return this.#lock.tryWithLock(fn, options);
  }

  takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InternalOptions,
  ): Promise<TakenHold<MemberHold>> {
    return this.#lock.takeHold(waitMs, options, inner);
  }

  async #token(
    leaseMs: number,
    waitMs: number,
    queues: boolean,
    options: LockOptions | undefined,
  ): Promise<bigint | null> {
    const taken = await this.#lock.take(leaseMs, waitMs, queues, options);
    return taken.ok ? taken.token! : null;
  }
}
