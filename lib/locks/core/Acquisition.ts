import { newSendRecord } from '../../connection/pending/CommandExecutor';
import { CommandTimeoutError, LockLostError, NoSyncedReplicasError, ShutdownError } from '../../errors';
import type { QueueWait } from '../../waiters/QueueWait';
import { confirmedUntil, type Hold, type Ownership } from '../../watchdog/Ownership';
import type { AcquireReply } from '../../scripts/replies';
import type { AcquireTrace } from '../../telemetry/tracing';
import type { Acquirable, Attempt, Wait } from '../../wait/acquireWithin';
import { mayHaveRun } from '../../wait/Rollback';
import type { Heir, LockKind } from '../kinds/LockKind';
import type { LockContext } from './LockContext';
import type { CallingThread } from './calls';
import { rollBackLateRun, rollBack, type UnwantedHold } from './rollback';
import type { SelfWait } from './SelfWaits';

/** What a successful attempt brought. */
export interface Acquired {
  /** Monotonic time until which the lock is surely ours. */
  readonly deadline: number;
  /** The holds Redis counts, where they are not those expected. */
  readonly holds: number | undefined;
  /** The fencing token, from locks that have one. */
  readonly token: bigint | undefined;
  /** The values that were found to be lost, from group locks. */
  readonly gone: readonly string[] | undefined;
}

/**
 * After this many answers in a row that came after the end of the lease, an acquisition is given up: it cannot succeed.
 */
const MAX_LATE = 5;

/** It was cancelled before it was sent. */
const NOT_TRIED: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });
/**
 * How long a reader leaves a lock to a writer, in ms. It hears no message meanwhile, so this is the time that a writer
 * needs to get in.
 */
const READER_PAUSE_MS = 2;
/** A call that waits for less (ms) does not give way to others first: its time might end before it has attempted. */
const MIN_WAIT_TO_GIVE_WAY_MS = 100;
const LOOK_AGAIN: Attempt<never> = Object.freeze({ ok: false, retryInMs: 1 });

/**
 * One thread that acquires one lock once: what the waiting loop runs on, and what a holder hands the lock to.
 *
 * States: attempting <-> waiting -> acquired | given up (what it left in Redis is rolled back in the background).
 */
export class Acquisition implements Acquirable<Acquired>, Heir {
  /** What each attempt sets as lease, in ms. */
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly queues: boolean;
  readonly count: number;
  /** What the executor writes down of its attempts, all of them together. */
  readonly sendRecord = newSendRecord();
  readonly ownership: Ownership;
  /** The call that it is for, where that is in a scope. */
  call: CallingThread | undefined;
  trace: AcquireTrace | undefined;
  /** Set when it begins to wait in a scope; the lock engine ends it. */
  selfWait: SelfWait | undefined;
  /** Its wait in the queue, once it has joined it. */
  wait: QueueWait<Acquired> | undefined;
  /** The ttl that the last attempt was answered with, in ms. */
  ttl = -1;
  sleptMs = 0;
  /** Whether an attempt has no answer yet. */
  #open = false;
  /** The error of the last attempt that got no answer in time. */
  #timeout: CommandTimeoutError | undefined;
  /** How often in a row its answer came after the end of its lease. */
  #late = 0;
  /** Whether a holder ever made an attempt for it (a hand-over). */
  #handed = false;
  /** That attempt while it is under way. It rejects when its outcome is not known. */
  #handOver: Promise<AcquireReply> | undefined;
  /** Whether it has given way to others once. */
  #gaveWay = false;
  /** The connection to which an attempt was written that got no answer, unless a later one was answered behind it. */
  #unanswered: number | undefined;
  /** Its kind of lock; a holder hands over with its script. */
  readonly kind: LockKind;
  readonly #context: LockContext;

  /**
   * @param leaseMs - what each attempt sets as lease, in ms
   * @param waitMs - how long the caller waits, in ms; `Infinity` without limit, 0 for one attempt
   * @param queues - `false`: one attempt that queues nowhere
   */
  constructor(
    context: LockContext,
    kind: LockKind,
    ownership: Ownership,
    leaseMs: number,
    waitMs: number,
    queues: boolean,
  ) {
    this.#context = context;
    this.kind = kind;
    this.ownership = ownership;
    this.count = ownership.holds.length + 1;
    this.leaseMs = leaseMs;
    this.waitMs = waitMs;
    this.queues = queues;
  }

  /** Whether it must not attempt before those who wait: not for a re-entry, whose own thread they wait for. */
  get mustQueue(): boolean {
    const { kind, ownership } = this;
    if (kind.waitOrder === 'shared' || kind.newWait !== undefined || !this.#waits || this.count > 1) return false;
    const { subscriptions } = this.#context;
    if (this.#giveWayMs() > 0) return true;
    return (
      subscriptions.size > 0 &&
      subscriptions.queue(kind.channelOf(ownership.rawName, ownership.owner), ownership.rawName)?.mustQueue === true
    );
  }

  get repeated(): boolean {
    return this.sendRecord.sends > 0 || this.#handed;
  }

  get leftover(): boolean {
    return this.#context.ownerships.isLeftover(this.ownership);
  }

  get name(): string {
    return this.ownership.name;
  }

  get rawName(): string {
    return this.ownership.rawName;
  }

  get threadId(): number {
    return this.ownership.threadId;
  }

  get owner(): string {
    return this.ownership.owner;
  }

  get releasing(): boolean {
    return this.ownership.releasing;
  }

  get holds(): readonly Hold[] {
    return this.ownership.holds;
  }

  /** Why it was not acquired, where Redis did not answer the last attempt; else `undefined`. */
  get timeoutError(): CommandTimeoutError | undefined {
    if (!this.#open && this.#handOver === undefined) return undefined;
    return this.#timeout ?? new CommandTimeoutError(`acquire lock '${this.name}'`, this.waitMs, this.repeated);
  }

  attempt(): Promise<Attempt<Acquired>> {
    // Thrown and not rejected: no attempt is under way.
    if (this.#context.closing.aborted) throw this.#context.shutdownError(`acquire lock '${this.name}'`);
    if (this.ownership.releasing)
      return this.ownership.whenReleased().then(() => (this.sendRecord.cancelled ? NOT_TRIED : this.attempt()));
    if (this.wait === undefined) {
      const giveWayMs = this.#giveWayMs();
      if (giveWayMs > 0) return this.#giveWay(Math.min(giveWayMs, READER_PAUSE_MS));
    }
    const { sendRecord } = this;
    sendRecord.sentAt = undefined;
    this.#open = true;
    return this.kind.attempt(this).then(
      (reply) => {
        const now = performance.now();
        this.#open = false;
        if (this.#unanswered !== undefined && !this.#onManyConnections()) this.#unanswered = undefined;
        if (reply.acquired) this.wait?.beginTurn(now);
        return this.#settle(reply, sendRecord.sentAt ?? now, now);
      },
      (error: unknown) => {
        if (error instanceof CommandTimeoutError) {
          this.#timeout = error;
          this.#onManyConnections();
          this.#unanswered = sendRecord.connectionNumber;
        }
        throw error;
      },
    );
  }

  /**
   * How long to leave a lock to others that this client has just released; once at most, and nothing that a short wait
   * would miss.
   */
  #giveWayMs(): number {
    if (this.#gaveWay || this.count > 1 || !this.#waits || this.waitMs < MIN_WAIT_TO_GIVE_WAY_MS) return 0;
    return this.#context.subscriptions.fairPauses.waitMs(this.rawName);
  }

  #giveWay(ms: number): Promise<Attempt<Acquired>> {
    this.#gaveWay = true;
    return new Promise<void>((resolve) => setTimeout(resolve, ms)).then(() =>
      this.sendRecord.cancelled ? NOT_TRIED : this.attempt(),
    );
  }

  /** Reads the answer of an attempt, its own or one that a holder made for it. Times are monotonic. */
  #settle(reply: AcquireReply, sentAt: number, now: number): Attempt<Acquired> {
    if (!reply.acquired) {
      this.#late = 0;
      this.ttl = reply.ttl;
      // Before it waits it does not sleep: it joins the queue, and attempts once more.
      if (this.wait !== undefined) {
        if (reply.ttl > this.sleptMs) this.sleptMs = reply.ttl;
        if (reply.unheard === true) this.kind.watch?.unheard(this.rawName);
      }
      // A group is taken again for other values as well, which others may have.
      if (this.count > 1 && this.kind.values === undefined)
        this.#context.ownerships.lose(this.ownership, 'a re-entry found it with another owner');
      return { ok: false, retryInMs: reply.ttl === -1 ? Infinity : Math.max(1, reply.ttl) };
    }
    const deadline = confirmedUntil(sentAt, this.leaseMs);
    if (now >= deadline) {
      // The answer took longer than the lease: it is over, or about to be. Give it back and start again.
      if (!this.sendRecord.cancelled) this.#rollBack(true, false);
      if (++this.#late >= MAX_LATE) throw this.#tooShort(now - sentAt);
      return { ok: false, retryInMs: 10 * 2 ** this.#late };
    }
    this.wait?.acquiredFor(this.leaseMs);
    return { ok: true, value: { deadline, holds: reply.holds, token: reply.token, gone: reply.gone } };
  }

  #tooShort(answerMs: number): LockLostError {
    const why = `its lease of ${this.leaseMs} ms was over each time that Redis answered (${Math.ceil(answerMs)} ms the last time): take a longer lease`;
    return new LockLostError(this.name, this.threadId, why);
  }

  outage(): Error | undefined {
    return this.kind.executor.outage(this.rawName, `acquire lock '${this.name}'`);
  }

  join(): Wait<Acquired> | undefined {
    if (!this.#waits) return undefined;
    const { kind, ownership, call } = this;
    if (call?.around !== undefined) {
      const { name, rawName } = ownership;
      const values = kind.values && { ...kind.values, own: ownership };
      this.selfWait ??= this.#context.selfWaits.begin(name, rawName, call.around, call.since, values);
    }
    if (kind.newWait !== undefined) return kind.newWait();
    const channel = kind.channelOf(ownership.rawName, ownership.owner);
    const order = this.count > 1 ? 'shared' : kind.waitOrder;
    this.wait = this.#context.subscriptions.join<Acquired>(channel, ownership.rawName, kind.wakeRule, order, this);
    kind.watch?.joined(ownership.rawName);
    return this.wait;
  }

  /** A holder hands the lock over by a command of its own, on the connection `connectionNumber`. */
  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void {
    const sentAt = performance.now();
    this.#handed = true;
    this.sendRecord.connectionNumber = connectionNumber;
    this.#handOver = acquired;
    const attempt = acquired.then(
      (reply) => {
        this.#handOver = undefined;
        return this.#settle(reply, sentAt, performance.now());
      },
      (error: unknown) => this.#handOverFailed(error),
    );
    // If the wait ended in this very turn, nobody awaits it; `giveUp` deals with the hand-over then.
    attempt.catch(() => undefined);
    this.wait?.waiter.wakeWith(attempt);
  }

  /**
   * The hand-over has failed. The holder deals with that, and this one goes on waiting; unless it got the lock but no
   * replica confirmed it, or the client is shut down.
   */
  #handOverFailed(error: unknown): Attempt<never> {
    this.#handOver = undefined;
    // The executor may have resent it on another connection.
    if (mayHaveRun(error)) this.sendRecord.onManyConnections = true;
    if (error instanceof NoSyncedReplicasError || error instanceof ShutdownError) throw error;
    return LOOK_AGAIN;
  }

  giveUp(pending: Promise<Attempt<Acquired>> | undefined, inDoubt: boolean): void {
    // A command in a broken connection may still run behind an answer that came on the next one.
    const doubtful = inDoubt || this.#onManyConnections();
    this.sendRecord.cancelled = true;
    this.wait?.acquiredFor(undefined);
    if (this.wait !== undefined) this.kind.watch?.left(this.rawName);
    pending?.catch(() => undefined);
    if (!this.repeated) return;
    const handOver = this.#handOver?.then(({ acquired }) => acquired || doubtful);
    this.#rollBack(pending !== undefined || handOver !== undefined || doubtful, true, handOver);
    this.#wakeOthers();
  }

  /** Called once, when the wait ends with success. */
  succeeded(): void {
    if (this.wait !== undefined) this.kind.watch?.left(this.rawName);
    if (this.#onManyConnections()) rollBackLateRun(this.#unwantedHold(true, true), this.#context);
    this.#wakeOthers();
  }

  /**
   * Fair locks of the names `x` and `{x}` share one queue in Redis, and an owner has one place in it. That is gone now,
   * although the owner may still wait for the other lock: its waiter looks again.
   */
  #wakeOthers(): void {
    const { kind, rawName, owner } = this;
    const { subscriptions } = this.#context;
    if (kind.abandon !== undefined && subscriptions.size > 0)
      subscriptions.wakeOthers(kind.channelOf(rawName, owner), rawName);
  }

  /** Whether attempts were written to more than one connection. For a single command the executor notes that itself. */
  #onManyConnections(): boolean {
    const { sendRecord } = this;
    if (this.#unanswered !== undefined && this.#unanswered !== sendRecord.connectionNumber) {
      sendRecord.onManyConnections = true;
    }
    return sendRecord.onManyConnections;
  }

  get #waits(): boolean {
    return this.queues && this.waitMs > 0;
  }

  /** @param doubtful - it may have acquired @param leaves - it waits no longer, and leaves its queue in Redis */
  #rollBack(doubtful: boolean, leaves: boolean, handOver?: Promise<boolean>): void {
    const unwanted = this.#unwantedHold(doubtful, leaves, handOver);
    if (doubtful || unwanted.waiter !== undefined) rollBack(unwanted, this.#context);
  }

  #unwantedHold(doubtful: boolean, leaves: boolean, handOver?: Promise<boolean>): UnwantedHold {
    const { ownership, kind, sendRecord, leaseMs, waitMs } = this;
    this.#onManyConnections();
    const waiter = leaves && this.#waits && kind.abandon !== undefined ? this : undefined;
    const { fairLockWaitTimeout } = this.#context.settings;
    const queuedMs = waiter === undefined ? 0 : waitMs === Infinity ? fairLockWaitTimeout : waitMs;
    return { ownership, kind, sendRecord, doubtful, waiter, leaseMs, queuedMs, handOver };
  }
}
