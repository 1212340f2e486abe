import type { Hold, Ownership } from './Ownership';

/** Holds that are lost, and why. */
export interface Loss {
  readonly ownership: Ownership;
  /** Those of them that are lost. @default all */
  readonly holds?: readonly Hold[];
  readonly why: string;
  readonly options?: ErrorOptions | undefined;
  /** For a group lock: the values that are gone. Then every ownership of that owner that covers one of them is lost. */
  readonly gone?: readonly string[] | undefined;
  /**
   * `released`: a release found them gone, so nothing of them is left in Redis. `closed`: the client was shut down, as
   * requested, so only the holds themselves are told. By default Redis may still have them.
   */
  readonly how?: 'released' | 'closed' | undefined;
}

/** The code of a {@link stallFailure}. */
const STALLED = 'IOREDISSON_STALLED';

/** Why the watchdog thread renews no more: the event loop was blocked too long. */
export function stallFailure(maxStallMs: number): Error {
  const text =
    `its lease ran out because the event loop was blocked for longer than maxStall (${maxStallMs} ms): the watchdog ` +
    'thread stopped the renewals';
  return Object.assign(new Error(text), { code: STALLED });
}

/**
 * The loss of an ownership whose deadline has passed.
 * @param failure - of its last renewal
 */
export function lossOf(ownership: Ownership, failure: Error | undefined): Loss {
  const options = { cause: failure };
  if (ownership.watchdogMs === 0) return { ownership, why: 'its lease has ended' };
  if (failure === undefined) {
    return { ownership, why: 'its lease ran out before a renewal was confirmed (event loop blocked, or Redis silent)' };
  }
  if ('code' in failure && failure.code === STALLED) return { ownership, why: failure.message, options };
  return { ownership, why: 'its lease ran out because every renewal failed', options };
}
