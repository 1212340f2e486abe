import type { AcquireOptions, LockHold as LockHoldApi, LockOptions, ThreadOptions } from '../api';
import { currentThreadId, newThreadId } from '../thread/threadScope';
import { leaseMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { checkThreadId, readCaller, readTryLock } from './callArguments';
import type { HandleThread } from './HandleThread';
import { acquireHold, tryAcquireHold, withHold } from './holdOperations';
import type { LockEngine, Taken } from './LockEngine';
import { LockHold } from './LockHold';
import type { InnerDemand, MemberLock, TakenHold } from './MemberLock';

/**
 * What the user holds: the `RLock` of every kind that has one key. It reads the thread and the options, once per call,
 * and leaves the rest to the {@link LockEngine}.
 *
 * Re-entrant for its thread; whoever else asks waits. What the kinds differ in is in their drivers.
 */
export class DistributedLock implements MemberLock {
  /** For the facades composed around this one. */
  readonly engine: LockEngine;
  /** For the facades composed around this one. */
  readonly thread: HandleThread;

  constructor(engine: LockEngine, thread: HandleThread) {
    this.engine = engine;
    this.thread = thread;
  }

  get name(): string {
    return this.engine.name;
  }

  get sortKey(): string {
    return this.engine.rawName;
  }

  getName(): string {
    return this.engine.name;
  }

  async lock(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    await this.take(leaseMillis(leaseTime, unit), Infinity, true, options);
  }

  lockInterruptibly(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    return this.lock(leaseTime, unit, options);
  }

  async tryLock(
    first?: number | ThreadOptions,
    second?: number | TimeUnit,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<boolean> {
    const call = readTryLock(first, second, unit, options);
    const leaseMs = leaseMillis(call.leaseTime, call.unit);
    return (await this.take(leaseMs, call.waitMs, call.waits, call.options)).ok;
  }

  async tryAcquire(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<number | null> {
    const taken = await this.take(leaseMillis(leaseTime, unit), 0, false, options);
    return taken.ok ? null : taken.ttl;
  }

  async unlock(options?: LockOptions): Promise<void> {
    await this.engine.give(this.thread.of(readCaller(options).threadId).threadId);
  }

  async forceUnlock(): Promise<boolean> {
    return this.engine.force();
  }

  async isLocked(): Promise<boolean> {
    const { driver, rawName, name } = this.engine;
    return driver.isLocked(rawName, name);
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    return (await this.getHoldCount()) > 0;
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    return (await this.#count(checkThreadId(threadId))) > 0;
  }

  async getHoldCount(): Promise<number> {
    return this.#count(this.thread.of(undefined).threadId);
  }

  async remainTimeToLive(): Promise<number> {
    const { driver, rawName, name } = this.engine;
    return driver.remainTimeToLive(rawName, name);
  }

  acquire(options?: AcquireOptions): Promise<LockHoldApi> {
    return acquireHold(this.name, options, (waitMs) => this.takeHold(waitMs, options));
  }

  tryAcquireHold(options?: AcquireOptions): Promise<LockHoldApi | null> {
    return tryAcquireHold(options, (waitMs) => this.takeHold(waitMs, options));
  }

  withLock<T>(fn: (hold: LockHoldApi) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    return withHold(fn, () => this.acquire(options));
  }

  /**
   * As `withLock`, with what only the package itself may ask for.
   * @param leaves - whether the lock is left to run out at the end
   */
  guard<T>(
    fn: () => T | PromiseLike<T>,
    options: AcquireOptions,
    { leaves, ...inner }: InnerDemand & { readonly leaves: boolean },
  ): Promise<T> {
    const acquire = (): Promise<LockHold> =>
      acquireHold(this.name, options, (waitMs) => this.takeHold(waitMs, options, inner));
    return withHold(fn, acquire, leaves ? (hold) => hold.leave() : undefined);
  }

  /** Takes the lock for the thread of this call. @param queues - `false`: a single attempt that queues nowhere */
  take(leaseMs: number, waitMs: number, queues: boolean, options: LockOptions | undefined): Promise<Taken> {
    const caller = readCaller(options);
    const { threadId, viaHandle } = this.thread.of(caller.threadId);
    return this.engine.take({ threadId, leaseMs, waitMs, queues, signal: caller.signal, viaHandle });
  }

  async takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InnerDemand,
  ): Promise<TakenHold<LockHold>> {
    const caller = readCaller(options);
    // Outside a scope each call is a thread of its own, so that requests may share a handle.
    const threadId = caller.threadId ?? currentThreadId() ?? newThreadId();
    const taken = await this.engine.take({
      threadId,
      leaseMs: leaseMillis(options?.leaseTime, options?.unit),
      waitMs,
      queues: waitMs > 0,
      signal: caller.signal,
      viaHandle: false,
      maxRenewals: readMaxRenewTimes(options),
      ...inner,
    });
    return taken.ok ? new LockHold(this.engine, threadId, taken.grip, taken.token) : taken.silence;
  }

  #count(threadId: number): Promise<number> {
    const { driver, rawName, name } = this.engine;
    return driver.holdCount(rawName, driver.ownerOf(threadId), name);
  }
}

function readMaxRenewTimes(options: AcquireOptions | undefined): number | undefined {
  const times = options?.maxRenewTimes;
  if (times === undefined || (Number.isInteger(times) && times >= 0)) return times;
  throw new RangeError(`maxRenewTimes must be a non-negative integer, not ${String(times)}`);
}
