import { overdueHolds } from './groupValues';
import type { Hold, Ownership } from './Ownership';

/** An ownership that turned out to be gone, and why. */
export interface Loss {
  readonly ownership: Ownership;
  readonly why: string;
  readonly options?: ErrorOptions | undefined;
  /** Which holds are gone. @default all */
  readonly holds?: readonly Hold[] | undefined;
}

/** The loss of an ownership whose deadline has passed. */
export function lossOf(ownership: Ownership, now: number): Loss {
  const failure = ownership.renewalFailed;
  const holds = ownership.holds[0]?.values === undefined ? undefined : overdueHolds(ownership, now);
  if (ownership.watchdogMs === 0 || holds?.every(({ leaseMs }) => leaseMs !== -1) === true) {
    return { ownership, why: 'its lease has ended', holds };
  }
  if (failure !== undefined) {
    return { ownership, why: 'its lease ran out because every renewal failed', options: { cause: failure }, holds };
  }
  return {
    ownership,
    holds,
    why: 'its lease ran out before a renewal was confirmed (event loop blocked, or Redis silent)',
  };
}
