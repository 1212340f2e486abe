/**
 * Which waiters of its channel a message wakes: all that may attempt (of a FIFO queue the head, in its turn), a number
 * of them, or those for which so many `permits` are enough.
 */
export type Whom = 'all' | 'none' | number | { readonly permits: number };

/** Reads a message of one family of channels: which waiters it wakes. */
export type WakeRule = (message: string) => Whom;

/** Locks and read/write locks: `0` = unlocked, `1` = write lock released. */
export const lockWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** Semaphores: the permits there are now; a waiter that needs more need not try. */
export const semaphoreWakeRule: WakeRule = (message) => {
  const permits = readPermits(message);
  return permits > 0 ? { permits } : 'none';
};

/**
 * Permit-expirable semaphores: the permits there are now, or the number added to those. That many waiters may try,
 * whatever they need; one that gets none wakes those that need fewer.
 */
export const permitWakeRule: WakeRule = (message) => readPermits(message) || 'none';

/**
 * Count-down latches: `0` = reached zero, `1` = new count or deleted. Both wake: a deleted latch lets its waiters go,
 * which read the count again (the Java client leaves them asleep).
 */
export const latchWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** @returns 0 for anything but a positive integer */
function readPermits(message: string): number {
  const permits = Number(message);
  return Number.isSafeInteger(permits) && permits > 0 ? permits : 0;
}
