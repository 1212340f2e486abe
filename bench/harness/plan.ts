/** How much is measured. Times in ms. */
export interface Plan {
  readonly name: 'full' | 'quick' | 'tiny' | 'warm-up';
  /** How much further away Redis seems than it is: what a round trip takes longer, in ms. */
  readonly distanceMs: number;
  /** Rounds for this package. */
  readonly rounds: number;
  /** Rounds for everybody else. */
  readonly rivalRounds: number;
  /** Rounds of the scenarios that take long or hardly vary. */
  readonly longRounds: number;
  /** One round of a throughput scenario. */
  readonly throughputMs: number;
  /** CPU time a worker spends on the loop of a throughput scenario before it is measured, so that it is compiled. */
  readonly warmUpCpuMs: number;
  /** One round of the hot key with an empty section. */
  readonly hotKeyMs: number;
  /** One round of the hot key with 5 ms inside; the target is defined over 5 s. */
  readonly hotKeySectionMs: number;
  /** One round of the sequential floor that the hot key is compared with. */
  readonly hotKeyFloorMs: number;
  /** Hand-offs between two processes per round ... */
  readonly wakeUps: number;
  /** ... or as many as fit into this, where a poller takes its time. */
  readonly wakeUpMs: number;
  /** Herds of one round, one after the other. */
  readonly herds: number;
  /** A drain, or the rest of a hot key, that takes longer is given up. */
  readonly drainLimitMs: number;
  /** Life of an idle hold; the watchdog's period is a third of it. */
  readonly idleHoldMs: number;
  /** Periods over which renewals are counted. */
  readonly idlePeriods: number;
  /** Time over which the commands of idle waiters are counted. */
  readonly idleWaitersMs: number;
  /** Locks that are held while the event loop is watched. */
  readonly stallLocks: number;
  /** Life of each of them: several renewals fit into a round, and all can be taken before the first ends. */
  readonly stallWatchdogMs: number;
  /** Renewal periods over which it is watched. */
  readonly stallPeriods: number;
}

/** Everything, about half an hour with all contestants. */
export const fullPlan: Plan = {
  name: 'full',
  distanceMs: 0,
  rounds: 5,
  rivalRounds: 3,
  longRounds: 3,
  throughputMs: 1_500,
  warmUpCpuMs: 0,
  hotKeyMs: 5_000,
  hotKeySectionMs: 5_000,
  hotKeyFloorMs: 1_000,
  wakeUps: 150,
  wakeUpMs: 4_000,
  herds: 20,
  drainLimitMs: 10_000,
  idleHoldMs: 3_000,
  idlePeriods: 6,
  idleWaitersMs: 3_000,
  stallLocks: 40_000,
  stallWatchdogMs: 9_000,
  stallPeriods: 5,
};

/** `--quick`: the same targets with shorter rounds, about 90 s with the contestants it picks. */
export const quickPlan: Plan = {
  ...fullPlan,
  name: 'quick',
  rounds: 3,
  rivalRounds: 1,
  longRounds: 1,
  throughputMs: 600,
  hotKeyMs: 1_500,
  hotKeyFloorMs: 400,
  wakeUps: 60,
  wakeUpMs: 1_500,
  herds: 8,
  drainLimitMs: 5_000,
  idleHoldMs: 1_500,
  idlePeriods: 5,
  idleWaitersMs: 1_500,
};

/** `--tiny`: only shows that everything runs; the numbers mean nothing. */
export const tinyPlan: Plan = {
  ...quickPlan,
  name: 'tiny',
  rounds: 1,
  throughputMs: 100,
  hotKeyMs: 300,
  hotKeySectionMs: 500,
  hotKeyFloorMs: 100,
  wakeUps: 3,
  wakeUpMs: 200,
  herds: 1,
  drainLimitMs: 2_000,
  idleHoldMs: 900,
  idleWaitersMs: 300,
  stallLocks: 500,
  stallWatchdogMs: 900,
};

/** What runs unmeasured before the first round of `plan`, so that code is compiled and connections are warm. */
export function warmUpOf(plan: Plan): Plan {
  return {
    ...plan,
    name: 'warm-up',
    throughputMs: 100,
    warmUpCpuMs: plan.name === 'tiny' ? 0 : 1_000,
    hotKeyMs: Math.min(plan.hotKeyMs, 1_500),
    hotKeySectionMs: Math.min(plan.hotKeySectionMs, 500),
    // The code on this path is compiled only when it is hot, after some thousand hand-offs. That of a service has been.
    wakeUps: Infinity,
  };
}
