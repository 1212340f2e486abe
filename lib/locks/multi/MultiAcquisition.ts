import type { AcquireOptions } from '../../api';
import { CommandError, CommandTimeoutError, ConnectionError, IllegalMonitorStateError } from '../../errors';
import { takesNone } from '../../errors/connectionErrors';
import { NO_LEASE } from '../../util/duration';
import { INTERRUPTED, pause, WaitLimit, within } from '../../acquire/WaitLimit';
import type { AcquireRequest } from '../core/LockTarget';
import type { CallingThread } from '../../thread/threadScope';
import type { AcquireFailure } from '../../acquire/Acquisition';
import type { InternalOptions, MemberHold, MemberLock } from '../core/MemberLock';
import { isBack, isHung, latecomerTime, settleQuorum, suspect } from './quorum';

/**
 * An acquisition that holds members in the agreed order waits this long for the next one, in ms per member of the
 * lock, before it releases them (Redisson: `baseWaitTime`). All clients of this package use that order; a Java client
 * may use another one. Besides, other callers must not wait for our members while we wait for another caller's long
 * section.
 */
const ORDERED_WAIT_MS = 1_500;
/**
 * An acquisition that holds a member which is later in the agreed order waits about this long, in ms: it may be a
 * dead-lock.
 */
const UNORDERED_WAIT_MS = 100;
/** How long a member may take to reply if the others can be enough without it, in ms: its server may be down. */
const ANSWER_MS = 1_500;
/**
 * How long a server that hung may take to reply again if its vote would decide, in ms. A server that had less time
 * than this may be healthy although it has not replied.
 */
const BACK_MS = 200;
/**
 * How long before its deadline an acquisition releases its members, in ms, so that nothing is left when it ends. If
 * its time is less than three times this, it reserves a third.
 */
const GIVE_BACK_MS = 50;
/** How long an aborted acquisition waits for the replies to its releases, in ms. Then they go on in the background. */
const ABORT_MS = 200;

/** A request to acquire a multi-lock. */
export interface MultiRequest
  extends
    Pick<AcquireRequest, 'thread' | 'leaseMs' | 'signal' | 'watchdogMs' | 'trace' | 'member'>,
    Pick<AcquireOptions, 'maxRenewTimes' | 'watchdogThread'> {
  /** The calling thread; each member chooses its own thread from it. */
  readonly call: CallingThread;
  /** In ms; `Infinity` = no limit; 0 or less: a single attempt. */
  readonly waitMs: number;
  /** Whether it is a single attempt, for `waitMs` at most: it is the member of another one. */
  readonly once?: boolean;
}

/** Why a multi-lock was not acquired. */
export interface MultiFailure {
  /** A member that could not be acquired in time; `undefined` if no member was busy. */
  readonly member: MemberLock | undefined;
  /** Set if a member's server refused the last attempt, or did not reply to it. */
  readonly failure: AcquireFailure | undefined;
}

/**
 * Acquires the members of a multi-lock: all, enough of them, or not one.
 *
 * If all are needed, it acquires them one after the other in the agreed order. If one is busy, it releases its
 * members, waits for the busy one while it holds nothing, and starts again with that one. If a majority is enough, it
 * tries all at the same time. Without a majority it releases its members, waits for a busy one while it holds
 * nothing, and tries the others again. Servers that hang are left out, see {@link isHung}. No acquisition waits
 * without limit while it holds a member, and the limit is partly random. So A+B and B+A cannot dead-lock, whichever
 * clients acquire them.
 *
 * While it acquires, the watchdog renews the members it has. The lease begins for all members at the same moment, when
 * the last one has been acquired.
 *
 * States: acquiring <-> waiting for one (holding nothing) -> acquired | given up (holding nothing).
 */
export class MultiAcquisition {
  readonly #members: readonly MemberLock[];
  readonly #needed: number;
  readonly #request: MultiRequest;
  readonly #longestMs: number;
  readonly #deadline: number;
  readonly #options: AcquireOptions;
  readonly #limit: WaitLimit;
  /** Whether it is a single attempt. */
  readonly #once: boolean;
  /** The members it has: index -> hold. */
  readonly #taken = new Map<number, MemberHold>();
  #errors: unknown[] = [];
  /** How many of them came long before the time of their members was over: they would come again. */
  #finals = 0;
  /** The refusals in the current try that may be temporary: servers without memory, or with too few replicas. */
  #refusals: CommandError[] = [];
  /** Since when so many have refused that the other members are too few. */
  #refusedSince: number | undefined;
  /** Why a member was not acquired the last time that no other owner had it. */
  #failure: AcquireFailure | undefined;
  /** Whether in the current try another owner had a member. */
  #isHeld = false;
  /** Whether the next try includes servers that hang: without them, no member was busy that could be waited for. */
  #asksAll = false;

  /**
   * @param members - in the agreed order
   * @param needed - how many are enough
   * @param longestMs - how long a wait without limit goes on while too many servers refuse, in ms
   */
  constructor(members: readonly MemberLock[], needed: number, request: MultiRequest, longestMs: number) {
    this.#members = members;
    this.#needed = needed;
    this.#request = request;
    this.#longestMs = longestMs;
    this.#deadline = performance.now() + request.waitMs;
    this.#once = request.once === true || request.waitMs <= 0;
    // A limit of renewals does not apply if an explicit lease replaces the renewals later.
    const maxRenewTimes = request.leaseMs === NO_LEASE ? request.maxRenewTimes : 0;
    this.#options = { signal: request.signal, maxRenewTimes, watchdogThread: request.watchdogThread };
    this.#limit = new WaitLimit(request.waitMs > 0 ? this.#deadline : Infinity, request.signal);
  }

  /**
   * @returns the holds, or why it was not acquired
   * @throws the signal's reason; the first error of a member when too many failed; IllegalMonitorStateError of any
   *   member
   */
  async run(): Promise<readonly MemberHold[] | MultiFailure> {
    let first: number | undefined;
    try {
      for (;;) {
        this.#request.trace?.attempted(false);
        const missing = await this.#attemptOnce(first);
        if (missing === undefined) return [...this.#taken.values()];
        first = missing.busy;
        if (this.#once || performance.now() >= this.#deadline) {
          return {
            member: first === undefined ? undefined : this.#members[first],
            failure: this.#isHeld ? undefined : this.#failure,
          };
        }
      }
    } finally {
      this.#limit.end();
    }
  }

  /**
   * Tries once to acquire the members.
   * @param first - the member to begin with
   * @returns `undefined`, or what was missing; then it holds nothing
   */
  async #attemptOnce(first: number | undefined): Promise<Shortage | undefined> {
    this.#errors = [];
    this.#refusals = [];
    this.#isHeld = false;
    this.#finals = 0;
    try {
      const short = this.#dispensable ? await this.#takeMajority(first) : await this.#takeAll(first ?? 0);
      const begun = short ?? (await this.#limit.orInterrupted(this.#beginLease()));
      if (this.#limit.aborted) throw this.#limit.reason;
      if (begun === INTERRUPTED) this.#leaseUnanswered();
      // The time was over before all had their lease; any member can count as the missing one.
      const missing = begun === INTERRUPTED ? { busy: first ?? 0 } : begun;
      if (missing === undefined) return undefined;
      await this.#giveBack();
      // Only errors count here: a busy member can be waited for.
      const spare = this.#members.length - this.#needed;
      if (this.#errors.length > spare) {
        // Each had only a part of the time, and may be within reach before all of it is over.
        if (this.#finals <= spare && this.#leftMs > 0 && this.#request.waitMs !== Infinity && !this.#once)
          await this.#pause();
        else throw this.#errors[0];
        if (this.#leftMs <= 0) throw this.#errors[0];
        return { busy: undefined };
      }
      this.#endIfRefused(spare);
      if (missing.busy === undefined && !this.#once) await this.#pause();
      return missing;
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
  }

  /** Whether not all members are needed. */
  get #dispensable(): boolean {
    return this.#needed < this.#members.length;
  }

  async #takeAll(first: number): Promise<Shortage | undefined> {
    const order = [first, ...this.#members.keys()].filter((index, i) => i === 0 || index !== first);
    for (const index of order) {
      const waitMs = this.#request.waitMs <= 0 ? 0 : this.#orderedWaitMs(index);
      if ((await this.#take(index, waitMs, !this.#once)) !== 'taken') return { busy: index };
    }
    return undefined;
  }

  /** @param first - a member to wait for first, while nothing is held */
  async #takeMajority(first: number | undefined): Promise<Shortage | undefined> {
    if (first !== undefined) await this.#take(first, Math.min(ANSWER_MS, this.#leftMs), true);
    const rest = [...this.#members.keys()].filter((index) => index !== first);
    const sound = rest.filter((index) => !isHung(this.#members[index]!));
    const enough = !this.#asksAll && this.#taken.size + sound.length >= this.#needed;
    const asked = enough ? sound : rest;
    let busy = await this.#takeTogether(asked);
    if (this.#taken.size < this.#needed && this.#taken.size + rest.length - asked.length >= this.#needed) {
      const { signal } = this.#request;
      const hung = rest.filter((index) => !asked.includes(index));
      const back = await Promise.all(
        hung.map((index) => isBack(this.#members[index]!, Math.min(BACK_MS, this.#leftMs), signal)),
      );
      busy = [...busy, ...(await this.#takeTogether(hung.filter((_, i) => back[i])))];
    }
    for (const index of busy) {
      // Other acquisitions may hold the rest and wait for our members: the first one that gives up lets the others
      // through.
      if (this.#once || this.#taken.size === 0 || this.#taken.size >= this.#needed) break;
      await this.#take(index, Math.min(aboutMs(UNORDERED_WAIT_MS), this.#leftMs), true);
    }
    if (this.#taken.size >= this.#needed) return undefined;
    this.#asksAll = busy.length === 0;
    // All waiting acquisitions choose the first busy one. If no member is busy, this one waits for `first`, if it was
    // not acquired.
    return { busy: busy[0] ?? (first !== undefined && !this.#taken.has(first) ? first : undefined) };
  }

  /** Tries each once, all at the same time. @returns the busy ones */
  async #takeTogether(indexes: readonly number[]): Promise<number[]> {
    const { waitMs } = this.#request;
    // With a limit, half of the remaining time is kept for the next steps.
    const answerMs = waitMs > 0 && waitMs !== Infinity ? Math.min(ANSWER_MS, Math.ceil(this.#leftMs / 2)) : ANSWER_MS;
    const taking = indexes.map((index) => this.#take(index, answerMs, false));
    await Promise.allSettled(taking);
    const outcomes = await Promise.all(taking);
    return indexes.filter((_, i) => outcomes[i] === 'busy');
  }

  /** @returns `failed`: a time-out or another error */
  async #take(index: number, waitMs: number, queues: boolean): Promise<'taken' | 'busy' | 'failed'> {
    if (waitMs <= 0 && this.#request.waitMs > 0) return 'busy';
    const { call, watchdogMs, signal } = this.#request;
    const inner: InternalOptions = { call, member: true, queues, watchdogMs };
    const member = this.#members[index]!;
    // A timer may be early.
    const soon = performance.now() + waitMs / 2;
    try {
      const taken = await member.takeHold(waitMs, this.#options, inner);
      if (taken === undefined) {
        this.#isHeld = true;
        return 'busy';
      }
      if (!(taken instanceof Error)) {
        this.#taken.set(index, taken);
        return 'taken';
      }
      this.#note(taken, waitMs);
      if (this.#dispensable && taken instanceof CommandTimeoutError) suspect(member);
      if (taken instanceof CommandError) this.#refusals.push(taken);
    } catch (error) {
      if (signal?.aborted === true || error instanceof IllegalMonitorStateError) throw error;
      const unanswered = error instanceof CommandTimeoutError || error instanceof ConnectionError;
      if (this.#dispensable && unanswered) suspect(member);
      if (error instanceof CommandTimeoutError) this.#note(error, waitMs);
      // A server that accepts no acquisition for now refuses a single attempt at once. Where each member is asked
      // once, the wait goes on nevertheless.
      if (error instanceof CommandError && this.#dispensable && !this.#once && takesNone(error.reply)) {
        this.#failure = error;
        this.#refusals.push(error);
        return 'failed';
      }
      // A silent server has no cause to tell: it may answer the next command, however short its time-out is.
      const mayPass = error instanceof ConnectionError && (error.cause === undefined || performance.now() >= soon);
      if (!mayPass) this.#finals++;
      this.#errors.push(error);
    }
    return 'failed';
  }

  /** Why it is not acquired. A time-out of the last moments does not hide a refusal. */
  #note(failure: AcquireFailure, waitMs: number): void {
    if (failure instanceof CommandError || waitMs >= BACK_MS) this.#failure = failure;
    else this.#failure ??= failure;
  }

  /**
   * Ends a wait without limit when too many servers have refused for as long as a lock would wait for one of them.
   * @param spare - how many members need not be acquired
   */
  #endIfRefused(spare: number): void {
    if (this.#errors.length + this.#refusals.length <= spare) this.#refusedSince = undefined;
    else this.#refusedSince ??= performance.now();
    if (this.#request.waitMs !== Infinity || this.#refusedSince === undefined) return;
    if (performance.now() - this.#refusedSince >= this.#longestMs) throw this.#refusals[0]!;
  }

  get #leftMs(): number {
    return Math.ceil(this.#deadline - performance.now());
  }

  /** How long to wait for a member if all are needed, in ms: see the class comment. */
  #orderedWaitMs(index: number): number {
    const leftMs = this.#leftMs;
    if (this.#taken.size === 0) return leftMs;
    const ordered = index > Math.max(...this.#taken.keys());
    const holdingMs = Math.ceil(Math.max(leftMs - GIVE_BACK_MS, (leftMs * 2) / 3));
    return Math.min(holdingMs, ordered ? ORDERED_WAIT_MS * this.#members.length : aboutMs(UNORDERED_WAIT_MS));
  }

  /** A random pause. No member is busy, so there is no lock to wait for, only Redis. */
  async #pause(): Promise<void> {
    const pauseMs = Math.min(aboutMs(UNORDERED_WAIT_MS), this.#leftMs);
    await pause(pauseMs, this.#request.signal);
    if (this.#limit.aborted) throw this.#limit.reason;
  }

  /**
   * Sets the lease of all members now; lost members do not count. Once enough have their lease, the others get a short
   * time.
   * @returns a lost member, if too few are left
   */
  async #beginLease(): Promise<Shortage | undefined> {
    const { leaseMs } = this.#request;
    const answered = new Set<number>();
    const kept = new Set<number>();
    const renewed = [...this.#taken].map(async ([index, hold]) => {
      const failed = (error: unknown): void => void this.#errors.push(error);
      const there = leaseMs === NO_LEASE ? hold.isHeld : await hold.setLease(leaseMs).catch(failed);
      answered.add(index);
      if (there !== true) throw new Error('lost');
      kept.add(index);
    });
    const shareMs = this.#request.waitMs > 0 ? Math.max(0, this.#leftMs / 2) : ANSWER_MS;
    const latecomersMs = Math.min(shareMs, latecomerTime(leaseMs));
    const begun = settleQuorum(renewed, this.#needed, undefined, latecomersMs).catch(() => undefined);
    // A single attempt has no limit of its own, and must not wait longer for a lease than for a member.
    await (this.#request.waitMs > 0 ? begun : within(ANSWER_MS, begun));
    for (const index of kept) if (this.#taken.get(index)?.isHeld !== true) kept.delete(index);
    const lost = [...this.#taken.keys()].filter((index) => !kept.has(index));
    if (kept.size < this.#needed) {
      if (answered.size < this.#taken.size) this.#leaseUnanswered();
      return { busy: lost[0] ?? 0 };
    }
    for (const index of lost) {
      if (!answered.has(index)) suspect(this.#members[index]!);
      const hold = this.#taken.get(index)!;
      this.#taken.delete(index);
      hold.unlock().catch(() => undefined);
    }
    return undefined;
  }

  /** No other owner had the members: the replies to their leases did not come in time. */
  #leaseUnanswered(): void {
    const { waitMs } = this.#request;
    const waitedMs = waitMs > 0 ? waitMs : ANSWER_MS;
    this.#isHeld = false;
    this.#failure = new CommandTimeoutError('set the lease of the locks of a multi-lock', waitedMs, true);
  }

  /**
   * Releases all members, and waits for the replies within the time of the caller; an aborted call rejects once nothing
   * is left, or soon. It never fails: a release without a reply goes on in the background.
   */
  async #giveBack(): Promise<void> {
    const holds = [...this.#taken.values()];
    this.#taken.clear();
    const given = settleQuorum(
      holds.map((hold) => hold.unlock()),
      0,
    );
    if ((await this.#limit.orInterrupted(given)) === INTERRUPTED && this.#limit.aborted) await within(ABORT_MS, given);
  }
}

/** Why a try did not acquire enough members. */
interface Shortage {
  /** A busy member, which can be waited for, if there is one. */
  readonly busy: number | undefined;
}

/** A random time around `ms`, so that acquisitions that block each other do not retry at the same time. */
function aboutMs(ms: number): number {
  return Math.ceil(ms * (0.5 + Math.random()));
}
