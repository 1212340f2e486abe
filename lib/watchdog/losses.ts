import type { Ownership } from './Ownership';

/** An ownership that turned out to be gone, and why. */
export interface Loss {
  readonly ownership: Ownership;
  readonly why: string;
  readonly options?: ErrorOptions | undefined;
  /** For a group lock: the values that are gone. Then every ownership of that owner that covers one of them is lost. */
  readonly gone?: readonly string[] | undefined;
}

/** The code of a renewal's error: the watchdog thread renews no more, since the event loop was blocked too long. */
export const STALLED = 'IOREDISSON_STALLED';

/** The loss of an ownership whose deadline has passed. */
export function lossOf(ownership: Ownership): Loss {
  const failure = ownership.renewalFailed;
  if (ownership.watchdogMs === 0) return { ownership, why: 'its lease has ended' };
  if ((failure as { readonly code?: unknown } | undefined)?.code === STALLED) {
    return { ownership, why: failure!.message, options: { cause: failure } };
  }
  if (failure !== undefined) {
    return { ownership, why: 'its lease ran out because every renewal failed', options: { cause: failure } };
  }
  return { ownership, why: 'its lease ran out before a renewal was confirmed (event loop blocked, or Redis silent)' };
}
