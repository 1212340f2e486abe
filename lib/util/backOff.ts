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
    this.#delayMs = positiveMillis(ms, 'delay');
    return this;
  }

  create(): BackOffPolicy {
    const delayMs = this.#delayMs;
    return { getNextSleepPeriod: () => delayMs };
  }
}

/**
 * Pauses that grow: `initialDelay`, then `multiplier` times the one before, up to `maxDelay`. Each is longer by chance,
 * by at most as many ms as attempts have failed before (and at most `maxDelay`), so that waiters who started together
 * part.
 *
 * ```ts
 * redisson.getSpinLock('a', new ExponentialBackOff().initialDelay(10).maxDelay(100).multiplier(3));
 * ```
 *
 * Source: `org.redisson.api.LockOptions.ExponentialBackOff`.
 */
export class ExponentialBackOff implements BackOff {
  #initialMs = 1;
  #maxMs = 128;
  #multiplier = 2;

  /** @param ms - the first pause. @default 1 @returns itself @throws RangeError unless it is positive */
  initialDelay(ms: number): this {
    this.#initialMs = positiveMillis(ms, 'initialDelay');
    return this;
  }

  /**
   * @param ms - the longest pause, without the part by chance.
   * @default 128
   * @returns itself
   * @throws RangeError unless it is positive
   */
  maxDelay(ms: number): this {
    this.#maxMs = positiveMillis(ms, 'maxDelay');
    return this;
  }

  /**
   * @param factor - how much longer each pause is than the one before.
   * @default 2
   * @returns itself
   * @throws RangeError below 1
   */
  multiplier(factor: number): this {
    if (!Number.isFinite(factor) || factor < 1) throw new RangeError(`multiplier must be at least 1, got ${factor}`);
    this.#multiplier = factor;
    return this;
  }

  create(): BackOffPolicy {
    const maxMs = this.#maxMs;
    const multiplier = this.#multiplier;
    let nextMs = Math.min(this.#initialMs, maxMs);
    let failures = 0;
    return {
      getNextSleepPeriod() {
        const period = Math.round(nextMs) + Math.floor(Math.random() * (Math.min(failures, maxMs) + 1));
        nextMs = Math.min(nextMs * multiplier, maxMs);
        failures++;
        return period;
      },
    };
  }
}

function positiveMillis(ms: number, what: string): number {
  const millis = toMillis(ms, undefined, what);
  if (millis <= 0) throw new RangeError(`${what} must be positive, got ${ms}`);
  return millis;
}
