import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHold } from '../api';
import { type CommandExecutor, newSendRecord, type SendRecord } from '../connection/pending/CommandExecutor';
import {
  type CommandError,
  CommandTimeoutError,
  ConnectionError,
  IllegalMonitorStateError,
  NoSyncedReplicasError,
  ShutdownError,
} from '../errors';
import type { AcquireReply } from '../scripts/replies';
import { currentScope, enclosingScopes, type Scope, scopeAround } from '../thread/threadScope';
import { mayHaveRun, type Why } from './Rollback';
import { INTERRUPTED, WaitLimit } from './WaitLimit';

/**
 * The result of one attempt to acquire: the value, or how long to sleep unless woken before. `retryInMs` is `Infinity`
 * if only a wake-up makes another attempt worthwhile.
 */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly retryInMs: number };

/**
 * Why a sleeper woke: `undefined` = something may have changed, attempt again; otherwise a holder of the same process
 * hands the lock over, and `attempt` is the attempt that it makes for the sleeper.
 */
export type Wake<T> = { readonly attempt: Promise<Attempt<T>> } | undefined;

/** One wait: how it sleeps, and what wakes it. This is all that the waiting loop knows of pub/sub. */
export interface Wait<T> {
  /** Whether it may attempt; `false`: it has to sleep first, for example until it is the head of its FIFO queue. */
  readonly isTurn: boolean;
  /** Whether the wait ends by itself, at a deadline. Set by the loop. @default false */
  timed?: boolean;
  /**
   * Subscribes to wake-ups. When the promise resolves, either the subscription is live, so that no wake-up is missed;
   * or it is time for an attempt without a subscription, and another attempt follows as soon as it is live.
   * `undefined`: one of these is true already.
   */
  listen(): Promise<void> | undefined;
  /**
   * Sleeps until woken, or until `retryInMs` milliseconds have passed. In a FIFO queue the time counts only for the
   * head.
   * @param inDoubt - an attempt without a reply may have acquired, so `retryInMs` counts whatever its place in the
   *   queue
   */
  sleep(retryInMs: number, inDoubt?: boolean): Promise<Wake<T>>;
  /** Redis cannot be reached: all waiters for the same object attempt now, so that each gets its error now. */
  connectionLost?(): void;
  /** It has acquired by an attempt of its own, not by a hand-over. @param now - monotonic */
  beginTurn?(now: number): void;
  /**
   * Ends the wait; a wake-up that it received and did not use goes to the next waiter.
   * @param leaseMs - for how many ms it has acquired; `undefined`: it has not
   */
  leave(leaseMs: number | undefined): void;
}

/**
 * Whether a call of this client may still begin, or go on waiting.
 *
 * While the client drains, only calls inside a section of its own that still runs may: the work under that lock
 * finishes. A thread that such a section has started counts as part of it.
 *
 * States: open -> draining -> closed, or open -> closed.
 */
export class Closing {
  #state: 'open' | 'draining' | 'closed' = 'open';
  /** The sections of locks of this client, and their holds: scopes are shared by all clients of the process. */
  readonly #sections = new WeakMap<Scope, LockHold>();
  /** Work under permits, which is in no section of its own. Made when needed: most clients have none. */
  #work: AsyncLocalStorage<Work> | undefined;

  /** A section begins under a lock of this client. */
  entered(section: Scope, hold: LockHold): void {
    this.#sections.set(section, hold);
  }

  /** It has ended. What it has started may live for long, and must not keep its hold in memory. */
  left(section: Scope): void {
    this.#sections.delete(section);
  }

  /** The hold of the innermost section around the call, of those that fit. */
  holdAround(fits: (hold: LockHold) => boolean): LockHold | undefined {
    for (let scope = currentScope(); scope !== undefined; scope = scopeAround(scope)) {
      const hold = this.#sections.get(scope);
      if (hold !== undefined && fits(hold)) return hold;
    }
    return undefined;
  }

  /** Runs work that may go on while the client drains: that under permits. */
  async runWork<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    this.#work ??= new AsyncLocalStorage();
    const work: Work = { over: false, around: liveWork(this.#work.getStore()) };
    try {
      return await this.#work.run(work, async () => fn());
    } finally {
      work.over = true;
      work.around = liveWork(work.around);
    }
  }

  /** The client shuts down. Waiting calls must be woken then: each asks {@link mayBegin}. */
  begin(state: 'draining' | 'closed'): void {
    this.#state = state;
  }

  /**
   * Asked in the context of the caller, before the first attempt of a call and before each further one.
   * @param what - what is being done, for the error, e.g. `acquire lock 'a'`
   * @throws ShutdownError if it may not begin, or go on
   */
  mayBegin(what: string): void {
    if (this.#state === 'open' || (this.#state === 'draining' && this.#isInSection())) return;
    throw this.error(what);
  }

  /** The error of calls that may not begin. */
  readonly error = (what?: string): ShutdownError => new ShutdownError(what, this.#state === 'draining');

  #isInSection(): boolean {
    if (liveWork(this.#work?.getStore()) !== undefined) return true;
    for (const scope of enclosingScopes(currentScope())) if (this.#sections.has(scope)) return true;
    return false;
  }
}

/** Work under permits, and that around it. */
interface Work {
  over: boolean;
  around: Work | undefined;
}

function liveWork(work: Work | undefined): Work | undefined {
  let live = work;
  while (live?.over === true) live = live.around;
  return live;
}

/** Pause of a waiter whose attempt got no reply in time, in ms: it must not flood a server that hangs. */
const PAUSE_AFTER_TIMEOUT_MS = 500;

/** Something to be acquired, as the waiting loop sees it. */
export interface Acquirable<T> {
  /** Whether others wait already, so that it must join them before its first attempt. */
  readonly mustQueue: boolean;
  /**
   * Whether another attempt may follow the last one if that got no reply, because a repeat counts once, or it only
   * read. Otherwise the caller gets the error.
   * @default true
   */
  readonly repeatable?: boolean;
  /** For how many ms it is acquired, for the waiter that comes next. @default that one need not know */
  readonly leaseMs?: number;
  /**
   * Called in the context of the caller, before the first attempt and before each further one.
   * @throws ShutdownError if the client shuts down, and the call may not begin or go on
   */
  mayBegin?: (() => void) | undefined;
  /** Called for each attempt, while acquisitions have a telemetry subscriber. */
  trace?: { attempted(handedOver: boolean): void } | undefined;
  /** One try. A rejection ends the wait, unless it is a command time-out and the wait has time left. */
  attempt(): Promise<Attempt<T>>;
  /**
   * Why an attempt under way cannot be sent; `undefined` if it can. A wait whose deadline passes meanwhile rejects with
   * this error, because Redis has not replied "not acquired".
   */
  outage?(): Error | undefined;
  /** Joins the waiters. `undefined`: it does not wait after its first attempt. */
  join(): Wait<T> | undefined;
  /** Called once, when the wait ends with success. */
  succeeded?(): void;
  /**
   * Called once, when the wait ends without success.
   * @param pending - the attempt that was under way, if any; it may still succeed and is then undone
   * @param doubtful - whether an attempt got no reply, and so may have succeeded
   */
  giveUp(pending: Promise<Attempt<T>> | undefined, doubtful: boolean): void;
}

/**
 * The limit of a wait.
 * @param waitMs - in ms; `Infinity` = no limit; 0 or less: a single attempt, also without a limit
 * @returns `undefined` if there is neither a time limit nor a signal
 */
export function waitLimit(waitMs: number, signal: AbortSignal | undefined): WaitLimit | undefined {
  const timed = waitMs > 0 && waitMs !== Infinity;
  if (!timed && signal === undefined) return undefined;
  return new WaitLimit(timed ? performance.now() + waitMs : Infinity, signal);
}

/**
 * The state of a wait between two attempts: not one was made; the last was refused (another owner has it); or the last
 * got no reply, and may have acquired.
 */
type State = 'starting' | 'refused' | 'unanswered';

/**
 * THE waiting loop, the only one of the package:
 * attempt -> subscribe -> attempt -> sleep until woken, the ttl, or the deadline -> attempt ... -> leave.
 *
 * Rules it keeps:
 * 1. It subscribes before the attempt whose failure puts it to sleep, so that no wake-up is lost between the two. While
 *    it cannot subscribe, it attempts after growing pauses, and once more as soon as it has subscribed.
 * 2. It starts no attempt after the deadline, and it ends at the deadline even if an attempt hangs. But a reply that
 *    has come is read before, and one that a blocked event loop has held up is waited for, see {@link WaitLimit}.
 * 3. A waiter in a FIFO queue attempts only when it is the head, or when one of its attempts got no reply. The very
 *    first attempt is made before it queues, unless others wait already: most locks are free.
 * 4. "Not acquired" is a reply of Redis: if the deadline passes while an attempt cannot be sent to any server, that is
 *    an error.
 * 5. A command time-out is not a reply, so it does not end a wait that has time left: another attempt follows after a
 *    pause. A caller without a deadline gets an error if its first attempt times out: otherwise it would never learn
 *    that Redis hangs.
 * 6. It asks whether it may begin, and go on after each sleep, since the client may be shutting down.
 * 7. However it ends, its waiter leaves the queue, and an attempt still under way goes to `giveUp`.
 *
 * @param limit - `undefined`: no limit
 * @returns the acquired value, or `undefined` when the deadline passed
 * @throws the signal's reason when it aborted; what `attempt`, `listen` or `sleep` rejected with
 */
export async function acquireWithin<T>(
  acquirable: Acquirable<T>,
  limit: WaitLimit | undefined,
): Promise<T | undefined> {
  let wait: Wait<T> | undefined;
  let pending: Promise<Attempt<T>> | undefined;
  let doubtful = false;
  let acquired = false;
  try {
    if (limit?.aborted === true) throw limit.reason;
    acquirable.mayBegin?.();
    let state: State = 'starting';
    /** How long to sleep after a failed attempt. */
    let retryInMs = Infinity;
    for (;;) {
      let wake: Wake<T> | typeof INTERRUPTED;
      if (wait !== undefined) {
        wake = await orInterrupted(wait.sleep(retryInMs, state === 'unanswered'), limit, true);
      } else if (state !== 'starting' || acquirable.mustQueue) {
        wait = acquirable.join();
        if (wait === undefined) return undefined;
        wait.timed = limit?.timed === true;
        if (state === 'unanswered') wake = await orInterrupted(wait.sleep(retryInMs, true), limit, true);
        else if (!wait.isTurn) wake = await orInterrupted(wait.sleep(Infinity), limit, true);
      }
      if (wake === INTERRUPTED) return expire(limit);
      if (wait !== undefined && wake === undefined) {
        const listening = wait.listen();
        if (listening !== undefined) await orInterrupted(listening, limit, true);
        if (limit?.over === true) return expire(limit);
        acquirable.mayBegin?.();
      }
      acquirable.trace?.attempted(wake !== undefined);
      pending = wake?.attempt ?? acquirable.attempt();
      let result: Attempt<T> | typeof INTERRUPTED;
      try {
        result = await orInterrupted(pending, limit);
        state = 'refused';
      } catch (error) {
        // Otherwise the other waiters would notice one after the other, each after its own time-out.
        if (error instanceof ConnectionError) wait?.connectionLost?.();
        // A refusal before the first write is a reply: nothing was acquired, so there is nothing to undo.
        if (error instanceof IllegalMonitorStateError || !mayHaveRun(error)) pending = undefined;
        if (!(error instanceof CommandTimeoutError)) throw error;
        doubtful = true;
        state = 'unanswered';
        // The next attempt finds out whether this one succeeded, since a repeated attempt counts once.
        if (acquirable.repeatable === false || (wait === undefined && limit?.timed !== true)) throw error;
        result = { ok: false, retryInMs: PAUSE_AFTER_TIMEOUT_MS };
      }
      if (result === INTERRUPTED) return expire(limit, acquirable.outage?.());
      pending = undefined;
      if (result.ok) {
        acquired = true;
        return result.value;
      }
      retryInMs = result.retryInMs;
    }
  } finally {
    limit?.end();
    if (acquired) acquirable.succeeded?.();
    else acquirable.giveUp(pending, doubtful);
    wait?.leave(acquired ? acquirable.leaseMs : undefined);
  }
}

/** See {@link WaitLimit.orInterrupted}. */
function orInterrupted<T>(
  work: Promise<T>,
  limit: WaitLimit | undefined,
  sleeps = false,
): Promise<T | typeof INTERRUPTED> {
  return limit === undefined ? work : limit.orInterrupted(work, sleeps);
}

function expire(limit: WaitLimit | undefined, outage?: Error): undefined {
  if (limit?.aborted === true) throw limit.reason;
  if (outage !== undefined) throw outage;
  return undefined;
}

/**
 * What is acquired: a lock for a thread, permits, an open latch. It says what to send, and how to undo it; its
 * {@link Acquisition} decides when.
 */
export interface Target<T> {
  /** What is being done, for errors, e.g. `acquire lock 'a'`. */
  readonly what: string;
  /** A key of it. */
  readonly key: string;
  /** The lease that each attempt sets, in ms. @default it has no lease */
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
   * An attempt succeeded, but an earlier one, on another connection, may still run later, so what it took cannot be
   * kept. Another attempt follows, with a new record. @default it is kept
   */
  exchange?(): void;
  /**
   * Monotonic time until which it is certainly this client's, if it was acquired by an attempt of that (monotonic)
   * time.
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
  /** Joins the waiters. @param callSite - the line that acquires, if that is recorded */
  join(callSite: string | undefined): Wait<T>;
  /** It does not wait any more. */
  left?(): void;
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
    this.callSite = context.introspection?.begun?.();
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
      // From when it was sent: it may be read late, since this process was busy. But it ran somewhere in between, and
      // an attempt that comes too early is made again.
      return {
        ok: false,
        retryInMs: ttl < 0 ? Infinity : Math.max(1, ttl - Math.max(0, now - sentAt - ON_THE_WAY_MS)),
      };
    }
    const deadline = target.deadline?.(sentAt) ?? Infinity;
    // The reply took longer than the lease, which has ended or is about to.
    if (now >= deadline && target.late!(++this.#late, now - sentAt)) {
      return { ok: false, retryInMs: 10 * 2 ** this.#late };
    }
    return { ok: true, value: target.take(reply, deadline) };
  }

  outage(): Error | undefined {
    return this.#context.executor.outage(this.#target.key, this.#target.what);
  }

  join(): Wait<T> | undefined {
    if (this.waits) this.wait = this.#target.join(this.callSite);
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

  giveUp(pending: Promise<Attempt<T>> | undefined, inDoubt: boolean): void {
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
