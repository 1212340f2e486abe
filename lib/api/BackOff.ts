/**
 * The pauses of one acquisition of a spin lock.
 *
 * Source: `org.redisson.api.LockOptions.BackOffPolicy`.
 */
export interface BackOffPolicy {
  /** @returns how long to sleep before the next attempt, in ms; called once before each */
  getNextSleepPeriod(): number;
}

/**
 * The pauses between the attempts of a spin lock: a new policy for each acquisition.
 *
 * Source: `org.redisson.api.LockOptions.BackOff`.
 */
export interface BackOff {
  /** @returns the policy of one acquisition */
  create(): BackOffPolicy;
}
