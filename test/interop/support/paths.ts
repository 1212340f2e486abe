/** One step: a method and its arguments. An argument may be an object of its own: `{ object: Path }`. */
export type Step = readonly [method: string, ...args: unknown[]];

/** How to get an object from a client: `[['getReadWriteLock', 'rw'], ['readLock']]`. */
export type Path = readonly Step[];

/** The objects by name, for both sides. */
export const at = {
  lock: (name: string): Path => [['getLock', name]],
  fair: (name: string): Path => [['getFairLock', name]],
  fenced: (name: string): Path => [['getFencedLock', name]],
  spin: (name: string): Path => [['getSpinLock', name]],
  nonReentrant: (name: string): Path => [['getNonReentrantLock', name]],
  nonReentrantFair: (name: string): Path => [['getNonReentrantFairLock', name]],
  read: (name: string): Path => [['getReadWriteLock', name], ['readLock']],
  write: (name: string): Path => [['getReadWriteLock', name], ['writeLock']],
  multi: (...locks: readonly Path[]): Path => [['getMultiLock', ...locks.map((object) => ({ object }))]],
  group: (name: string, values: readonly string[]): Path => [['getMultiLock', name, values]],
  semaphore: (name: string): Path => [['getSemaphore', name]],
  permits: (name: string): Path => [['getPermitExpirableSemaphore', name]],
  latch: (name: string): Path => [['getCountDownLatch', name]],
  /** Node only: the floor of the benchmarks, see `nodeDriver/RawLocks.ts`. */
  raw: (name: string): Path => [['raw', name]],
} as const;
