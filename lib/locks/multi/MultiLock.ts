import { ACQUIRE_OPTIONS } from '../../config/optionNames';
import type { AcquireOptions, LockHold, LockOptions, RunOptions, ThreadOptions, TryResult } from '../../api';
import { ConfigError, IllegalMonitorStateError, UnsupportedOperationError } from '../../errors';
import { isTraced } from '../../util/channels';
import { type AcquireTrace, HoldTrace, traceAcquire } from '../../telemetry/tracing';
import { describe } from '../../util/describe';
import { leaseMillis } from '../../util/duration';
import type { TimeUnit } from '../../util/TimeUnit';
import { checkThreadId, HandleThread, readCaller, readTryLock, threadForHold } from '../core/calls';
import { ALL, isHung, majorityOf, type Quorum, settleQuorum } from './quorum';
import { MultiAcquisition, type MultiRequest, type MultiFailure } from './MultiAcquisition';
import { acquireHold, tryAcquireHold, tryWithHold, withHold, type Work } from '../core/holdOperations';
import { isMemberLock, type InternalOptions, type MemberLock, type TakenHold } from '../core/MemberLock';
import { MultiHold } from './MultiHold';

/**
 * Several locks of any kinds and clients as one lock: all of them, or a majority. In Redis there are only its members.
 *
 * - Re-entrant like its members, and for the same thread: all members get the same thread id.
 * - Its members are acquired in the order of their servers and keys, whatever the order in which they were given. See
 *   {@link MultiAcquisition}.
 * - The lease of a hold begins for all members when the last one has been acquired.
 *
 * Source: `org.redisson.RedissonMultiLock`, `org.redisson.RedissonRedLock`.
 */
export class MultiLock implements MemberLock {
  readonly #members: readonly MemberLock[];
  readonly #quorum: Quorum;
  readonly #thread = new HandleThread();
  /** Threads that are acquiring it through this handle; each may do so only once at a time. */
  readonly #acquiring = new Set<number>();

  /**
   * @throws ConfigError without locks; for a value that is not a lock of this package; for a lock given twice. A
   *   multi-lock that gets a lock twice from one client is no error: it acquires that lock once
   */
  constructor(locks: readonly unknown[], quorum: Quorum) {
    if (locks.length === 0) throw new ConfigError('Lock objects are not defined');
    const members = locks.flatMap((lock) => {
      if (!isMemberLock(lock))
        throw new ConfigError(`A ${quorum.kind} is made of locks of this package, not of ${describe(lock)}`);
      // A multi-lock of all inside another one is replaced by its members, so that one order applies to all of them.
      return quorum === ALL && lock instanceof MultiLock && lock.#quorum === ALL ? lock.#members : [lock];
    });
    members.sort((a, b) => (a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0));
    this.#members = withoutRepeats(members, quorum);
    this.#quorum = quorum;
  }

  /** The names of its locks, for messages; it has no name of its own. */
  get name(): string {
    return this.#members.map(({ name }) => name).join(', ');
  }

  get sortKey(): string {
    return this.#members[0]!.sortKey;
  }

  get kind(): string {
    return this.#quorum.kind;
  }

  readonly client = undefined;

  get clientId(): string {
    return this.#members[0]!.clientId;
  }

  getName(): string {
    throw this.#unsupported('getName');
  }

  addListener(): Promise<number> {
    return Promise.reject(this.#unsupported('addListener'));
  }

  removeListener(): Promise<void> {
    return Promise.reject(this.#unsupported('removeListener'));
  }

  async lock(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<void> {
    await this.#take(leaseMillis(leaseTime, unit), Infinity, options);
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
    return (await this.#take(leaseMillis(call.leaseTime, call.unit), call.waitMs, call.options)) instanceof MultiHold;
  }

  async tryAcquire(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<number | null> {
    const taken = await this.#take(leaseMillis(leaseTime, unit), 0, options);
    if (taken instanceof MultiHold) return null;
    // If no member is busy, Redis did not reply.
    if (taken.member === undefined) return -1;
    // A member may have become free meanwhile, or may have no ttl (a multi-lock in a multi-lock).
    return Math.max(-1, await taken.member.remainTimeToLive().catch(() => -1));
  }

  async unlock(options?: LockOptions): Promise<void> {
    const { thread, around, given } = this.#thread.of(readCaller(options).threadId);
    // In a scope each member finds the thread that holds it.
    const whose = around === undefined || given ? { threadId: thread.id } : undefined;
    await settleQuorum(
      this.#members.map((lock) => lock.unlock(whose)),
      this.#needed,
      { isHung: (index) => isHung(this.#members[index]!) },
    );
  }

  async isHeldByCurrentThread(): Promise<boolean> {
    const { thread, around } = this.#thread.of(undefined);
    if (around === undefined) return this.isHeldByThread(thread.id);
    return majorityOf(
      this.#members.map((lock) => lock.isHeldByCurrentThread()),
      this.#needed,
    );
  }

  async isHeldByThread(threadId: number): Promise<boolean> {
    checkThreadId(threadId);
    return majorityOf(
      this.#members.map((lock) => lock.isHeldByThread(threadId)),
      this.#needed,
    );
  }

  forceUnlock(): Promise<boolean> {
    return Promise.reject(this.#unsupported('forceUnlock'));
  }

  isLocked(): Promise<boolean> {
    return Promise.reject(this.#unsupported('isLocked'));
  }

  getHoldCount(): Promise<number> {
    return Promise.reject(this.#unsupported('getHoldCount'));
  }

  remainTimeToLive(): Promise<number> {
    return Promise.reject(this.#unsupported('remainTimeToLive'));
  }

  acquire(options?: AcquireOptions): Promise<LockHold> {
    return acquireHold(this, options);
  }

  tryAcquireHold(options?: AcquireOptions): Promise<LockHold | null> {
    return tryAcquireHold(this, options);
  }

  withLock<T>(fn: Work<T>, options?: RunOptions): Promise<T> {
    return withHold(this, fn, options);
  }

  tryWithLock<T>(fn: Work<T>, options?: RunOptions): Promise<TryResult<T>> {
    return tryWithHold(this, fn, options);
  }

  async takeHold(
    waitMs: number,
    options: AcquireOptions | undefined,
    inner?: InternalOptions,
  ): Promise<TakenHold<MultiHold>> {
    const { threadId, signal } = readCaller(options, ACQUIRE_OPTIONS);
    const request = {
      call: inner?.call ?? threadForHold(threadId, false),
      leaseMs: leaseMillis(options?.leaseTime, options?.unit),
      waitMs: inner?.queues === false ? 0 : waitMs,
      signal,
      watchdogMs: inner?.watchdogMs,
      maxRenewTimes: options?.maxRenewTimes,
      watchdogThread: options?.watchdogThread,
    };
    const taken = await (inner?.member === true ? this.#acquireOnce(request) : this.#acquire(request));
    return taken instanceof MultiHold ? taken : taken.failure;
  }

  get #needed(): number {
    return this.#quorum.needed(this.#members.length);
  }

  #take(leaseMs: number, waitMs: number, options: LockOptions | undefined): Promise<MultiHold | MultiFailure> {
    const caller = readCaller(options);
    return this.#acquire({ call: this.#thread.of(caller.threadId), leaseMs, waitMs, signal: caller.signal });
  }

  /**
   * Traces the lock as a whole and not its members, which may be acquired and released several times.
   * @returns the hold, or why there is none
   */
  async #acquire(request: MultiRequest): Promise<MultiHold | MultiFailure> {
    if (!isTraced()) return this.#acquireOnce(request);
    const subject = {
      clientId: this.clientId,
      kind: this.#quorum.objectKind,
      name: this.name,
      threadId: request.call.thread.id,
      waitTime: Math.max(0, request.waitMs),
      leaseTime: request.leaseMs,
    };
    const take = (trace: AcquireTrace): Promise<MultiHold | MultiFailure> => this.#acquireOnce({ ...request, trace });
    const taken = await traceAcquire(subject, request.signal, take, (one) => one instanceof MultiHold);
    if (taken instanceof MultiHold) {
      const trace = HoldTrace.begin(subject, undefined);
      if (trace !== undefined) taken.onEnd(trace);
    }
    return taken;
  }

  async #acquireOnce(request: MultiRequest): Promise<MultiHold | MultiFailure> {
    const { call } = request;
    const threadId = call.thread.id;
    // For an `acquire` or `withLock` without a named thread, each member decides whether the call has to wait.
    const once = call.origin === 'plain' || call.given;
    if (once && this.#acquiring.has(threadId)) throw IllegalMonitorStateError.acquisitionPending(this.name, threadId);
    if (once) this.#acquiring.add(threadId);
    else call.since ??= performance.now();
    try {
      const acquired = await new MultiAcquisition(this.#members, this.#needed, request).run();
      return 'member' in acquired ? acquired : new MultiHold(this.name, threadId, acquired, this.#needed);
    } finally {
      if (once) this.#acquiring.delete(threadId);
    }
  }

  #unsupported(operation: string): UnsupportedOperationError {
    return new UnsupportedOperationError(this.#quorum.kind, operation, 'ask its locks');
  }
}

/**
 * Removes a lock that one client gave twice to a multi-lock; other repeats are refused. In a red lock, one server would
 * have two votes. With two clients, the second would wait for the first for ever.
 * @param members - in the agreed order
 */
function withoutRepeats(members: readonly MemberLock[], { kind }: Quorum): readonly MemberLock[] {
  const known = new Map<string, MemberLock>();
  return members.filter((lock) => {
    if (lock.client === undefined) return true;
    const key = `${lock.sortKey}\u0000${lock.kind}`;
    const same = known.get(key);
    known.set(key, same ?? lock);
    if (same === undefined) return true;
    if (kind === ALL.kind && same.client === lock.client) return false;
    throw new ConfigError(`A ${kind} cannot have the lock '${lock.name}' of one server twice: give each lock once`);
  });
}
