import { type CommandExecutor, newSendRecord, type SendRecord } from '../connection/pending/CommandExecutor';
import { type CommandError, CommandTimeoutError, NoSyncedReplicasError, ShutdownError } from '../errors';
import type { AcquireReply } from '../scripts/replies';
import type { Acquirable, Attempt, Closing, Wait } from './acquireWithin';
import { mayHaveRun, type Why } from './Rollback';

/**
 * What is acquired: a lock for a thread, permits, an open latch. It says what to send, and how to undo it; its
 * {@link Acquisition} decides when.
 */
export interface Target<T> {
  /** What is being done, for errors, e.g. `acquire lock 'a'`. */
  readonly what: string;
  /** A key of it. */
  readonly key: string;
  /** The lease that each attempt sets, in ms. @default it has none */
  readonly leaseMs?: number;
  /** See {@link Acquirable.mustQueue}. @default false */
  readonly mustQueue?: boolean;
  /** See {@link Acquirable.repeatable}. */
  readonly repeatable?: boolean;
  /** What has to end before the next attempt is sent; `undefined`: nothing. */
  before?(): Promise<unknown> | undefined;
  /** Sends one attempt. */
  send(record: SendRecord): Promise<AcquireReply>;
  /** An attempt was refused. */
  refused?(reply: AcquireReply & { readonly acquired: false }): void;
  /**
   * An attempt succeeded, but an earlier one, on another connection, may still run later.
   * @returns whether what it took cannot be kept for that: another attempt follows, with a new record
   */
  exchanges?(): boolean;
  /**
   * Monotonic time until which it is certainly this client's, if it was acquired by an attempt of that (monotonic) time.
   * @default it has no lease
   */
  deadline?(sentAt: number): number;
  /**
   * The reply came after that deadline.
   * @param times - how often in a row that was so
   * @param answerMs - how long the reply took, in ms
   * @returns whether another attempt follows; `false`: it is taken as it is
   * @throws if it cannot succeed
   */
  late?(times: number, answerMs: number): boolean;
  /** It is acquired. */
  take(reply: AcquireReply & { readonly acquired: true }, deadline: number): T;
  /** Joins the waiters. */
  join(): Wait<T>;
  /** It does not wait any more. @param joined - whether it had joined the waiters */
  left?(joined: boolean): void;
  /**
   * Undoes what attempts took, or may still take.
   * @param taken - whether there may be any such thing; otherwise it only leaves the queue
   * @param pending - the attempt under way when the caller gave up
   * @param handOver - the hand-over under way then, see `UnwantedHold.handOver`
   */
  undo?(why: Why, taken: boolean, pending?: Promise<Attempt<T>>, handOver?: Promise<boolean>): void;
}

/** Why it was not acquired, unless others have it: the last refusal, or that Redis did not reply. */
export type AcquireFailure = CommandError | CommandTimeoutError;

/** The parts of a client that an acquisition needs. */
export interface AcquireContext {
  readonly executor: Pick<CommandExecutor, 'outage'>;
  readonly closing: Closing;
  /** Called when an acquisition begins, unless nobody may ask for it. @returns the line that called it, if recorded */
  readonly begun: (() => string | undefined) | undefined;
}

/** The result of an attempt that was cancelled before it was sent. */
const NOT_TRIED: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });
const LOOK_AGAIN: Attempt<never> = Object.freeze({ ok: false, retryInMs: 1 });

/**
 * One call that acquires once, whatever the kind: the waiting loop runs on it. It knows what was sent on which
 * connection and when, what has no reply, and so what is to be undone.
 *
 * States: idle -> attempting (a command is open) <-> waiting -> acquired | given up. An attempt that gets no reply leaves
 * it open until a later one gets one. Whatever it may have left in Redis at the end is undone in the background.
 */
export class Acquisition<T> implements Acquirable<T> {
  /** How long the caller waits, in ms; `Infinity` without limit, 0 or less for one attempt. */
  readonly waitMs: number;
  /** Whether it waits after its first attempt. */
  readonly waits: boolean;
  /** What the executor records of its attempts; one record for all of them, until an exchange. */
  sendRecord = newSendRecord(this);
  trace: Acquirable<T>['trace'];
  /** The ttl in the reply to the last attempt, in ms. */
  ttl = -1;
  /** The line that called it, if that is recorded. */
  readonly callSite: string | undefined;
  /** Its wait, once it has joined the waiters. */
  wait: Wait<T> | undefined;
  readonly #context: AcquireContext;
  readonly #target: Target<T>;
  /** Whether an attempt has no reply yet, or waits to be sent. */
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

  /** @param queues - `false`: a single attempt that joins no queue, whatever `waitMs` is */
  constructor(context: AcquireContext, target: Target<T>, waitMs: number, queues = true) {
    this.#context = context;
    this.#target = target;
    this.waitMs = waitMs;
    this.waits = queues && waitMs > 0;
    this.callSite = context.begun?.();
  }

  get mustQueue(): boolean {
    return this.waits && this.#target.mustQueue === true;
  }

  get repeatable(): boolean {
    return this.#target.repeatable !== false;
  }

  /** Whether an earlier attempt may have succeeded without a reply. */
  get repeated(): boolean {
    return this.sendRecord.sends > 0 || this.#handed;
  }

  /**
   * Why it was not acquired, unless Redis replied that others have it: the last refusal, or that Redis did not reply to
   * the last attempt.
   */
  get failure(): AcquireFailure | undefined {
    if (!this.#open && this.#handOver === undefined) return undefined;
    const { refusal } = this.sendRecord;
    return refusal ?? this.#timeout ?? new CommandTimeoutError(this.#target.what, this.waitMs, this.repeated);
  }

  mayBegin(): void {
    this.#context.closing.mayBegin(this.#target.what);
  }

  attempt(): Promise<Attempt<T>> {
    const target = this.#target;
    const before = target.before?.();
    this.#open = true;
    if (before !== undefined) return before.then(() => this.#attemptAgain());
    const { sendRecord } = this;
    sendRecord.sentAt = sendRecord.refusal = undefined;
    return target.send(sendRecord).then(
      (reply) => {
        const now = performance.now();
        this.#open = false;
        if (this.#unanswered !== undefined && !this.#isOnManyConnections()) this.#unanswered = undefined;
        if (!reply.acquired) return this.#settle(reply, sendRecord.sentAt ?? now, now);
        if (target.exchanges !== undefined && this.#isOnManyConnections() && !sendRecord.cancelled) {
          if (target.exchanges()) {
            this.#renew();
            return this.#attemptAgain();
          }
        }
        this.wait?.beginTurn?.(now);
        return this.#settle(reply, sendRecord.sentAt ?? now, now);
      },
      (error: unknown) => {
        if (error instanceof CommandTimeoutError) {
          this.#timeout = error;
          this.#isOnManyConnections();
          this.#unanswered = sendRecord.connectionNumber;
        }
        throw error;
      },
    );
  }

  /** What follows has nothing to do with what was sent before. */
  #renew(): void {
    this.sendRecord = newSendRecord(this);
    this.#unanswered = undefined;
  }

  #attemptAgain(): Promise<Attempt<T>> | Attempt<T> {
    if (this.sendRecord.cancelled) return NOT_TRIED;
    this.mayBegin();
    return this.attempt();
  }

  /** Reads the reply to an attempt: its own, or one that a holder made for it. Times are monotonic. */
  #settle(reply: AcquireReply, sentAt: number, now: number): Attempt<T> {
    const target = this.#target;
    if (!reply.acquired) {
      this.#late = 0;
      const { ttl } = reply;
      this.ttl = ttl;
      target.refused?.(reply);
      // From when it was sent: it may be read late, since this process was busy.
      return { ok: false, retryInMs: ttl < 0 ? Infinity : Math.max(1, ttl - (now - sentAt)) };
    }
    const deadline = target.deadline?.(sentAt) ?? Infinity;
    // The reply took longer than the lease, which has ended or is about to.
    if (now >= deadline && target.late!(++this.#late, now - sentAt)) {
      return { ok: false, retryInMs: 10 * 2 ** this.#late };
    }
    this.wait?.acquiredFor?.(target.leaseMs ?? Infinity);
    return { ok: true, value: target.take(reply, deadline) };
  }

  outage(): Error | undefined {
    return this.#context.executor.outage(this.#target.key, this.#target.what);
  }

  join(): Wait<T> | undefined {
    if (this.waits) this.wait = this.#target.join();
    return this.wait;
  }

  /**
   * A holder acquires for it with its own command, on the connection `connectionNumber`.
   * @returns the attempt
   */
  receive(acquired: Promise<AcquireReply>, connectionNumber: number): Promise<Attempt<T>> {
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
    return attempt;
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

  giveUp(pending: Promise<Attempt<T>> | undefined, inDoubt: boolean): void {
    // A command on a broken connection may still run after a reply came on the next connection. Asked in any case, since
    // the undo reads it from the record.
    const doubtful = this.#isOnManyConnections() || inDoubt;
    this.sendRecord.cancelled = true;
    this.wait?.acquiredFor?.(undefined);
    pending?.catch(() => undefined);
    if (this.repeated) {
      const handOver = this.#handOver?.then(({ acquired }) => acquired || doubtful);
      const taken = pending !== undefined || handOver !== undefined || doubtful;
      this.#target.undo?.('doubtful', taken, pending, handOver);
    }
    this.#target.left?.(this.wait !== undefined);
  }

  /** Called once, when the wait ends with success. */
  succeeded(): void {
    if (this.#isOnManyConnections()) this.#target.undo?.('twice', true);
    this.#target.left?.(this.wait !== undefined);
  }

  /**
   * Whether attempts were written to more than one connection. For the resends of one command the executor records it.
   */
  #isOnManyConnections(): boolean {
    const { sendRecord } = this;
    if (this.#unanswered !== undefined && this.#unanswered !== sendRecord.connectionNumber) {
      sendRecord.onManyConnections = true;
    }
    return sendRecord.onManyConnections;
  }
}
