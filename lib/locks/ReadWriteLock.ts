import type { RLock, RReadWriteLock } from '../api';
import { DistributedLock } from './DistributedLock';
import { HandleThread } from './HandleThread';
import type { LockEngine } from './LockEngine';

/**
 * The read/write lock: two {@link DistributedLock}s over one hash in Redis. They share one thread, so that whoever writes
 * through this handle may read through it, and keep reading when it gives the write lock back (the downgrade).
 */
export class ReadWriteLock implements RReadWriteLock {
  readonly name: string;
  readonly #read: DistributedLock;
  readonly #write: DistributedLock;

  /**
   * @param read - with the read driver
   * @param write - with the write driver, of the same name
   */
  constructor(read: LockEngine, write: LockEngine) {
    const thread = new HandleThread();
    this.name = read.name;
    this.#read = new DistributedLock(read, thread);
    this.#write = new DistributedLock(write, thread);
  }

  getName(): string {
    return this.name;
  }

  readLock(): RLock {
    return this.#read;
  }

  writeLock(): RLock {
    return this.#write;
  }
}
