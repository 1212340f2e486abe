import { serverIdentity } from '../config/serverIdentity';
import type { AcquireOptions, LockHold as LockHoldApi, LockOptions, ThreadOptions } from '../api';
import type { Scope } from '../thread/threadScope';
import { leaseMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { IllegalMonitorStateError } from '../errors';
import { checkThreadId, readCaller, readTryLock } from './callArguments';
import { gripToGiveBack, threadThatLetsIn } from './chooseThread';
import { threadForHold, type CallingThread, type HandleThread } from './HandleThread';
import { acquireHold, tryAcquireHold, withHold } from './holdOperations';
import type { Demand, Taken } from './Demand';
import type { LockEngine } from './LockEngine';
import { LockHold } from './LockHold';
import type { InnerDemand, MemberLock, TakenHold } from './MemberLock';
import { takeInTurn } from './takeInTurn';

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
    return `${serverIdentity(this.engine.context.settings)}\u0000${this.engine.rawName}`;
  }

  get kind(): string {
    return this.engine.driver.kind;
  }

  get client(): object {
    return this.engine.context;
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
    const { thread, around, given } = this.thread.of(readCaller(options).threadId);
    if (around === undefined || given) await this.engine.give(thread.id, undefined, around);
    else await this.#giveInScope(around);
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
    const { thread, around } = this.thread.of(undefined);
    return this.#count((around && threadThatLetsIn(this.engine, around)) ?? thread.id);
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
    return withHold(fn, options, (call) =>
      acquireHold(this.name, options, (waitMs) => this.takeHold(waitMs, options, { call })),
    );
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
    const acquire = (call: CallingThread): Promise<LockHold> =>
      acquireHold(this.name, options, (waitMs) => this.takeHold(waitMs, options, { ...inner, call }));
    return withHold(fn, options, acquire, leaves ? (hold) => hold.leave() : undefined);
  }

  /** Takes the lock for the thread of this call. @param queues - `false`: a single attempt that queues nowhere */
  take(leaseMs: number, waitMs: number, queues: boolean, options: LockOptions | undefined): Promise<Taken> {
    const { threadId, signal } = readCaller(options);
    const call = this.thread.of(threadId);
    return takeInTurn(this.engine, call, demandOf(call, leaseMs, waitMs, queues, signal));
  }

  async takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InnerDemand,
  ): Promise<TakenHold<LockHold>> {
    const { threadId, signal } = readCaller(options);
    const call = inner?.call ?? threadForHold(threadId, false);
    const leaseMs = leaseMillis(options?.leaseTime, options?.unit);
    const demand = demandOf(call, leaseMs, waitMs, inner?.queues ?? waitMs > 0, signal);
    demand.maxRenewals = readMaxRenewTimes(options);
    demand.watchdogMs = inner?.watchdogMs;
    const taken = await takeInTurn(this.engine, call, demand, inner?.member);
    return taken.ok ? new LockHold(this.engine, demand.threadId, taken.grip, taken.token) : taken.silence;
  }

  /** `unlock()` in a scope: its own thread is not always the one that has the lock. */
  async #giveInScope(around: Scope): Promise<void> {
    const { engine } = this;
    for (;;) {
      const found = gripToGiveBack(engine, around);
      if (found === undefined) break;
      const { hold, grip } = found;
      if (!hold.acquiring) return engine.give(hold.threadId, grip);
      await hold.whenIdle();
    }
    const { id } = around.thread;
    // What its thread has is a section's beside it, or was taken in there.
    if (engine.holdOf(id)?.grips.some(({ left }) => left !== true) === true) {
      throw IllegalMonitorStateError.notOwner(engine.context.clientId, id);
    }
    await engine.give(id);
  }

  #count(threadId: number): Promise<number> {
    const { driver, rawName, name } = this.engine;
    return driver.holdCount(rawName, driver.ownerOf(threadId), name);
  }
}

function demandOf(
  call: CallingThread,
  leaseMs: number,
  waitMs: number,
  queues: boolean,
  signal: AbortSignal | undefined,
): Demand {
  return {
    threadId: call.thread.id,
    thread: undefined,
    call,
    leaseMs,
    waitMs,
    queues,
    signal,
    viaHandle: call.viaHandle,
    maxRenewals: undefined,
    watchdogMs: undefined,
  };
}

function readMaxRenewTimes(options: AcquireOptions | undefined): number | undefined {
  const times = options?.maxRenewTimes;
  if (times === undefined || (Number.isInteger(times) && times >= 0)) return times;
  throw new RangeError(`maxRenewTimes must be a non-negative integer, not ${String(times)}`);
}
