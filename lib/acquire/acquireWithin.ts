import { CommandTimeoutError, ConnectionError, IllegalMonitorStateError } from '../errors';
import { mayHaveRun } from './Rollback';
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
