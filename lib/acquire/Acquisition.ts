import { type CommandExecutor, newSendRecord, type SendRecord } from '../connection/pending/CommandExecutor';
import { type CommandError, CommandTimeoutError, NoSyncedReplicasError, ShutdownError } from '../errors';
import type { AcquireReply } from '../scripts/replies';
import { confirmedUntil } from '../util/duration';
import type { Acquirable, Attempt, Wait } from './acquireWithin';
import type { Closing } from './Closing';
import { mayHaveRun, type Why } from './Rollback';

/** The reply to an attempt that has succeeded. */
export type Acquired = AcquireReply & { readonly acquired: true };

/**
 * What is acquired: a lock for a thread, permits, an open latch. It says what to send, and how to undo it; its
 * {@link Acquisition} decides when.
 */
export interface Target {
  /** What is being done, for errors, e.g. `acquire lock 'a'`. */
  readonly what: string;
  /** A key of it. */
  readonly key: string;
  /** The lease that each attempt sets, in ms. @default it has no lease */
  readonly leaseMs?: number | undefined;
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
   * An attempt succeeded, but an earlier one, on another connection, may still run later, so what it took cannot be
   * kept. Another attempt follows, with a new record. @default it is kept
   */
  exchange?(): void;
  /**
   * The reply came when the lease was over, or about to be.
   * @param times - how often in a row that was so
   * @param answerMs - how long the reply took, in ms
   * @returns whether another attempt follows; `false`: it is taken as it is
   * @throws if it cannot succeed
   */
  late?(times: number, answerMs: number): boolean;
  /** Joins the waiters. @param callSite - the line that acquires, if that is recorded */
  join(callSite: string | undefined): Wait<Acquired>;
  /** Where it waits for its turn: it does not any more. */
  left?(): void;
  /**
   * Undoes what attempts took, or may still take.
   * @param taken - whether there may be any such thing; otherwise it only leaves the queue
   * @param pending - the attempt under way when the caller gave up
   * @param handOver - the hand-over under way then, see `UnwantedHold.handOver`
   */
  undo?(why: Why, taken: boolean, pending?: Promise<Attempt<Acquired>>, handOver?: Promise<boolean>): void;
}

/** Why it was not acquired, unless others have it: the last refusal, or that Redis did not reply. */
export type AcquireFailure = CommandError | CommandTimeoutError;

/** The parts of a client that an acquisition needs. */
export interface AcquireContext {
  readonly executor: Pick<CommandExecutor, 'outage'>;
  readonly closing: Closing;
  /** Its `begun` is called when an acquisition begins, if the client may be asked. @returns the line, if recorded */
  readonly introspection: { readonly begun: (() => string | undefined) | undefined } | undefined;
}

/** A command and its reply are on the way for so long at most, in ms, as far as the time to the next attempt goes. */
const ON_THE_WAY_MS = 20;
/** The result of an attempt that was cancelled before it was sent. */
const NOT_TRIED: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });
const ATTEMPT_AGAIN: Attempt<never> = Object.freeze({ ok: false, retryInMs: 1 });

/**
 * One call that acquires once, whatever the kind: the waiting loop runs on it. It knows what was sent on which
 * connection and when, what has no reply, and so what is to be undone.
 *
 * States: idle -> attempting (a command is open) <-> waiting -> acquired | given up. An attempt that gets no reply
 * leaves it open until a later one gets one. Whatever it may have left in Redis at the end is undone in the background.
 */
export class Acquisition implements Acquirable<Acquired> {
  /** How long the caller waits, in ms; `Infinity` without limit, 0 or less for one attempt. */
  readonly waitMs: number;
  /** Whether it waits after its first attempt. */
  readonly waits: boolean;
  /** What the executor records of its attempts; one record for all of them, until an exchange. */
  sendRecord = newSendRecord(this);
  trace: Acquirable<Acquired>['trace'];
  /** The ttl in the reply to the last attempt, in ms. */
  ttl = -1;
  /** Once it is acquired: monotonic time until which it is certainly this client's. */
  deadline = Infinity;
  /** The line that called it, if that is recorded. */
  readonly callSite: string | undefined;
  /** Its wait, once it has joined the waiters. */
  wait: Wait<Acquired> | undefined;
  readonly #context: AcquireContext;
  readonly #target: Target;
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
  constructor(context: AcquireContext, target: Target, waitMs: number, queues = true) {
    this.#context = context;
    this.#target = target;
    this.waitMs = waitMs;
    this.waits = queues && waitMs > 0;
    this.callSite = context.introspection?.begun?.();
  }

  get what(): string {
    return this.#target.what;
  }

  get mustQueue(): boolean {
    return this.waits && this.#target.mustQueue === true;
  }

  get repeatable(): boolean {
    return this.#target.repeatable !== false;
  }

  get leaseMs(): number {
    return this.#target.leaseMs ?? Infinity;
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
    return refusal ?? this.#timeout ?? new CommandTimeoutError(this.what, this.waitMs, this.repeated);
  }

  mayBegin(): void {
    this.#context.closing.mayBegin(this);
  }

  attempt(): Promise<Attempt<Acquired>> {
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
        if (target.exchange !== undefined && this.#isOnManyConnections() && !sendRecord.cancelled) {
          target.exchange();
          // What follows has nothing to do with what was sent before.
          this.sendRecord = newSendRecord(this);
          this.#unanswered = undefined;
          return this.#attemptAgain();
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

  #attemptAgain(): Promise<Attempt<Acquired>> | Attempt<Acquired> {
    if (this.sendRecord.cancelled) return NOT_TRIED;
    this.mayBegin();
    return this.attempt();
  }

  /** Reads the reply to an attempt: its own, or one that a holder made for it. Times are monotonic. */
  #settle(reply: AcquireReply, sentAt: number, now: number): Attempt<Acquired> {
    const target = this.#target;
    if (!reply.acquired) {
      this.#late = 0;
      const { ttl } = reply;
      this.ttl = ttl;
      target.refused?.(reply);
      // From when it was sent: it may be read late, since this process was busy. But it ran somewhere in between, and
      // an attempt that comes too early is made again.
      return {
        ok: false,
        retryInMs: ttl < 0 ? Infinity : Math.max(1, ttl - Math.max(0, now - sentAt - ON_THE_WAY_MS)),
      };
    }
    const { leaseMs } = target;
    this.deadline = leaseMs === undefined ? Infinity : confirmedUntil(sentAt, leaseMs);
    // The reply took longer than the lease, which has ended or is about to.
    if (now >= this.deadline && target.late!(++this.#late, now - sentAt)) {
      return { ok: false, retryInMs: 10 * 2 ** this.#late };
    }
    return { ok: true, value: reply };
  }

  outage(): Error | undefined {
    return this.#context.executor.outage(this.#target.key, this.what);
  }

  join(): Wait<Acquired> | undefined {
    if (this.waits) this.wait = this.#target.join(this.callSite);
    return this.wait;
  }

  /**
   * A holder acquires for it with its own command, on the connection `connectionNumber`.
   * @returns the attempt
   */
  receive(acquired: Promise<AcquireReply>, connectionNumber: number): Promise<Attempt<Acquired>> {
    const sentAt = performance.now();
    this.#handed = true;
    this.sendRecord.connectionNumber = connectionNumber;
    this.#handOver = acquired;
    const attempt = acquired.then(
      (reply) => {
        this.#handOver = undefined;
        return this.#settle(reply, sentAt, performance.now());
      },
      (error: unknown) => {
        this.#handOver = undefined;
        // The executor may have resent it on another connection.
        if (mayHaveRun(error)) this.sendRecord.onManyConnections = true;
        // The holder handles the error. This acquisition keeps waiting, unless it got the lock but no replica confirmed
        // it, or the client is shut down.
        if (error instanceof NoSyncedReplicasError || error instanceof ShutdownError) throw error;
        return ATTEMPT_AGAIN;
      },
    );
    // If the wait ends in this turn of the event loop, nothing awaits the attempt; `giveUp` then handles the hand-over.
    attempt.catch(() => undefined);
    return attempt;
  }

  giveUp(pending: Promise<Attempt<Acquired>> | undefined, inDoubt: boolean): void {
    // A command on a broken connection may still run after a reply came on the next connection. Asked in any case,
    // since the undo reads it from the record.
    const doubtful = this.#isOnManyConnections() || inDoubt;
    this.sendRecord.cancelled = true;
    pending?.catch(() => undefined);
    if (this.repeated) {
      const handOver = this.#handOver?.then(({ acquired }) => acquired || doubtful);
      const taken = pending !== undefined || handOver !== undefined || doubtful;
      this.#target.undo?.('doubtful', taken, pending, handOver);
    }
    this.#target.left?.();
  }

  succeeded(): void {
    if (this.#isOnManyConnections()) this.#target.undo?.('twice', true);
    this.#target.left?.();
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
