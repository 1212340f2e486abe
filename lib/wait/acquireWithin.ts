import { CommandTimeoutError, ConnectionError, IllegalMonitorStateError } from '../errors';
import type { Attempt } from './Attempt';
import { INTERRUPTED, type Patience } from './Patience';
import { mayHaveRun } from './Rollback';
import type { Wake, Wakeup } from './Wakeup';

/** Pause of a waiter whose attempt got no reply in time: a server that hangs is not hammered. */
const PAUSE_AFTER_TIMEOUT_MS = 500;

/** Something to be acquired, as the waiting loop sees it. */
export interface Contest<T> {
  /** Whether others wait already, so that it must not attempt before its turn. */
  readonly mustQueue: boolean;
  /**
   * Whether another attempt may follow one that got no answer, since a repeat counts once. Otherwise the caller is told.
   * @default true
   */
  readonly repeatable?: boolean;
  /** One try. A rejection ends the wait, unless it says that no answer came and the wait has time left. */
  attempt(): Promise<Attempt<T>>;
  /** Why an attempt under way cannot even be sent; `undefined` where it can. The end of the wait is then no "not acquired". */
  outage?(): Error | undefined;
  /** Takes a place among the waiters. `undefined`: it does not wait, one attempt is all. */
  join(): Wakeup<T> | undefined;
  /**
   * Called once, when the wait ends without success.
   * @param pending - the attempt that was under way, if one was; it may still succeed and is then undone
   * @param doubtful - whether an attempt got no reply and may have succeeded
   */
  giveUp(pending: Promise<Attempt<T>> | undefined, doubtful: boolean): void;
}

/**
 * THE waiting loop, the only one of the package:
 * attempt -> subscribe -> attempt -> sleep until woken, the ttl, or the deadline -> attempt ... -> leave.
 *
 * Rules it keeps:
 * 1. It listens before the attempt whose failure sends it to sleep, so that no wake-up falls between the two. While it
 *    cannot be subscribed it attempts after growing pauses, and once more as soon as it is.
 * 2. It starts no attempt after the deadline, and does not stay past it because an attempt hangs.
 * 3. A waiter that stands in a line attempts only when it is its turn, or when an attempt of its own got no answer. The
 *    very first attempt comes before all that, unless others wait already: most locks are free.
 * 4. "Not acquired" is an answer of Redis: a deadline that finds an attempt without a server to send it to is an error.
 * 5. A command time-out is no answer, so it does not end a wait that has time left: another attempt follows after a
 *    pause. Who has no deadline is told of a first attempt that got none: nobody else would tell him that Redis hangs.
 * 6. Whatever way it ends, it leaves its place, and an attempt whose end it did not see goes to `giveUp`.
 *
 * @returns the acquired value, or `undefined` when the deadline passed
 * @throws the signal's reason when it aborted; what `attempt` or `listen` rejected with
 */
export async function acquireWithin<T>(contest: Contest<T>, patience: Patience): Promise<T | undefined> {
  let wakeup: Wakeup<T> | undefined;
  let pending: Promise<Attempt<T>> | undefined;
  let doubtful = false;
  let acquired = false;
  try {
    if (patience.aborted) throw patience.reason;
    let wake: Wake<T> | typeof INTERRUPTED;
    /** How long to sleep, once an attempt has failed. */
    let retryInMs: number | undefined;
    /** Whether the last attempt got no answer. */
    let inDoubt = false;
    for (;;) {
      if (wakeup === undefined && (contest.mustQueue || retryInMs !== undefined)) {
        wakeup = contest.join();
        if (wakeup === undefined) return undefined;
        wakeup.timed = patience.timed;
        if (inDoubt) wake = await patience.orInterrupted(wakeup.sleep(PAUSE_AFTER_TIMEOUT_MS, true));
        else wake = wakeup.isTurn ? undefined : await patience.orInterrupted(wakeup.sleep(Infinity));
      } else if (wakeup !== undefined && retryInMs !== undefined) {
        wake = await patience.orInterrupted(wakeup.sleep(retryInMs, inDoubt));
      }
      if (wake === INTERRUPTED) return expire(patience);
      if (wakeup !== undefined && wake === undefined) {
        const listening = wakeup.listen();
        if (listening !== undefined) await patience.orInterrupted(listening);
        if (patience.over) return expire(patience);
      }
      inDoubt = false;
      pending = wake?.attempt ?? contest.attempt();
      let result: Attempt<T> | typeof INTERRUPTED;
      try {
        result = await patience.orInterrupted(pending);
      } catch (error) {
        // The others would find out one after the other, each after a time-out of its own.
        if (error instanceof ConnectionError) wakeup?.alarm?.();
        // A refusal before the first write is an answer: nothing was acquired, nothing is to be undone.
        if (error instanceof IllegalMonitorStateError || !mayHaveRun(error)) pending = undefined;
        if (!(error instanceof CommandTimeoutError)) throw error;
        doubtful = inDoubt = true;
        // The next attempt finds out whether this one succeeded, since a repeated attempt counts once.
        if (contest.repeatable === false || (wakeup === undefined && !patience.timed)) throw error;
        result = { ok: false, retryInMs: PAUSE_AFTER_TIMEOUT_MS };
      }
      if (result === INTERRUPTED) return expire(patience, contest.outage?.());
      pending = undefined;
      if (result.ok) {
        acquired = true;
        return result.value;
      }
      retryInMs = result.retryInMs;
    }
  } finally {
    patience.end();
    if (!acquired) contest.giveUp(pending, doubtful);
    wakeup?.leave();
  }
}

function expire(patience: Patience, outage?: Error): undefined {
  if (patience.aborted) throw patience.reason;
  if (outage !== undefined) throw outage;
  return undefined;
}
