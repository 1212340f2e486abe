import type { AcquireOptions } from '../../api';
import { CommandTimeoutError, ConnectionError, IllegalMonitorStateError } from '../../errors';
import { NO_LEASE } from '../../util/duration';
import { INTERRUPTED, WaitLimit } from '../../wait/WaitLimit';
import type { CallingThread } from '../core/calls';
import type { AcquireRequest } from '../core/LockEngine';
import type { InternalOptions, MemberHold, MemberLock } from '../core/MemberLock';
import { isBack, isHung, settleQuorum, suspect } from './quorum';

/**
 * An acquisition that has members in the agreed order waits this long for the next one, per member of the lock, before
 * it gives them back, in ms (Redisson: `baseWaitTime`). No other client of this package waits for them in another
 * order; a Java client may. And others must not wait for our members while we wait for a long section of a third.
 */
const ORDERED_WAIT_MS = 1_500;
/** One that has a member that comes later in the agreed order waits about this long, in ms: it may be a dead-lock. */
const UNORDERED_WAIT_MS = 100;
/** How long a member may take to answer where others can do without it, in ms: its server may be down. */
const ANSWER_MS = 1_500;
/** How long a server that hung has to show that it is back, where its vote would decide, in ms. */
const BACK_MS = 200;
/** When a majority has its lease, it waits for the others for this part of the lease. */
const LEASE_PART = 0.1;
/**
 * How long a wait that is over still waits for its releases to be answered, in ms. Without an answer they go on in the
 * background.
 */
const CLEANUP_MS = 200;

/** How a multi-lock is wanted. */
export interface MultiRequest
  extends Pick<AcquireRequest, 'leaseMs' | 'signal' | 'watchdogMs' | 'trace'>, Pick<AcquireOptions, 'maxRenewTimes'> {
  /** Whose call it is: the members decide each for itself, with what this says. */
  readonly call: CallingThread;
  /** In ms; `Infinity` = without limit; 0 or less: a single attempt. */
  readonly waitMs: number;
}

/** Why there is no hold. */
export interface MultiFailure {
  /** One that could not be acquired in time; `undefined` where none was found busy. */
  readonly member: MemberLock | undefined;
  /** Set when Redis did not answer the last attempt. */
  readonly timeoutError: CommandTimeoutError | undefined;
}

/**
 * Takes the members of a multi-lock, all or enough of them, or none.
 *
 * Where all are needed it takes them one after the other in the agreed order. When one is busy, it gives back
 * what it has, waits for that one with empty hands, and starts again with it. Where a majority is enough it asks all
 * together; without one, it gives back what it has, waits for one that is busy with empty hands, and asks the others
 * again. Servers that hang are left out, see {@link isHung}. No acquisition waits without limit while it has
 * something, and the limit is partly random, so A+B and B+A cannot dead-lock, whoever else takes them.
 *
 * While it acquires, the watchdog keeps what it has; the lease begins for all members at one moment, when all are
 * there.
 *
 * States: acquiring <-> waiting for one (with nothing) -> acquired | given up (with nothing).
 */
export class MultiAcquisition {
  readonly #members: readonly MemberLock[];
  readonly #needed: number;
  readonly #request: MultiRequest;
  readonly #deadline: number;
  readonly #options: AcquireOptions;
  readonly #limit: WaitLimit;
  /** What it has: the member's index -> its hold. */
  readonly #taken = new Map<number, MemberHold>();
  #errors: unknown[] = [];
  /** In the present try: the error of a member whose server did not answer. */
  #timeoutError: CommandTimeoutError | undefined;
  /** Whether the next try asks servers that hung as well: without them there was nothing to wait for. */
  #asksAll = false;

  /**
   * @param members - in the agreed order
   * @param needed - how many are enough
   */
  constructor(members: readonly MemberLock[], needed: number, request: MultiRequest) {
    this.#members = members;
    this.#needed = needed;
    this.#request = request;
    this.#deadline = performance.now() + request.waitMs;
    // Nothing is given up for its renewals while a lease is still to come.
    const maxRenewTimes = request.leaseMs === NO_LEASE ? request.maxRenewTimes : 0;
    this.#options = { signal: request.signal, maxRenewTimes };
    this.#limit = new WaitLimit(request.waitMs > 0 ? this.#deadline : Infinity, request.signal);
  }

  /**
   * @returns the holds, or why there are none
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
        if (this.#request.waitMs <= 0 || performance.now() >= this.#deadline) {
          return { member: first === undefined ? undefined : this.#members[first], timeoutError: this.#timeoutError };
        }
      }
    } finally {
      this.#limit.end();
    }
  }

  /** Takes them once. @param first - what to begin with @returns `undefined`, or what was missing; then it has none */
  async #attemptOnce(first: number | undefined): Promise<Shortage | undefined> {
    this.#errors = [];
    this.#timeoutError = undefined;
    try {
      const short = this.#dispensable ? await this.#takeMajority(first) : await this.#takeAll(first ?? 0);
      const begun = short ?? (await this.#limit.orInterrupted(this.#beginLease()));
      if (this.#limit.aborted) throw this.#limit.reason;
      // The time was over before all had their lease; any member will do as the missing one.
      const missing = begun === INTERRUPTED ? { busy: first ?? 0 } : begun;
      if (missing === undefined) return undefined;
      await this.#giveBack();
      // A member that is only busy can be waited for.
      if (this.#errors.length > this.#members.length - this.#needed) throw this.#errors[0];
      if (missing.busy === undefined && this.#request.waitMs > 0) await this.#pause();
      return missing;
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
  }

  /** Whether it can do without some of them. */
  get #dispensable(): boolean {
    return this.#needed < this.#members.length;
  }

  async #takeAll(first: number): Promise<Shortage | undefined> {
    const order = [first, ...this.#members.keys()].filter((index, i) => i === 0 || index !== first);
    for (const index of order) {
      const waitMs = this.#request.waitMs <= 0 ? 0 : this.#orderedWaitMs(index);
      if (!(await this.#take(index, waitMs, waitMs > 0))) return { busy: index };
    }
    return undefined;
  }

  /** @param first - one to be waited for with empty hands */
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
      // Others may have the rest and wait for ours: the first one that gives up lets the others through.
      if (this.#request.waitMs <= 0 || this.#taken.size === 0 || this.#taken.size >= this.#needed) break;
      await this.#take(index, Math.min(aboutMs(UNORDERED_WAIT_MS), this.#leftMs), true);
    }
    if (this.#taken.size >= this.#needed) return undefined;
    this.#asksAll = busy.length === 0;
    // Those that wait agree on one, unless it could not be acquired.
    return { busy: busy[0] ?? (first !== undefined && !this.#taken.has(first) ? first : undefined) };
  }

  /** Each once and all at the same time. @returns those that were busy */
  async #takeTogether(indexes: readonly number[]): Promise<number[]> {
    const { waitMs } = this.#request;
    // With a limit, half of the time is left for what follows.
    const answerMs = waitMs > 0 && waitMs !== Infinity ? Math.min(ANSWER_MS, Math.ceil(this.#leftMs / 2)) : ANSWER_MS;
    const failed: number[] = [];
    const busy: number[] = [];
    const ended = await Promise.allSettled(
      indexes.map(async (index) => {
        if (await this.#take(index, answerMs, false, () => failed.push(index))) return;
        if (!failed.includes(index)) busy.push(index);
      }),
    );
    const error = ended.find((end) => end.status === 'rejected');
    if (error !== undefined) throw error.reason;
    return busy.sort((a, b) => a - b);
  }

  /** @param onFailure - called where it got no answer or an error @returns whether it was taken */
  async #take(index: number, waitMs: number, queues: boolean, onFailure?: () => void): Promise<boolean> {
    if (waitMs <= 0 && this.#request.waitMs > 0) return false;
    const { call, watchdogMs, signal } = this.#request;
    const inner: InternalOptions = { call, member: true, queues, ...(watchdogMs === undefined ? {} : { watchdogMs }) };
    const member = this.#members[index]!;
    try {
      const taken = await member.takeHold(waitMs, this.#options, inner);
      if (taken === undefined) return false;
      if (!(taken instanceof CommandTimeoutError)) {
        this.#taken.set(index, taken);
        return true;
      }
      this.#timeoutError = taken;
      if (this.#dispensable) suspect(member);
    } catch (error) {
      if (signal?.aborted === true || error instanceof IllegalMonitorStateError) throw error;
      const unanswered = error instanceof CommandTimeoutError || error instanceof ConnectionError;
      if (this.#dispensable && unanswered) suspect(member);
      this.#errors.push(error);
    }
    onFailure?.();
    return false;
  }

  get #leftMs(): number {
    return Math.ceil(this.#deadline - performance.now());
  }

  /** How long to wait for a member where all are needed: see the class comment. */
  #orderedWaitMs(index: number): number {
    const leftMs = this.#leftMs;
    if (this.#taken.size === 0) return leftMs;
    const ordered = index > Math.max(...this.#taken.keys());
    return Math.min(leftMs, ordered ? ORDERED_WAIT_MS * this.#members.length : aboutMs(UNORDERED_WAIT_MS));
  }

  /** A random pause: no member is busy, so there is only Redis to wait for. */
  async #pause(): Promise<void> {
    const pause = new WaitLimit(
      performance.now() + Math.min(aboutMs(UNORDERED_WAIT_MS), this.#leftMs),
      this.#request.signal,
    );
    await pause.orInterrupted(new Promise<never>(() => undefined));
    pause.end();
    if (this.#limit.aborted) throw this.#limit.reason;
  }

  /**
   * All members get their lease now; those that are lost do not count. Once enough have theirs, the others have a
   * moment.
   * @returns a member that was lost, when they are too few
   */
  async #beginLease(): Promise<Shortage | undefined> {
    const { leaseMs } = this.#request;
    const answered = new Set<number>();
    const kept = new Set<number>();
    const renewed = [...this.#taken].map(async ([index, hold]) => {
      const there = await this.#keep(hold, leaseMs);
      answered.add(index);
      if (!there) throw new Error('lost');
      kept.add(index);
    });
    const latecomerMs = Math.max(
      0,
      Math.min(ANSWER_MS, this.#request.waitMs > 0 ? this.#leftMs / 2 : ANSWER_MS, leaseMs * LEASE_PART),
    );
    await settleQuorum(renewed, this.#needed, { latecomerMs }).catch(() => undefined);
    for (const index of kept) if (this.#taken.get(index)?.isHeld !== true) kept.delete(index);
    const lost = [...this.#taken.keys()].filter((index) => !kept.has(index));
    if (kept.size < this.#needed) return { busy: lost[0] ?? 0 };
    for (const index of lost) {
      if (!answered.has(index)) suspect(this.#members[index]!);
      const hold = this.#taken.get(index)!;
      this.#taken.delete(index);
      hold.unlock().catch(() => undefined);
    }
    return undefined;
  }

  async #keep(hold: MemberHold, leaseMs: number): Promise<boolean> {
    if (leaseMs === NO_LEASE) return hold.isHeld;
    try {
      return await hold.setLease(leaseMs);
    } catch (error) {
      this.#errors.push(error);
      return false;
    }
  }

  /** Gives everything back; never fails: what Redis does not answer is undone in the background. */
  async #giveBack(): Promise<void> {
    const holds = [...this.#taken.values()];
    this.#taken.clear();
    const given = settleQuorum(
      holds.map((hold) => hold.unlock()),
      0,
    );
    if ((await this.#limit.orInterrupted(given)) !== INTERRUPTED) return;
    const cleanup = new WaitLimit(performance.now() + CLEANUP_MS, undefined);
    await cleanup.orInterrupted(given);
    cleanup.end();
  }
}

/** What kept a try from taking enough. */
interface Shortage {
  /** A member that can be waited for, if there is one. */
  readonly busy: number | undefined;
}

/** A random time around `ms`, so that those that block each other do not try again together. */
function aboutMs(ms: number): number {
  return Math.ceil(ms * (0.5 + Math.random()));
}
