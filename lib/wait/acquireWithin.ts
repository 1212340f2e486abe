import { CommandTimeoutError, ConnectionError, IllegalMonitorStateError } from '../errors';
import { mayHaveRun } from './Rollback';
import { INTERRUPTED, WaitLimit } from './WaitLimit';

/**
 * What one attempt to acquire came to: the value, or how long to sleep unless woken before.
 * `retryInMs` is `Infinity` where time alone changes nothing.
 */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly retryInMs: number };

/**
 * Why a sleeper woke: `undefined` = something may have changed, attempt again; otherwise a holder of the same
 * process hands the lock over, and this is the attempt that it makes for the sleeper.
 */
export type Wake<T> = { readonly attempt: Promise<Attempt<T>> } | undefined;

/** One wait: how it sleeps, and what wakes it. The waiting loop knows no more of pub/sub than this. */
export interface Wait<T> {
  /** Whether it may attempt; `false`: others are before it in a FIFO queue, and it sleeps until it is the head. */
  readonly isTurn: boolean;
  /** Whether the wait ends by itself, at a deadline. Set by the loop. @default false */
  timed?: boolean;
  /**
   * Starts to listen. Once it resolves, no wake-up is missed, or it is time for an attempt without a subscription; then
   * another attempt follows as soon as there is one. `undefined` where either is so already.
   */
  listen(): Promise<void> | undefined;
  /**
   * Sleeps until woken, or until `retryInMs` milliseconds have passed: in a FIFO queue for the head only.
   * @param inDoubt - it may have acquired by an attempt that got no answer, so it looks again in time, whatever
   *   its place in the queue
   */
  sleep(retryInMs: number, inDoubt?: boolean): Promise<Wake<T>>;
  /** Redis cannot be reached: all who wait for the same find out for themselves, and now. */
  connectionLost?(): void;
  /** Ends the wait; a wake-up that came and was not used goes to the next waiter. */
  leave(): void;
}

/** Pause of a waiter whose attempt got no reply in time: a server that hangs is not hammered. */
const PAUSE_AFTER_TIMEOUT_MS = 500;

/** Something to be acquired, as the waiting loop sees it. */
export interface Acquirable<T> {
  /** Whether others wait already, so that it must not attempt before its turn. */
  readonly mustQueue: boolean;
  /**
   * Whether another attempt may follow one that got no answer, since a repeat counts once. Otherwise the caller is
   * told.
   * @default true
   */
  readonly repeatable?: boolean;
  /** Told of each attempt, while somebody listens to acquisitions. */
  trace?: { attempted(handedOver: boolean): void } | undefined;
  /** One try. A rejection ends the wait, unless it says that no answer came and the wait has time left. */
  attempt(): Promise<Attempt<T>>;
  /**
   * Why an attempt under way cannot even be sent; `undefined` where it can. A wait that ends meanwhile rejects with
   * this error: Redis has not answered "not acquired".
   */
  outage?(): Error | undefined;
  /** Joins the waiters. `undefined`: it does not wait, one attempt is all. */
  join(): Wait<T> | undefined;
  /**
   * Called once, when the wait ends without success.
   * @param pending - the attempt that was under way, if one was; it may still succeed and is then undone
   * @param doubtful - whether an attempt got no reply and may have succeeded
   */
  giveUp(pending: Promise<Attempt<T>> | undefined, doubtful: boolean): void;
}

/**
 * The limit of a wait.
 * @param waitMs - in ms; `Infinity` = without limit; 0 or less: a single attempt, which has no limit either
 * @returns `undefined` for none
 */
export function waitLimit(waitMs: number, signal: AbortSignal | undefined): WaitLimit | undefined {
  const timed = waitMs > 0 && waitMs !== Infinity;
  if (!timed && signal === undefined) return undefined;
  return new WaitLimit(timed ? performance.now() + waitMs : Infinity, signal);
}

/**
 * Where a wait stands between two attempts: none was made; the last was refused (another owner has it); or the last got
 * no answer, and may have acquired it.
 */
type State = 'starting' | 'refused' | 'unanswered';

/**
 * THE waiting loop, the only one of the package:
 * attempt -> subscribe -> attempt -> sleep until woken, the ttl, or the deadline -> attempt ... -> leave.
 *
 * Rules it keeps:
 * 1. It listens before the attempt whose failure sends it to sleep, so that no wake-up falls between the two. While it
 *    cannot be subscribed it attempts after growing pauses, and once more as soon as it is.
 * 2. It starts no attempt after the deadline, and does not stay past it because an attempt hangs.
 * 3. A waiter in a FIFO queue attempts only when it is its head, or when an attempt of its own got no answer. The
 *    very first attempt comes before all that, unless others wait already: most locks are free.
 * 4. "Not acquired" is an answer of Redis: a deadline that finds an attempt without a server to send it to is an error.
 * 5. A command time-out is no answer, so it does not end a wait that has time left: another attempt follows after a
 *    pause. A caller without a deadline is told when its first attempt gets none: otherwise it would never learn that
 *    Redis hangs.
 * 6. Whatever way it ends, its waiter leaves, and an attempt whose end it did not see goes to `giveUp`.
 *
 * @param limit - `undefined`: it waits for as long as it takes
 * @returns the acquired value, or `undefined` when the deadline passed
 * @throws the signal's reason when it aborted; what `attempt` or `listen` rejected with
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
    let state: State = 'starting';
    /** How long to sleep, once an attempt has failed. */
    let retryInMs = Infinity;
    for (;;) {
      let wake: Wake<T> | typeof INTERRUPTED;
      if (wait !== undefined) {
        wake = await orInterrupted(wait.sleep(retryInMs, state === 'unanswered'), limit);
      } else if (state !== 'starting' || acquirable.mustQueue) {
        wait = acquirable.join();
        if (wait === undefined) return undefined;
        wait.timed = limit?.timed === true;
        if (state === 'unanswered') wake = await orInterrupted(wait.sleep(retryInMs, true), limit);
        else if (!wait.isTurn) wake = await orInterrupted(wait.sleep(Infinity), limit);
      }
      if (wake === INTERRUPTED) return expire(limit);
      if (wait !== undefined && wake === undefined) {
        const listening = wait.listen();
        if (listening !== undefined) await orInterrupted(listening, limit);
        if (limit?.over === true) return expire(limit);
      }
      acquirable.trace?.attempted(wake !== undefined);
      pending = wake?.attempt ?? acquirable.attempt();
      let result: Attempt<T> | typeof INTERRUPTED;
      try {
        result = await orInterrupted(pending, limit);
        state = 'refused';
      } catch (error) {
        // Otherwise the other waiters would find out one after the other, each after a time-out of its own.
        if (error instanceof ConnectionError) wait?.connectionLost?.();
        // A refusal before the first write is an answer: nothing was acquired, nothing is to be undone.
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
    if (!acquired) acquirable.giveUp(pending, doubtful);
    wait?.leave();
  }
}

/** The outcome of `work`, or {@link INTERRUPTED} as soon as the wait is over. */
function orInterrupted<T>(work: Promise<T>, limit: WaitLimit | undefined): Promise<T | typeof INTERRUPTED> {
  return limit === undefined ? work : limit.orInterrupted(work);
}

function expire(limit: WaitLimit | undefined, outage?: Error): undefined {
  if (limit?.aborted === true) throw limit.reason;
  if (outage !== undefined) throw outage;
  return undefined;
}
