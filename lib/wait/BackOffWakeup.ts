import type { BackOffPolicy } from '../api/BackOff';
import { clampTimer } from '../util/duration';
import type { Wake, Wakeup } from './Wakeup';

/**
 * Wakes by time alone: for kinds of lock that send no messages. Each sleep is as long as the policy says, whatever the
 * ttl.
 *
 * States: awake <-> asleep -> left.
 */
export class BackOffWakeup implements Wakeup<never> {
  /** The attempt that failed has just been made; the next one comes after the first pause. */
  readonly isTurn = false;
  readonly #policy: BackOffPolicy;
  #timer: NodeJS.Timeout | undefined;

  /** @param policy - of this acquisition alone */
  constructor(policy: BackOffPolicy) {
    this.#policy = policy;
  }

  listen(): undefined {
    return undefined;
  }

  sleep(): Promise<Wake<never>> {
    const ms = this.#policy.getNextSleepPeriod();
    if (!Number.isFinite(ms)) {
      return Promise.reject(new RangeError(`A BackOffPolicy must give a number of milliseconds, not ${String(ms)}`));
    }
    return new Promise((resolve) => {
      this.#timer = setTimeout(() => resolve(undefined), clampTimer(ms));
    });
  }

  leave(): void {
    clearTimeout(this.#timer);
  }
}
