import { ACQUIRE_OPTIONS, RUN_OPTIONS } from '../config/optionNames';
import { watchdogThread } from '../config/parse/schema';
import type { WatchdogThreadOption } from '../config/Settings';
import { serverIdentity } from '../config/serverIdentity';
import type {
  AcquireOptions,
  LockHold as LockHoldApi,
  LockOptions,
  ObjectKind,
  ObjectListener,
  RunOptions,
  ThreadOptions,
  TryResult,
  RFencedLock,
  RReadWriteLock,
} from '../api';
import { NOTICE_MS } from '../scripts/shortenLease';
import { checkThreadId, HandleThread, newThread, type Scope, threadForHold } from '../thread/threadScope';
import { isTraced } from '../util/channels';
import { leaseMillis, NO_LEASE } from '../util/duration';
import { type Ticket, ticketOwnerId } from '../util/ticket';
import type { TimeUnit } from '../util/TimeUnit';
import { IllegalMonitorStateError, LockLostError, UnsupportedOperationError } from '../errors';
import { type AcquireResult, type LockEngine, readCaller, readTryLock } from './core/LockEngine';
import type { AcquireRequest } from './core/LockTarget';
import { holdToRelease, threadThatLetsIn, acquireInScope } from './core/acquireInScope';
import {
  acquireHold,
  acquireTraced,
  runInHold,
  tryAcquireHold,
  type SectionOptions,
  type TryLock,
  withHold,
  type Work,
  type InternalOptions,
  type MemberLock,
  type TakenHold,
} from './core/MemberLock';
import { watchForAbandonment } from '../watchdog/OwnershipTable';
import { LockHold, placeOf } from './LockHold';
import { readToken } from '../kinds/fenced';

/**
 * The `RLock` of every kind that has one key. It reads the thread and the options once per call; {@link LockEngine}
 * does the rest.
 *
 * Re-entrant for its thread; every other thread waits. The differences are in the kinds.
 */
export class Lock implements MemberLock {
  /** For wrappers of this lock. */
  readonly engine: LockEngine;
  /** For wrappers of this lock. */
  readonly thread: HandleThread;

  constructor(engine: LockEngine, thread: HandleThread) {
    this.engine = engine;
    this.thread = thread;
  }

  get name(): string {
    return this.engine.name;
  }

  get sortKey(): string {
    const { context, rawName, kind } = this.engine;
    const key = kind.values === undefined ? rawName : `${rawName}\u0000${kind.values.key}`;
    return `${serverIdentity(context.settings)}\u0000${key}`;
  }

  get kind(): ObjectKind {
    return this.engine.kind.name;
  }

  get client(): object {
    return this.engine.context;
  }

  get clientId(): string {
    return this.engine.context.clientId;
  }

  getName(): string {
    return this.engine.name;
  }

  addListener(listener: ObjectListener): Promise<number> {
    return this.engine.context.objectListeners.add(this.engine, listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.engine.context.objectListeners.remove(this.engine, listenerId);
  }

  // Not async, as `unlock`: it is on the hot path, and thousands may wait in it.
  lock(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    try {
      return this.take(leaseMillis(leaseTime, unit), Infinity, true, options).then(nothing);
    } catch (error) {
      return Promise.reject(error);
    }
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
    return (await this.take(call.leaseMs, call.waitMs, call.waits, call.options)).ok;
  }

  async tryAcquire(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<number | null> {
    const taken = await this.take(leaseMillis(leaseTime, unit), 0, false, options);
    return taken.ok ? null : taken.ttl;
  }

  unlock(options?: LockOptions): Promise<void> {
    try {
      const { thread, around, given } = this.thread.of(readCaller(options).threadId);
      if (around !== undefined && !given) return this.#releaseInScope(around);
      return this.engine.release(thread.id, undefined, around);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async forceUnlock(): Promise<boolean> {
    return this.engine.forceRelease();
  }

  async isLocked(): Promise<boolean> {
    return this.engine.kind.isLocked(this.engine);
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    return (await this.#ownCount()) > 0;
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    return (await this.#count(checkThreadId(threadId))) > 0;
  }

  async getHoldCount(): Promise<number> {
    this.#refuseForValues('getHoldCount');
    return this.#ownCount();
  }

  async remainTimeToLive(): Promise<number> {
    this.#refuseForValues('remainTimeToLive');
    return this.engine.kind.remainTimeToLive(this.engine);
  }

  acquire(options?: AcquireOptions): Promise<LockHoldApi> {
    return acquireHold(this, options);
  }

  tryAcquireHold(options?: AcquireOptions): Promise<LockHoldApi | null> {
    return tryAcquireHold(this, options);
  }

  withLock<T>(fn: Work<T>, options?: RunOptions): Promise<T> {
    return withHold(this, fn, options);
  }

  tryWithLock<T>(fn: Work<T>, options?: RunOptions): Promise<TryResult<T>> {
    return runInHold(tryAcquireHold, this, fn, options);
  }

  /** `withLock` and `tryWithLock` with options for this package only. */
  runDecorated<T>(
    fn: Work<T>,
    { skip, ...options }: RunOptions & { readonly skip?: boolean },
    inner: SectionOptions,
  ): Promise<TryResult<T>> {
    return runInHold(skip === true ? tryAcquireHold : acquireHold, this, fn, options, inner);
  }

  /**
   * Acquires the lock for the thread of this call.
   * @param leaseMs - in ms; -1 = the watchdog renews it
   * @param waitMs - in ms; `Infinity` = no limit; 0 or less: a single attempt
   * @param queues - `false`: a single attempt that joins no queue
   * @throws RangeError, ConfigError for bad `options`, synchronously; the promise rejects as {@link LockEngine.acquire}
   */
  take(leaseMs: number, waitMs: number, queues: boolean, options: LockOptions | undefined): Promise<AcquireResult> {
    const { threadId, signal } = readCaller(options);
    const call = this.thread.of(threadId);
    return this.#acquire({ thread: call.thread, call, leaseMs, waitMs, queues, signal });
  }

  async takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InternalOptions,
  ): Promise<TakenHold<LockHold>> {
    const { threadId, signal } = readCaller(options, inner?.call === undefined ? ACQUIRE_OPTIONS : RUN_OPTIONS);
    const call = inner?.call ?? threadForHold(threadId, false);
    const leaseMs = leaseMillis(options?.leaseTime, options?.unit);
    const { engine } = this;
    const maxRenewals = readMaxRenewTimes(options);
    const maxStallMs = readMaxStall(options?.watchdogThread, engine);
    const own = { thread: call.thread, call, leaseMs, waitMs, signal, maxRenewals, maxStallMs };
    const request: AcquireRequest = { queues: waitMs > 0, ...inner, ...own };
    const taken = await this.#acquire(request);
    if (!taken.ok) return taken.failure;
    const hold = new LockHold(engine, request.thread.id, taken.hold, taken.token);
    // A section always releases its own, and `lock()` of a multi-lock gives its caller no object. By the `threadId`
    // that the caller has named, `unlock()` of the lock reaches the hold for ever.
    const canBeDropped = call.origin === 'acquire' && !call.given;
    const ownership = canBeDropped ? engine.ownershipOf(request.thread.id) : undefined;
    if (ownership === undefined) return hold;
    const { scope } = taken.hold;
    return watchForAbandonment(hold, { client: engine.context, ownership, hold: taken.hold, scope });
  }

  #acquire(request: AcquireRequest): Promise<AcquireResult> {
    // A multi-lock traces its acquisition as a whole.
    if (request.member === true || !isTraced()) return this.#acquireUntold(request);
    const { engine } = this;
    // With the wait for a section of the thread.
    return acquireTraced(
      this,
      request,
      () => this.#acquireUntold(request),
      (taken) => (taken.ok ? new LockHold(engine, request.thread.id, taken.hold, taken.token) : undefined),
    );
  }

  #acquireUntold(request: AcquireRequest): Promise<AcquireResult> {
    const { around, given } = request.call;
    // Outside scopes, if the caller named it, and for `attach`, the thread is known.
    const isKnown = around === undefined || given || request.from !== undefined;
    return isKnown ? this.engine.acquire(request) : acquireInScope(this.engine, request);
  }

  /** `unlock()` in a scope: the holder is not always the scope's own thread. */
  async #releaseInScope(around: Scope): Promise<void> {
    const { engine } = this;
    for (;;) {
      const found = holdToRelease(engine, around);
      if (found === undefined) break;
      const { ownership, hold } = found;
      const turn = ownership.lane.turn('release');
      if (turn === undefined) return engine.release(ownership.threadId, hold);
      await turn;
    }
    const { id } = around.thread;
    // The remaining holds of its thread belong to a section beside the call, or were acquired in one.
    if (engine.ownershipOf(id)?.holds.some(({ expires }) => expires !== true) === true) {
      throw IllegalMonitorStateError.notOwner(engine.context.clientId, id, engine.name);
    }
    await engine.release(id);
  }

  #ownCount(): Promise<number> {
    const { thread, around } = this.thread.of(undefined);
    return this.#count((around && threadThatLetsIn(this.engine, around)) ?? thread.id);
  }

  /** @throws UnsupportedOperationError for a group lock, in which each value has its own count and lease */
  #refuseForValues(operation: string): void {
    if (this.engine.kind.values === undefined) return;
    throw new UnsupportedOperationError('group lock', operation, 'each of its values has its own');
  }

  async #count(threadId: number): Promise<number> {
    const { engine } = this;
    for (const ownership of engine.ownershipsOf(threadId)) {
      await ownership.lane.turn('count');
    }
    return engine.kind.holdCount(engine, engine.kind.ownerOf(threadId));
  }
}

function nothing(): void {}

/** @throws ConfigError if it is not an option of a thread, or the client cannot have one */
function readMaxStall(option: WatchdogThreadOption | undefined, { context }: LockEngine): number | undefined {
  if (option === undefined) return undefined;
  const settings = watchdogThread.parse(option, 'watchdogThread');
  if (settings === false) return 0;
  context.threadStarter.check();
  return settings.maxStall;
}

function readMaxRenewTimes(options: AcquireOptions | undefined): number | undefined {
  const times = options?.maxRenewTimes;
  if (times === undefined || (Number.isInteger(times) && times >= 0)) return times;
  throw new RangeError(`maxRenewTimes must be a non-negative integer, not ${String(times)}`);
}

/**
 * Takes over the hold that a ticket stands for, as a new thread.
 * @param leaseMs - in ms; {@link NO_LEASE}: the watchdog renews it
 * @throws LockLostError if the ticket was used, or its lease is over; as `acquire`
 */
export async function attach(lock: Lock, ticket: Ticket, leaseMs: number): Promise<LockHold> {
  const { kind, rawName, context, name } = lock.engine;
  const from = kind.ownerOf(0, ticketOwnerId(ticket, rawName));
  const call = { ...threadForHold(undefined, false), thread: newThread(threadToAttach(lock.engine, from)) };
  const newLease = leaseMs === NO_LEASE ? context.settings.lockWatchdogTimeout : leaseMs;
  // Waiters are notified of a lease that is much shorter than the one which they have seen.
  const shorter = ticket.leaseMs - newLease > NOTICE_MS;
  const options = { leaseTime: shorter ? ticket.leaseMs : leaseMs };
  const hold = await lock.takeHold(0, options, { call, queues: false, from });
  if (hold instanceof LockHold) {
    context.undoneAttach.delete(from);
    try {
      if (shorter) await hold.extend(leaseMs);
      return hold;
    } catch (error) {
      lock.engine.giveBack(hold.threadId, from, ticket.leaseMs);
      throw error;
    }
  }
  if (hold !== undefined) throw hold;
  const { servers } = placeOf(context.settings);
  const elsewhere = servers === ticket.servers ? '' : ', or it is of another server';
  throw new LockLostError(name, call.thread.id, `the ticket was used before, or its lease is over${elsewhere}`);
}

/**
 * The thread that takes up a ticket: that of a failed `attach` as long as it is being undone, because Redis may have
 * the lock under its name; the attempt waits for an undo under way. It finds the lock under either name.
 * @returns `undefined`: a new one
 */
function threadToAttach(engine: LockEngine, from: string): number | undefined {
  const threadId = engine.context.undoneAttach.get(from);
  const ownership = threadId === undefined ? undefined : engine.ownershipOf(threadId);
  return ownership === undefined || ownership.lane.claimed || ownership.holds.length > 0 ? undefined : threadId;
}

/**
 * Makes a lock of the fenced kind an `RFencedLock`: gives it the methods for its tokens.
 *
 * Redisson's `lockAndGetToken(lease)` ignores the lease, and its `tryLockAndGetToken()` waits; these do neither.
 */
export function withTokens(lock: Lock): RFencedLock {
  const tryLockAndGetToken: TryLock<bigint | null> = async (first, second, unit, options) => {
    const call = readTryLock(first, second, unit, options);
    const taken = await lock.take(call.leaseMs, call.waitMs, call.waits, call.options);
    return taken.ok ? taken.token! : null;
  };

  // A hold of this kind has a token: its script replies with it.
  return Object.assign(lock as Lock & Pick<RFencedLock, 'acquire' | 'tryAcquireHold' | 'withLock' | 'tryWithLock'>, {
    tryLockAndGetToken,

    async lockAndGetToken(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<bigint> {
      const taken = await lock.take(leaseMillis(leaseTime, unit), Infinity, true, options);
      // The wait has no limit and was not aborted, so the lock was acquired.
      return (taken as typeof taken & { readonly ok: true }).token!;
    },

    async getToken(): Promise<bigint> {
      const { kind, rawName, name } = lock.engine;
      return readToken(kind.executor, rawName, name);
    },
  });
}

/**
 * The read/write lock: two {@link Lock}s over one hash in Redis. They share one thread, so that the writer of this
 * handle may read through it, too, and keep reading after it has released the write lock (the downgrade).
 *
 * @param read - the engine of the read kind
 * @param write - the engine of the write kind, with the same name
 */
export function readWriteLock(read: LockEngine, write: LockEngine): RReadWriteLock {
  const thread = new HandleThread();
  const readLock = new Lock(read, thread);
  const writeLock = new Lock(write, thread);
  return {
    name: read.name,
    getName: () => read.name,
    addListener: (listener) => readLock.addListener(listener),
    removeListener: (listenerId) => readLock.removeListener(listenerId),
    readLock: () => readLock,
    writeLock: () => writeLock,
  };
}
