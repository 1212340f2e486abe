import { CommandTimeoutError } from '../errors';
import type { Attempt } from './Attempt';
import { INTERRUPTED, type Patience } from './Patience';
import type { Wake, Wakeup } from './Wakeup';

/** Pause of a waiter whose attempt got no reply in time: a server that hangs is not hammered. */
const PAUSE_AFTER_TIMEOUT_MS = 500;

/** Something to be acquired, as the waiting loop sees it. */
export interface Contest<T> {
  /** One try. A rejection ends the wait. */
  attempt(): Promise<Attempt<T>>;
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
 * 1. It listens before the attempt whose failure sends it to sleep, so that no wake-up falls between the two.
 * 2. It starts no attempt after the deadline, and does not stay past it because an attempt hangs.
 * 3. A waiter that stands in a line attempts only when it is its turn.
 * 4. Whatever way it ends, it leaves its place, and an attempt whose end it did not see goes to `giveUp`.
 *
 * @param wakeup - where to wait; without it there is one attempt, whatever the deadline
 * @returns the acquired value, or `undefined` when the deadline passed
 * @throws the signal's reason when it aborted; what `attempt` or `listen` rejected with
 */
export async function acquireWithin<T>(
  contest: Contest<T>,
  wakeup: Wakeup<T> | undefined,
  patience: Patience,
): Promise<T | undefined> {
  let pending: Promise<Attempt<T>> | undefined;
  let doubtful = false;
  let acquired = false;
  try {
    if (patience.aborted) throw patience.reason;
    // The very first attempt of one who need not queue comes before subscribing: most locks are free.
    let listens = false;
    let wake: Wake<T> | typeof INTERRUPTED;
    if (wakeup?.mayTryFirst === false) {
      listens = true;
      wake = await patience.orInterrupted(wakeup.sleep(Infinity));
    }
    for (;;) {
      if (wake === INTERRUPTED) return expire(patience);
      if (wake === undefined && listens) {
        const listening = wakeup?.listen();
        if (listening !== undefined) await patience.orInterrupted(listening);
        if (patience.over) return expire(patience);
      }
      pending = wake?.attempt ?? contest.attempt();
      let result: Attempt<T> | typeof INTERRUPTED;
      try {
        result = await patience.orInterrupted(pending);
      } catch (error) {
        if (!(error instanceof CommandTimeoutError)) throw error;
        doubtful = true;
        // Who has a deadline is told "not acquired", as Redisson tells it since 4.7; who has none tries on: the next
        // attempt finds out whether this one succeeded, since a repeated attempt counts once.
        if (!listens) throw error;
        if (patience.timed) return undefined;
        result = { ok: false, retryInMs: PAUSE_AFTER_TIMEOUT_MS };
      }
      if (result === INTERRUPTED) return expire(patience);
      pending = undefined;
      if (result.ok) {
        acquired = true;
        return result.value;
      }
      if (wakeup === undefined) return undefined;
      wake = listens ? await patience.orInterrupted(wakeup.sleep(result.retryInMs)) : undefined;
      listens = true;
    }
  } finally {
    patience.end();
    if (!acquired) contest.giveUp(pending, doubtful);
    wakeup?.leave();
  }
}

function expire(patience: Patience): undefined {
  if (patience.aborted) throw patience.reason;
  return undefined;
}
