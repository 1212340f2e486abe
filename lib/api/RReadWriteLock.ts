import type { RLock } from './RLock';
import type { RObject } from './RObject';

/**
 * A pair of locks: many readers, or one writer. The writer may also read (and keep reading after it gave the write lock
 * back: a downgrade); a reader cannot become the writer while it reads.
 *
 * The two locks share one thread outside thread scopes, so that read and write holds of one handle belong together.
 *
 * Source: `org.redisson.api.RReadWriteLock`.
 */
export interface RReadWriteLock extends RObject {
  /** @returns the lock of the readers */
  readLock(): RLock;
  /** @returns the lock of the writer */
  writeLock(): RLock;
}
