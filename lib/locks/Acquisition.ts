import type { CallToken } from '../connection/CommandExecutor';
import { CommandTimeoutError, LockLostError, NoSyncedReplicasError, ShutdownError } from '../errors';
import type { Place } from '../pubsub/Place';
import { confirmedUntil, type Hold } from '../renewal/Hold';
import type { AcquireReply } from '../scripts/replies';
import type { Attempt } from '../wait/Attempt';
import { mayHaveRun } from '../wait/Rollback';
import type { Contest } from '../wait/acquireWithin';
import type { Wakeup } from '../wait/Wakeup';
import type { AttemptRequest, LockDriver } from './drivers/LockDriver';
import type { LockContext } from './LockContext';
import type { CallingThread } from './HandleThread';
import { guard, reclaim, type Ghost } from './Reclaimer';
import type { SelfWait } from './SelfWaits';

/** What a successful attempt brought. */
export interface Acquired {
  /** Monotonic time until which the lock is surely ours. */
  readonly deadline: number;
  /** The holds Redis counts, where they are not those expected. */
  readonly holds: number | undefined;
  /** The fencing token, from locks that have one. */
  readonly token: bigint | undefined;
}

/** An acquisition whose answer comes so often in a row after the end of its lease is given up: it can never succeed. */
const MAX_LATE = 5;

/** Nobody waited for it any more when it was about to be sent. */
const NOT_TRIED: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });
/** How long a reader leaves it to a writer: it hears no message meanwhile, so what a writer needs to come in has to do, in ms. */
const READER_PAUSE_MS = 2;
/** Who waits for less (ms) does not give way to others first: its time might end before it has asked. */
const MIN_WAIT_FOR_COURTESY_MS = 100;
const LOOK_AGAIN: Attempt<never> = Object.freeze({ ok: false, retryInMs: 1 });

/**
 * One thread acquiring one lock once: what the waiting loop attempts, and what a holder hands the lock to.
 *
 * States: attempting <-> waiting -> acquired | given up (a ghost of it is undone in the background).
 */
export class Acquisition implements Contest<Acquired>, AttemptRequest, CallToken {
  /** What each attempt sets as lease, in ms. */
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly queues: boolean;
  readonly count: number;
  cancelled = false;
  sends = 0;
  epoch = -1;
  /** Of the attempt under way. */
  sentAt: number | undefined;
  readonly hold: Hold;
  /** The call that it is for, where that is in a scope. */
  call: CallingThread | undefined;
  /** From when it begins to wait in a scope; whoever made the acquisition ends it. */
  selfWait: SelfWait | undefined;
  /** Its place among the waiters, while it has one. */
  place: Place<Acquired> | undefined;
  /** The ttl that the last attempt was answered with, in ms. */
  ttl = -1;
  sleptMs = 0;
  /** Whether an attempt was sent that is not answered, and what the last such one was told. */
  #open = false;
  #timeout: CommandTimeoutError | undefined;
  /** How often in a row its answer came after the end of its lease. */
  #late = 0;
  /** Whether a predecessor ever made an attempt for it. */
  #handed = false;
  /** That attempt while it is under way. It rejects when nobody knows. */
  #handOver: Promise<AcquireReply> | undefined;
  /** Whether it has left the lock to others once. */
  #gaveWay = false;
  /** See {@link scattered}. */
  #scattered = false;
  /** The connection to which an attempt was written that got no answer, unless a later one was answered behind it. */
  #unanswered: number | undefined;
  /** Its kind of lock; a predecessor hands over with it. */
  readonly driver: LockDriver;
  readonly #context: LockContext;

  /**
   * @param leaseMs - what each attempt sets as lease, in ms
   * @param waitMs - how long the caller waits, in ms; `Infinity` without limit, 0 for one attempt
   * @param queues - `false`: one attempt that queues nowhere
   */
  constructor(context: LockContext, driver: LockDriver, hold: Hold, leaseMs: number, waitMs: number, queues: boolean) {
    this.#context = context;
    this.driver = driver;
    this.hold = hold;
    this.count = hold.grips.length + 1;
    this.leaseMs = leaseMs;
    this.waitMs = waitMs;
    this.queues = queues;
  }

  /** Whether it must not attempt before those who wait: not for a re-entry, whose own thread they wait for. */
  get mustQueue(): boolean {
    const { driver, hold } = this;
    if (driver.waiting === 'crowd' || driver.wakeup !== undefined || !this.#waits || this.count > 1) return false;
    const { hub } = this.#context;
    if (this.#courtesyMs() > 0) return true;
    return hub.size > 0 && hub.queue(driver.channelOf(hold.rawName, hold.owner), hold.rawName)?.mustQueue === true;
  }

  /** Itself: one object less per acquisition. */
  get token(): CallToken {
    return this;
  }

  get repeated(): boolean {
    return this.sends > 0 || this.#handed;
  }

  get leftover(): boolean {
    return this.#context.holds.mayLinger(this.hold);
  }

  /** Within one command, as {@link CallToken} says, and within all attempts. */
  get scattered(): boolean {
    return this.#scattered || (this.#unanswered !== undefined && this.#unanswered !== this.epoch);
  }

  set scattered(scattered: boolean) {
    this.#scattered = scattered;
  }

  get name(): string {
    return this.hold.name;
  }

  get rawName(): string {
    return this.hold.rawName;
  }

  get threadId(): number {
    return this.hold.threadId;
  }

  get owner(): string {
    return this.hold.owner;
  }

  /** Why it was not acquired, where Redis did not answer the last attempt. */
  get silence(): CommandTimeoutError | undefined {
    if (!this.#open && this.#handOver === undefined) return undefined;
    return this.#timeout ?? new CommandTimeoutError(`acquire lock '${this.name}'`, this.waitMs, this.repeated);
  }

  attempt(): Promise<Attempt<Acquired>> {
    // Thrown and not rejected: no attempt is under way.
    if (this.#context.closing.aborted) throw new ShutdownError(`acquire lock '${this.name}'`);
    if (this.hold.releasing) return this.hold.whenReleased().then(() => (this.cancelled ? NOT_TRIED : this.attempt()));
    if (this.place === undefined) {
      const courtesyMs = this.#courtesyMs();
      if (courtesyMs > 0) return this.#giveWay(Math.min(courtesyMs, READER_PAUSE_MS));
    }
    this.sentAt = undefined;
    this.#open = true;
    return this.driver.attempt(this).then(
      (reply) => {
        const now = performance.now();
        this.#open = false;
        if (this.#unanswered === this.epoch) this.#unanswered = undefined;
        if (reply.acquired) this.place?.beginTurn(now);
        return this.#settle(reply, this.sentAt ?? now, now);
      },
      (error: unknown) => {
        if (error instanceof CommandTimeoutError) {
          this.#timeout = error;
          this.#unanswered = this.epoch;
        }
        throw error;
      },
    );
  }

  /** How long to leave a lock to others that this client has just freed; once at most, and nothing that a short wait would miss. */
  #courtesyMs(): number {
    if (this.#gaveWay || this.count > 1 || !this.#waits || this.waitMs < MIN_WAIT_FOR_COURTESY_MS) return 0;
    return this.#context.hub.courtesy.waitMs(this.rawName);
  }

  #giveWay(ms: number): Promise<Attempt<Acquired>> {
    this.#gaveWay = true;
    return new Promise<void>((resolve) => setTimeout(resolve, ms)).then(() =>
      this.cancelled ? NOT_TRIED : this.attempt(),
    );
  }

  /** Reads the answer of an attempt, be it an own one or one that a predecessor made. Times are monotonic. */
  #settle(reply: AcquireReply, sentAt: number, now: number): Attempt<Acquired> {
    if (!reply.acquired) {
      this.#late = 0;
      this.ttl = reply.ttl;
      // Without a place it does not sleep: it takes one, and attempts once more.
      if (this.place !== undefined && reply.ttl > this.sleptMs) this.sleptMs = reply.ttl;
      if (this.count > 1) this.#context.holds.lose(this.hold, 'a re-entry found it with another owner');
      return { ok: false, retryInMs: reply.ttl === -1 ? Infinity : Math.max(1, reply.ttl) };
    }
    const deadline = confirmedUntil(sentAt, this.leaseMs);
    if (now >= deadline) {
      // The answer took longer than the lease: it is over, or about to be. Give it back and start again.
      if (!this.cancelled) this.#reclaim(true, false);
      if (++this.#late >= MAX_LATE) throw this.#tooShort(now - sentAt);
      return { ok: false, retryInMs: 10 * 2 ** this.#late };
    }
    this.place?.acquiredFor(this.leaseMs);
    return { ok: true, value: { deadline, holds: reply.holds, token: reply.token } };
  }

  #tooShort(answerMs: number): LockLostError {
    const why = `its lease of ${this.leaseMs} ms was over each time that Redis answered (${Math.ceil(answerMs)} ms the last time): take a longer lease`;
    return new LockLostError(this.name, this.threadId, why);
  }

  outage(): Error | undefined {
    return this.driver.executor.outage(this.rawName, `acquire lock '${this.name}'`);
  }

  join(): Wakeup<Acquired> | undefined {
    if (!this.#waits) return undefined;
    const { driver, hold, call } = this;
    if (call?.around !== undefined) {
      this.selfWait ??= this.#context.selfWaits.begin(hold.name, hold.rawName, call.around, call.since);
    }
    if (driver.wakeup !== undefined) return driver.wakeup();
    const channel = driver.channelOf(hold.rawName, hold.owner);
    const kind = this.count > 1 ? 'crowd' : driver.waiting;
    this.place = this.#context.hub.join<Acquired>(channel, hold.rawName, driver.wakeRule, kind, this);
    return this.place;
  }

  /** A predecessor hands the lock over with a command of its own, on the connection `epoch`. */
  inherit(acquired: Promise<AcquireReply>, epoch: number): void {
    const sentAt = performance.now();
    this.#handed = true;
    this.epoch = epoch;
    this.#handOver = acquired;
    const attempt = acquired.then(
      (reply) => {
        this.#handOver = undefined;
        return this.#settle(reply, sentAt, performance.now());
      },
      (error: unknown) => this.#disinherit(error),
    );
    // Nobody takes it where the wait ended in this very turn; the end of the wait sees to that.
    attempt.catch(() => undefined);
    this.place?.give(attempt);
  }

  /** The hand-over has failed: that is the holder's concern, and the heir goes on waiting, unless it has the lock and may not. */
  #disinherit(error: unknown): Attempt<never> {
    this.#handOver = undefined;
    // Sent again by its own rules, wherever to.
    if (mayHaveRun(error)) this.#scattered = true;
    if (error instanceof NoSyncedReplicasError || error instanceof ShutdownError) throw error;
    return LOOK_AGAIN;
  }

  giveUp(pending: Promise<Attempt<Acquired>> | undefined, inDoubt: boolean): void {
    // What a broken connection had taken may run behind an answer that came on the next one.
    const doubtful = inDoubt || this.scattered;
    this.cancelled = true;
    this.place?.acquiredFor(undefined);
    pending?.catch(() => undefined);
    if (!this.repeated) return;
    const handOver = this.#handOver?.then(({ acquired }) => acquired || doubtful);
    this.#reclaim(pending !== undefined || handOver !== undefined || doubtful, true, handOver);
    this.#lookBeside();
  }

  /** Called once, when the wait ends with success. */
  succeeded(): void {
    if (this.scattered) guard(this.#ghost(true, true), this.#context);
    this.#lookBeside();
  }

  /**
   * The names `x` and `{x}` have one queue in Redis, and its owner one place in that: it is gone now, although the owner
   * may wait for the other one.
   */
  #lookBeside(): void {
    const { driver, rawName, owner } = this;
    const { hub } = this.#context;
    if (driver.abandon !== undefined && hub.size > 0) hub.lookBeside(driver.channelOf(rawName, owner), rawName);
  }

  get #waits(): boolean {
    return this.queues && this.waitMs > 0;
  }

  /** @param doubtful - it may have acquired @param leaves - it waits no longer */
  #reclaim(doubtful: boolean, leaves: boolean, handOver?: Promise<boolean>): void {
    const ghost = this.#ghost(doubtful, leaves, handOver);
    if (doubtful || ghost.waiter !== undefined) reclaim(ghost, this.#context);
  }

  #ghost(doubtful: boolean, leaves: boolean, handOver?: Promise<boolean>): Ghost {
    const { hold, driver, leaseMs, waitMs } = this;
    const waiter = leaves && this.#waits && driver.abandon !== undefined ? this : undefined;
    const { fairLockWaitTimeout } = this.#context.settings;
    const queuedMs = waiter === undefined ? 0 : waitMs === Infinity ? fairLockWaitTimeout : waitMs;
    return { hold, driver, token: this, doubtful, waiter, leaseMs, queuedMs, handOver };
  }
}
