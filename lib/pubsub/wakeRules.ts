/** What a message does to the waiters of its channel. */
export type WakeUp = 'next' | 'all' | 'none' | number;

/** Reads a message of one family of channels: whom it wakes. */
export type WakeRule = (message: string) => WakeUp;

/** Locks and read/write locks: `0` = unlocked, one may try; `1` = write lock released, everybody may. */
export const lockWakeRule: WakeRule = (message) => (message === '0' ? 'next' : message === '1' ? 'all' : 'none');

/** Semaphores: the number of permits there are now; so many waiters may try. */
export const semaphoreWakeRule: WakeRule = (message) => {
  const permits = Number(message);
  return Number.isSafeInteger(permits) && permits > 0 ? permits : 'none';
};

/**
 * Count-down latches: `0` = reached zero, `1` = new count or deleted. Both wake: a deleted latch lets its waiters go,
 * who read the count again (the Java client leaves them asleep).
 */
export const latchWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');
