import { setTimeout as pause } from 'node:timers/promises';
import { newCallToken, newFarewellToken } from '../connection/CommandExecutor';
import { ConnectionError } from '../errors';
import type { Place } from '../pubsub/Place';
import { semaphoreWakeRule } from '../pubsub/wakeRules';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { acquireSemaphore, releaseSemaphoreIfExists } from '../scripts/semaphore';
import type { Attempt } from '../wait/Attempt';
import type { Contest } from '../wait/acquireWithin';
import type { Wakeup } from '../wait/Wakeup';
import type { RedisObject } from './RedisObject';

const NOT_ENOUGH: Attempt<true> = Object.freeze({ ok: false, retryInMs: Infinity });
const TAKEN: Attempt<true> = Object.freeze({ ok: true, value: true });

/** How long, in ms, permits that cannot be given back for want of a connection are tried to be. */
const GIVE_BACK_FOR_MS = 60_000;
/** First pause between two such tries, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
/** Longest such pause, in ms. */
const MAX_PAUSE_MS = 2_000;

/**
 * One wait for permits of a semaphore.
 *
 * Nobody can ask Redis later whether an attempt took permits. So no attempt follows one that got no answer; the answer is
 * waited for in the background, and what it brought is given back.
 */
export class SemaphoreAcquisition implements Contest<true> {
  readonly mustQueue = false;
  readonly repeatable = false;
  readonly #object: RedisObject;
  readonly #permits: number;
  readonly #waits: boolean;
  readonly #token = newCallToken();
  #place: Place<true> | undefined;

  /**
   * @param permits - how many, at least 1
   * @param waits - `false`: one attempt
   */
  constructor(object: RedisObject, permits: number, waits: boolean) {
    this.#object = object;
    this.#permits = permits;
    this.#waits = waits;
  }

  async attempt(): Promise<Attempt<true>> {
    const late = (taken: boolean): void => {
      if (taken) void this.#giveBack();
    };
    const args = { permits: this.#permits };
    const options = { token: this.#token, late };
    if (!(await this.#object.run(acquireSemaphore, args, 'acquire permits of', options))) return NOT_ENOUGH;
    this.#place?.acquiredFor(0);
    return TAKEN;
  }

  outage(): Error | undefined {
    return this.#object.outage('acquire permits of');
  }

  join(): Wakeup<true> | undefined {
    if (!this.#waits) return undefined;
    this.#place = this.#object.join<true>(semaphoreWakeRule, this.#permits);
    return this.#place;
  }

  giveUp(pending: Promise<Attempt<true>> | undefined): void {
    this.#token.cancelled = true;
    pending?.then(
      async ({ ok }) => {
        if (ok) await this.#giveBack();
      },
      () => undefined,
    );
  }

  /**
   * Gives back what nobody wants any more. Not to a semaphore that is gone, which this would create anew; and no second
   * time when the first may have been done: a permit too few is better than one too many.
   */
  async #giveBack(): Promise<void> {
    const endsAt = performance.now() + GIVE_BACK_FOR_MS;
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
      try {
        const args = { permits: this.#permits, publish: PUBLISH_COMMAND } as const;
        // Accepted while the client closes, too: nobody could ever find out about permits that are left behind.
        const token = newFarewellToken();
        await this.#object.run(releaseSemaphoreIfExists, args, 'give back permits of', { token });
        return;
      } catch (error) {
        if (!(error instanceof ConnectionError) || error.mayHaveRun || performance.now() >= endsAt) return;
      }
      await pause(ms, undefined, { ref: false });
    }
  }
}
