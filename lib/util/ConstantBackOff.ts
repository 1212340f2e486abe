import type { BackOff, BackOffPolicy } from '../api/BackOff';
import { toMillis } from './duration';

/**
 * Pauses that are all alike.
 *
 * Source: `org.redisson.api.LockOptions.ConstantBackOff`.
 */
export class ConstantBackOff implements BackOff {
  #delayMs = 64;

  /** @param ms - every pause. @default 64 @returns itself @throws RangeError unless it is positive */
  delay(ms: number): this {
    const millis = toMillis(ms, undefined, 'delay');
    if (millis <= 0) throw new RangeError(`delay must be positive, not ${ms}`);
    this.#delayMs = millis;
    return this;
  }

  create(): BackOffPolicy {
    const delayMs = this.#delayMs;
    return { getNextSleepPeriod: () => delayMs };
  }
}
