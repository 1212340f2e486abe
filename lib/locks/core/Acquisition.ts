import { newSendRecord } from '../../connection/pending/CommandExecutor';
import { CommandTimeoutError, LockLostError, NoSyncedReplicasError, ShutdownError } from '../../errors';
import type { Waiter } from '../../waiters/Waiter';
import { confirmedUntil, type Ownership } from '../../watchdog/Ownership';
import type { AcquireReply } from '../../scripts/replies';
import type { AcquireTrace } from '../../telemetry/tracing';
import type { Acquirable, Attempt, Wait } from '../../wait/acquireWithin';
import { mayHaveRun } from '../../wait/Rollback';
import type { Heir, LockKind } from '../kinds/LockKind';
import type { LockContext } from './LockContext';
import type { CallingThread } from './calls';
import { rollBackLateRun, rollBack, type UnwantedHold } from './rollback';
import type { SelfWait } from './SelfWaits';

/** The result of a successful attempt. */
export interface Acquired {
  /** Monotonic time until which the lock certainly belongs to this client. */
  readonly deadline: number;
  /** The hold count in Redis, if it differs from the expected one. */
  readonly holds: number | undefined;
  /** The fencing token, from locks that have one. */
  readonly token: bigint | undefined;
  /** The values that were found to be lost, from group locks. */
  readonly gone: readonly string[] | undefined;
}

/**
 * The number of replies in a row that come after the end of the lease before an acquisition is given up: it cannot
 * succeed.
 */
const MAX_LATE = 5;

/** The result of an attempt that was cancelled before it was sent. */
const NOT_TRIED: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });
/** A call with a shorter wait (ms) does not give way to others first: its time might end before its first attempt. */
const MIN_WAIT_TO_GIVE_WAY_MS = 100;
const LOOK_AGAIN: Attempt<never> = Object.freeze({ ok: false, retryInMs: 1 });

/**
 * One thread that acquires one lock once: the waiting loop runs on it, and a holder may hand the lock over to it.
 *
 * States: attempting <-> waiting -> acquired | given up (what it left in Redis is rolled back in the background).
 */
export class Acquisition implements Acquirable<Acquired>, Heir {
  /** The lease that each attempt sets, in ms. */
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly queues: boolean;
  readonly count: number;
  /** What the executor records of its attempts; one record for all of them. */
  readonly sendRecord = newSendRecord(this);
  readonly ownership: Ownership;
  /** The call for which it acquires, if that call is in a scope. */
  call: CallingThread | undefined;
  trace: AcquireTrace | undefined;
  /** Set when it begins to wait in a scope; the lock engine ends it. */
  selfWait: SelfWait | undefined;
  /** Its wait, once it has joined the queue. */
  wait: Waiter<Acquired> | undefined;
  /** The ttl in the reply to the last attempt, in ms. */
  ttl = -1;
  sleptMs = 0;
  /** Whether an attempt has no reply yet. */
  #open = false;
  /** The error of the last attempt that got no reply in time. */
  #timeout: CommandTimeoutError | undefined;
  /** How many replies in a row came after the end of the lease. */
  #late = 0;
  /** Whether a holder ever made an attempt for it (a hand-over). */
  #handed = false;
  /** The hand-over under way. It rejects if its outcome is unknown. */
  #handOver: Promise<AcquireReply> | undefined;
  /** The number of the connection on which an attempt got no reply; cleared by a later reply on the same connection. */
  #unanswered: number | undefined;
  /** Its kind of lock; a holder hands over with the script of this kind. */
  readonly kind: LockKind;
  readonly #context: LockContext;

  /**
   * @param leaseMs - the lease that each attempt sets, in ms
   * @param waitMs - how long the caller waits, in ms; `Infinity` without limit, 0 for one attempt
   * @param queues - `false`: a single attempt that joins no queue
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

  /**
   * Whether it must join the other waiters before its first attempt. Not for a re-entry: the waiters wait for its own
   * thread.
   */
  get mustQueue(): boolean {
    const { kind, ownership } = this;
    const { subscriptions } = this.#context;
    if (!this.#waits || this.count > 1 || kind.newWait !== undefined || subscriptions.idle) return false;
    const { rawName } = ownership;
    const channel = kind.channelOf(rawName, ownership.owner);
    if (kind.waitOrder === 'fifo' && subscriptions.queue(channel, rawName)?.mustQueue === true) return true;
    return this.waitMs >= MIN_WAIT_TO_GIVE_WAY_MS && subscriptions.turns(channel, rawName)?.givesWay === true;
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

  /** Why it was not acquired, if Redis did not reply to the last attempt; else `undefined`. */
  get timeoutError(): CommandTimeoutError | undefined {
    if (!this.#open && this.#handOver === undefined) return undefined;
    return this.#timeout ?? new CommandTimeoutError(`acquire lock '${this.name}'`, this.waitMs, this.repeated);
  }

  mayBegin(): void {
    this.#context.closing.mayBegin(`acquire lock '${this.name}'`);
  }

  attempt(): Promise<Attempt<Acquired>> {
    // Throws instead of rejecting: no attempt is under way.
    this.mayBegin();
    if (this.ownership.releasing)
      return this.ownership.whenReleased().then(() => (this.sendRecord.cancelled ? NOT_TRIED : this.attempt()));
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

  /** Reads the reply to an attempt: its own, or one that a holder made for it. Times are monotonic. */
  #settle(reply: AcquireReply, sentAt: number, now: number): Attempt<Acquired> {
    if (!reply.acquired) {
      this.#late = 0;
      this.ttl = reply.ttl;
      // An acquisition that has not joined the queue does not sleep yet: it joins, and attempts once more.
      if (this.wait !== undefined) {
        if (reply.ttl > this.sleptMs) this.sleptMs = reply.ttl;
        if (reply.unheard === true) this.kind.watch?.unheard(this.rawName);
      }
      if (this.count > 1) this.#context.ownerships.lose(this.ownership, 'a re-entry found it with another owner');
      return { ok: false, retryInMs: reply.ttl === -1 ? Infinity : Math.max(1, reply.ttl) };
    }
    const deadline = confirmedUntil(sentAt, this.leaseMs);
    if (now >= deadline) {
      // The reply took longer than the lease, which has ended or is about to. Roll back and start again.
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
      this.selfWait ??= this.#context.selfWaits.begin(name, rawName, call.around, call.since, kind.values && ownership);
    }
    if (kind.newWait !== undefined) return kind.newWait();
    const channel = kind.channelOf(ownership.rawName, ownership.owner);
    const order = this.count > 1 ? 'shared' : kind.waitOrder;
    this.wait = this.#context.subscriptions.join<Acquired>(channel, ownership.rawName, kind.wakeRule, order, this);
    kind.watch?.joined(ownership.rawName);
    return this.wait;
  }

  /** A holder hands the lock over with its own command, on the connection `connectionNumber`. */
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
    // If the wait ends in this turn of the event loop, nothing awaits the attempt; `giveUp` then handles the hand-over.
    attempt.catch(() => undefined);
    this.wait?.wakeWith(attempt);
  }

  /**
   * The hand-over has failed. The holder handles the error, and this acquisition keeps waiting, unless it got the lock
   * but no replica confirmed it, or the client is shut down.
   */
  #handOverFailed(error: unknown): Attempt<never> {
    this.#handOver = undefined;
    // The executor may have resent it on another connection.
    if (mayHaveRun(error)) this.sendRecord.onManyConnections = true;
    if (error instanceof NoSyncedReplicasError || error instanceof ShutdownError) throw error;
    return LOOK_AGAIN;
  }

  giveUp(pending: Promise<Attempt<Acquired>> | undefined, inDoubt: boolean): void {
    // A command on a broken connection may still run after a reply came on the next connection.
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
   * Fair locks with the names `x` and `{x}` share one queue in Redis, in which an owner has one place. That place is
   * gone now, although the owner may still wait for the other lock. So the waiter for that lock attempts again.
   */
  #wakeOthers(): void {
    const { kind, rawName, owner } = this;
    const { subscriptions } = this.#context;
    if (kind.abandon !== undefined && subscriptions.size > 0)
      subscriptions.wakeOthers(kind.channelOf(rawName, owner), rawName);
  }

  /**
   * Whether attempts were written to more than one connection. For the resends of one command the executor records it.
   */
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

  /**
   * @param doubtful - whether it may have acquired
   * @param leaves - whether it has stopped waiting, and leaves its queue in Redis
   */
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
