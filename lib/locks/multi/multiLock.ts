import { ACQUIRE_OPTIONS, RUN_OPTIONS } from '../../config/optionNames';
import type { AcquireOptions, LockHold, LockOptions } from '../../api';
import { ConfigError, IllegalMonitorStateError, UnsupportedOperationError, LockLostError } from '../../errors';
import { isTraced } from '../../util/channels';
import type { HoldEnd } from '../../telemetry/tracing';
import { describe } from '../../util/describe';
import { leaseMillis, holdLease } from '../../util/duration';
import type { TimeUnit } from '../../util/TimeUnit';
import { readCaller, readTryLock } from '../core/LockEngine';
import { ALL, isHung, latecomerTime, majorityOf, type Quorum, settleQuorum } from './quorum';
import { MultiAcquisition, type MultiRequest, type MultiFailure } from './MultiAcquisition';
import {
  acquireHold,
  acquireTraced,
  runInHold,
  tryAcquireHold,
  withHold,
  isMemberLock,
  notHeld,
  type InternalOptions,
  type MemberLock,
  type TakenHold,
  type TryLock,
  type MemberHold,
} from '../core/MemberLock';
import { checkThreadId, HandleThread, type Scope, threadForHold } from '../../thread/threadScope';

/**
 * Several locks of any kinds and clients as one lock: all of them, or a majority. In Redis there are only its members.
 *
 * - Re-entrant like its members, and for the same thread: all members get the same thread id.
 * - Its members are acquired in the order of their servers and keys, whatever the order in which they were given. See
 *   {@link MultiAcquisition}.
 * - The lease of a hold begins for all members when the last one has been acquired.
 *
 * Source: `org.redisson.RedissonMultiLock`, `org.redisson.RedissonRedLock`.
 *
 * @param longestMs - see {@link MultiAcquisition}
 * @throws ConfigError without locks; for a value that is not a lock of this package; for a lock given twice. A
 *   multi-lock that gets a lock twice from one client is no error: it acquires that lock once
 */
export function multiLock(locks: readonly unknown[], quorum: Quorum, longestMs: number): MemberLock {
  const members = membersOf(locks, quorum);
  const [first] = members as [MemberLock];
  const needed = quorum.needed(members.length);
  /** The names of its locks, for messages; it has no name of its own. */
  const name = members.map((member) => member.name).join(', ');
  const ownThread = new HandleThread();
  /** Threads that are acquiring it through this handle; each may do so only once at a time. */
  const acquiring = new Set<number>();

  function take(leaseMs: number, waitMs: number, options: LockOptions | undefined): Promise<MultiHold | MultiFailure> {
    const { threadId, signal } = readCaller(options);
    const call = ownThread.of(threadId);
    return acquire({ call, thread: call.thread, leaseMs, waitMs, signal });
  }

  /**
   * Traces the lock as a whole and not its members, which may be acquired and released several times.
   * @returns the hold, or why it was not acquired
   */
  function acquire(request: MultiRequest): Promise<MultiHold | MultiFailure> {
    if (!isTraced()) return acquireOnce(request);
    const holdOf = (taken: MultiHold | MultiFailure): MultiHold | undefined =>
      taken instanceof MultiHold ? taken : undefined;
    return acquireTraced(whole, request, () => acquireOnce(request), holdOf);
  }

  async function acquireOnce(request: MultiRequest): Promise<MultiHold | MultiFailure> {
    const { call } = request;
    const { id: threadId } = request.thread;
    // For an `acquire` or `withLock` without a named thread, each member decides whether the call has to wait.
    const once = call.origin === 'plain' || call.given;
    if (once && acquiring.has(threadId)) throw IllegalMonitorStateError.acquisitionPending(name, threadId);
    if (once) acquiring.add(threadId);
    else call.since ??= performance.now();
    try {
      const acquired = await new MultiAcquisition(members, needed, request, longestMs).run();
      if ('member' in acquired) return acquired;
      const hold = new MultiHold(name, threadId, acquired, needed);
      if (request.member !== true) hold.acquired();
      return hold;
    } finally {
      if (once) acquiring.delete(threadId);
    }
  }

  /** Whether enough members pass a check. */
  const most = (isSo: (lock: MemberLock) => Promise<boolean>): Promise<boolean> =>
    majorityOf(members.map(isSo), needed);

  const tryLock: TryLock<boolean> = async (waitTime, second, unit, options) => {
    const call = readTryLock(waitTime, second, unit, options);
    return (await take(call.leaseMs, call.waitMs, call.options)) instanceof MultiHold;
  };

  const unsupported = (operation: string): UnsupportedOperationError =>
    new UnsupportedOperationError(quorum.kind, operation, 'ask its locks');
  const refuse = (operation: string): Promise<never> => Promise.reject(unsupported(operation));

  const whole: MemberLock = {
    name,
    sortKey: first.sortKey,
    kind: quorum.objectKind,
    tryLock,
    client: undefined,
    clientId: first.clientId,
    getName: () => {
      throw unsupported('getName');
    },
    addListener: () => refuse('addListener'),
    removeListener: () => refuse('removeListener'),
    forceUnlock: () => refuse('forceUnlock'),
    isLocked: () => refuse('isLocked'),
    getHoldCount: () => refuse('getHoldCount'),
    remainTimeToLive: () => refuse('remainTimeToLive'),
    acquire: (options) => acquireHold(whole, options),
    tryAcquireHold: (options) => tryAcquireHold(whole, options),
    withLock: (fn, options) => withHold(whole, fn, options),
    tryWithLock: (fn, options) => runInHold(tryAcquireHold, whole, fn, options),
    lockInterruptibly: (leaseTime, unit, options) => whole.lock(leaseTime, unit, options),

    async lock(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<void> {
      await take(leaseMillis(leaseTime, unit), Infinity, options);
    },

    async tryAcquire(leaseTime = -1, unit?: TimeUnit, options?: LockOptions): Promise<number | null> {
      const taken = await take(leaseMillis(leaseTime, unit), 0, options);
      if (taken instanceof MultiHold) return null;
      // If no member is busy, Redis did not reply.
      if (taken.member === undefined) return -1;
      // A member may have become free meanwhile, or may have no ttl (a multi-lock in a multi-lock).
      return Math.max(-1, await taken.member.remainTimeToLive().catch(() => -1));
    },

    async unlock(options?: LockOptions): Promise<void> {
      const { thread, around, given } = ownThread.of(readCaller(options).threadId);
      // In a scope each member finds the thread that holds it.
      const whose = around === undefined || given ? { threadId: thread.id } : undefined;
      await settleQuorum(
        members.map((lock) => lock.unlock(whose)),
        needed,
        (index) => isHung(members[index]!),
      );
    },

    async isHeldByCurrentThread(): Promise<boolean> {
      const { thread, around } = ownThread.of(undefined);
      return around === undefined ? this.isHeldByThread(thread.id) : most((lock) => lock.isHeldByCurrentThread());
    },

    async isHeldByThread(threadId: number): Promise<boolean> {
      checkThreadId(threadId);
      return most((lock) => lock.isHeldByThread(threadId));
    },

    async takeHold(
      waitMs: number,
      options: AcquireOptions | undefined,
      inner?: InternalOptions,
    ): Promise<TakenHold<MultiHold>> {
      const { threadId, signal } = readCaller(options, inner?.call === undefined ? ACQUIRE_OPTIONS : RUN_OPTIONS);
      const call = inner?.call ?? threadForHold(threadId, false);
      const request = {
        call,
        thread: call.thread,
        leaseMs: leaseMillis(options?.leaseTime, options?.unit),
        waitMs,
        once: inner?.queues === false,
        member: inner?.member,
        signal,
        watchdogMs: inner?.watchdogMs,
        maxRenewTimes: options?.maxRenewTimes,
        watchdogThread: options?.watchdogThread,
      };
      const taken = await (request.member === true ? acquireOnce(request) : acquire(request));
      return taken instanceof MultiHold ? taken : taken.failure;
    },
  };
  if (quorum === ALL) membersOfAll.set(whole, members);
  return whole;
}

/** The members of multi-locks that need all of them. */
const membersOfAll = new WeakMap<MemberLock, readonly MemberLock[]>();

/** The members in the agreed order. */
function membersOf(locks: readonly unknown[], quorum: Quorum): readonly MemberLock[] {
  if (locks.length === 0) throw new ConfigError('Lock objects are not defined');
  const members = locks.flatMap((lock) => {
    if (!isMemberLock(lock))
      throw new ConfigError(`A ${quorum.kind} is made of locks of this package, not of ${describe(lock)}`);
    // A multi-lock of all inside another one is replaced by its members, so that one order applies to all of them.
    return (quorum === ALL ? membersOfAll.get(lock) : undefined) ?? [lock];
  });
  members.sort((a, b) => (a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0));
  return withoutRepeats(members, quorum);
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
  #signal: AbortSignal | undefined;
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

  get signal(): AbortSignal {
    const parts = this.#signal === undefined ? this.#holds.map(({ signal }) => signal) : [];
    return (this.#signal ??= signalOf(this.name, this.threadId, parts, this.#needed));
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
    return this.#endOnce((hold) => hold.unlock());
  }

  async extend(leaseTime: number, unit?: TimeUnit): Promise<void> {
    const leaseMs = holdLease(leaseTime, unit);
    if (this.#released !== undefined) throw notHeld(this.name, this.threadId);
    const held = this.isHeld;
    if (held && (await this.setLease(leaseMs))) return;
    // What was given up is left to expire: its caller may still work. The others have the new lease, and may even be
    // renewed now: no caller to whom the loss was reported wants that.
    if (held) void this[Symbol.asyncDispose]();
    throw lostBy(this.name, this.threadId, 'too few of its locks are held');
  }

  detach(): Promise<string> {
    return Promise.reject(new UnsupportedOperationError('multi-lock', 'detach', 'detach the holds of its locks'));
  }

  async setLease(leaseMs: number): Promise<boolean> {
    const renewed = this.#holds.map((hold) => hold.setLease(leaseMs));
    // As for a release: a server that hangs must not keep the caller when enough of them have the new lease.
    await settleQuorum(renewed, this.#needed, undefined, latecomerTime(leaseMs)).catch(() => undefined);
    return majorityOf(renewed, this.#needed);
  }

  letExpire(leaseMs?: number): Promise<void> {
    return this.#endOnce((hold) => hold.letExpire(leaseMs));
  }

  acquired(): void {
    for (const hold of this.#holds) hold.acquired();
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
    // Nothing that outlives the hold may refer to it: then a dropped hold would never be noticed.
    const { name, threadId } = this;
    const spare = this.#holds.length - this.#needed;
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
        if (++lost > spare) end.lost(lostBy(name, threadId, cause));
        released();
      },
    };
    for (const hold of this.#holds) hold.onEnd(member);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(() => undefined);
  }

  #endOnce(end: (hold: MemberHold) => Promise<void>): Promise<void> {
    return (this.#released ??= settleQuorum(this.#holds.map(end), this.#needed));
  }
}

/** The signal of a hold of several members. The members' signals keep it, so it must not refer to the hold. */
function signalOf(name: string, threadId: number, parts: readonly AbortSignal[], needed: number): AbortSignal {
  const controller = new AbortController();
  const check = (cause: unknown): void => {
    if (parts.filter(({ aborted }) => !aborted).length < needed) controller.abort(lostBy(name, threadId, cause));
  };
  for (const part of parts) {
    if (part.aborted) check(part.reason);
    else part.addEventListener('abort', () => check(part.reason), { once: true });
  }
  return controller.signal;
}

function lostBy(name: string, threadId: number, cause: unknown): LockLostError {
  const why =
    cause instanceof LockLostError ? `too many of its locks are, the last one since ${cause.why}` : String(cause);
  return new LockLostError(name, threadId, why, { cause });
}
