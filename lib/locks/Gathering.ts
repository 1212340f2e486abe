import type { AcquireOptions } from '../api';
import { CommandTimeoutError, IllegalMonitorStateError } from '../errors';
import { NO_LEASE } from '../util/duration';
import { INTERRUPTED, Patience } from '../wait/Patience';
import type { CallingThread } from './HandleThread';
import type { Demand } from './Demand';
import type { InnerDemand, MemberHold, MemberLock } from './MemberLock';
import { settleQuorum } from './quorum';

/**
 * Whoever has members in the agreed order waits so long for the next one, per member of the lock, before it gives them back,
 * in ms (Redisson: `baseWaitTime`). Nobody else of this package can wait for them in another order; a Java peer can, and
 * others shall not wait for our members while we wait for somebody's long work.
 */
const ORDERED_WAIT_MS = 1_500;
/** Whoever has a member that comes later in the agreed order waits about so long, in ms: it may be a dead-lock. */
const UNORDERED_WAIT_MS = 100;
/** How long a member may take to answer where others can do without it, in ms: its server may be down. */
const ANSWER_MS = 1_500;
/** How long a wait that is over goes on for what it gives back to be answered, in ms. Without an answer that goes on alone. */
const FAREWELL_MS = 200;

/** How a multi-lock is wanted. */
export interface GatheringDemand
  extends Pick<Demand, 'leaseMs' | 'signal' | 'watchdogMs'>, Pick<AcquireOptions, 'maxRenewTimes'> {
  /** Whose call it is: the members decide each for itself, with what this says. */
  readonly call: CallingThread;
  /** In ms; `Infinity` = without limit; 0 or less: a single attempt. */
  readonly waitMs: number;
}

/** Why there is no hold. */
export interface Missing {
  /** One that was not to be had within the time. */
  readonly member: MemberLock;
  /** Redis did not answer the last attempt at it. */
  readonly silence: CommandTimeoutError | undefined;
}

/**
 * Takes the members of a multi-lock, all or enough of them, or none.
 *
 * It takes them one after the other in the agreed order. When one is not to be had, it gives back what it has, waits for that
 * one with empty hands, and starts again with it. Nobody waits without limit while he has something, so A+B and B+A cannot
 * dead-lock, whoever else takes them; in the agreed order nobody even loses time.
 *
 * While it gathers the watchdog keeps what it has; the lease begins for all members at one moment, when all are there.
 *
 * States: gathering <-> waiting for one -> gathered | given up (with empty hands).
 */
export class Gathering {
  readonly #members: readonly MemberLock[];
  readonly #needed: number;
  readonly #demand: GatheringDemand;
  readonly #deadline: number;
  readonly #options: AcquireOptions;
  readonly #patience: Patience;
  /** What it has: the member's index -> its hold. */
  readonly #taken = new Map<number, MemberHold>();
  #errors: unknown[] = [];
  /** Of the present round: a member whose server did not answer. */
  #silence: CommandTimeoutError | undefined;

  /**
   * @param members - in the agreed order
   * @param needed - how many are enough
   */
  constructor(members: readonly MemberLock[], needed: number, demand: GatheringDemand) {
    this.#members = members;
    this.#needed = needed;
    this.#demand = demand;
    this.#deadline = performance.now() + demand.waitMs;
    // Nothing is given up for its renewals while a lease is still to come.
    const maxRenewTimes = demand.leaseMs === NO_LEASE ? demand.maxRenewTimes : 0;
    this.#options = { signal: demand.signal, maxRenewTimes };
    this.#patience = new Patience(demand.waitMs > 0 ? this.#deadline : Infinity, demand.signal);
  }

  /**
   * @returns the holds, or the member that was not to be had within the time
   * @throws the signal's reason; the first error of a member when too many failed; IllegalMonitorStateError of any member
   */
  async run(): Promise<readonly MemberHold[] | Missing> {
    let first = 0;
    try {
      for (;;) {
        const missing = await this.#round(first);
        if (missing === undefined) return [...this.#taken.values()];
        if (this.#demand.waitMs <= 0 || performance.now() >= this.#deadline) {
          return { member: this.#members[missing]!, silence: this.#silence };
        }
        first = missing;
      }
    } finally {
      this.#patience.end();
    }
  }

  /** Takes them once. @returns `undefined`, or the member that was missing; then it has none */
  async #round(first: number): Promise<number | undefined> {
    this.#errors = [];
    this.#silence = undefined;
    const order = [first, ...this.#members.keys()].filter((index, i) => i === 0 || index !== first);
    try {
      const busy = await this.#takeEnough(order);
      const begun = busy ?? (await this.#patience.orInterrupted(this.#beginLease()));
      this.#demand.signal?.throwIfAborted();
      // It took too long for all of them to be there in time; which one is as good as any.
      const missing = begun === INTERRUPTED ? first : begun;
      if (missing === undefined) return undefined;
      await this.#giveBack();
      // A member that is only busy can be waited for.
      if (this.#errors.length > this.#members.length - this.#needed) throw this.#errors[0];
      return missing;
    } catch (error) {
      await this.#giveBack();
      throw error;
    }
  }

  async #takeEnough(order: readonly number[]): Promise<number | undefined> {
    let spare = this.#members.length - this.#needed;
    let busy: number | undefined;
    for (const index of order) {
      const failed = this.#errors.length;
      const hold = await this.#take(index);
      if (hold !== undefined) {
        this.#taken.set(index, hold);
        continue;
      }
      if (this.#errors.length === failed) busy = index;
      if (spare-- === 0) return busy ?? index;
      if (this.#taken.size >= this.#needed) return undefined;
    }
    return undefined;
  }

  async #take(index: number): Promise<MemberHold | undefined> {
    const { waitMs, queues } = this.#patienceFor(index);
    if (waitMs <= 0 && this.#demand.waitMs > 0) return undefined;
    const { call, watchdogMs, signal } = this.#demand;
    const inner: InnerDemand = { call, member: true, queues, ...(watchdogMs === undefined ? {} : { watchdogMs }) };
    try {
      const taken = await this.#members[index]!.takeHold(waitMs, this.#options, inner);
      if (!(taken instanceof CommandTimeoutError)) return taken;
      this.#silence = taken;
      return undefined;
    } catch (error) {
      if (signal?.aborted === true || error instanceof IllegalMonitorStateError) throw error;
      this.#errors.push(error);
      return undefined;
    }
  }

  /** How long, and whether at all, to wait for a member: see the class comment. */
  #patienceFor(index: number): { waitMs: number; queues: boolean } {
    const count = this.#members.length;
    const dispensable = this.#needed < count;
    if (this.#demand.waitMs <= 0) return { waitMs: dispensable ? ANSWER_MS : 0, queues: false };
    const leftMs = Math.ceil(this.#deadline - performance.now());
    if (dispensable) {
      const shareMs =
        this.#demand.waitMs === Infinity ? ANSWER_MS : Math.max(1, Math.floor(this.#demand.waitMs / count));
      return { waitMs: Math.min(leftMs, shareMs), queues: this.#taken.size < this.#needed };
    }
    if (this.#taken.size === 0) return { waitMs: leftMs, queues: true };
    const ordered = index > Math.max(...this.#taken.keys());
    const limitMs = ordered ? ORDERED_WAIT_MS * count : Math.ceil(UNORDERED_WAIT_MS * (0.5 + Math.random()));
    return { waitMs: Math.min(leftMs, limitMs), queues: true };
  }

  /** All members get their lease now, none of those lost counts. @returns a member that was lost, when they are too few */
  async #beginLease(): Promise<number | undefined> {
    const { leaseMs } = this.#demand;
    const held = await Promise.all(
      [...this.#taken].map(async ([index, hold]) => ({ index, hold, kept: await this.#keep(hold, leaseMs) })),
    );
    const lost = held.filter(({ kept }) => !kept);
    if (held.length - lost.length < this.#needed) return lost[0]?.index ?? 0;
    for (const { index, hold } of lost) {
      this.#taken.delete(index);
      hold.unlock().catch(() => undefined);
    }
    return undefined;
  }

  async #keep(hold: MemberHold, leaseMs: number): Promise<boolean> {
    if (leaseMs === NO_LEASE) return hold.isHeld;
    try {
      return await hold.relet(leaseMs);
    } catch (error) {
      this.#errors.push(error);
      return false;
    }
  }

  /** Gives everything back, whatever becomes of it: what Redis does not answer is undone in the background. */
  async #giveBack(): Promise<void> {
    const holds = [...this.#taken.values()];
    this.#taken.clear();
    const given = settleQuorum(
      holds.map((hold) => hold.unlock()),
      0,
    );
    if ((await this.#patience.orInterrupted(given)) !== INTERRUPTED) return;
    const farewell = new Patience(performance.now() + FAREWELL_MS, undefined);
    await farewell.orInterrupted(given);
    farewell.end();
  }
}
