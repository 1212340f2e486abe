import type { LockHold } from '../../index';

/** The shortest pause between two looks, in ms. */
const MIN_PAUSE_MS = 5;

/**
 * Tells once that a lease that should have been renewed is about to end: while there is still time to end the command
 * inside it. Renewals come at two thirds of the lease, so nothing is due while they work.
 *
 * @param marginMs - told when so much of the lease is left, in ms
 * @param onShort - called at most once, in a timer
 * @returns what ends the watch
 */
export function watchLease(hold: LockHold, marginMs: number, onShort: () => void): () => void {
  let timer: NodeJS.Timeout;
  const look = (): void => {
    const pause = Math.max(MIN_PAUSE_MS, hold.remainingLeaseMs - marginMs);
    timer = setTimeout(() => (hold.remainingLeaseMs > marginMs ? look() : onShort()), pause);
  };
  look();
  return () => clearTimeout(timer);
}
