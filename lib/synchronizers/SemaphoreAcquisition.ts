import { newCallToken } from '../connection/CommandExecutor';
import type { Place } from '../pubsub/Place';
import { semaphoreWakeRule } from '../pubsub/wakeRules';
import { acquireSemaphore } from '../scripts/semaphore';
import type { Attempt } from '../wait/Attempt';
import type { Contest } from '../wait/acquireWithin';
import type { Wakeup } from '../wait/Wakeup';
import { giveBack } from './leftovers';
import type { RedisObject } from './RedisObject';

const NOT_ENOUGH: Attempt<true> = Object.freeze({ ok: false, retryInMs: Infinity });
const TAKEN: Attempt<true> = Object.freeze({ ok: true, value: true });

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
      if (taken) giveBack(this.#object, this.#permits);
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
      ({ ok }) => {
        if (ok) giveBack(this.#object, this.#permits);
      },
      () => undefined,
    );
  }
}
