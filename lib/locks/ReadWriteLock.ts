import type { ObjectListener, RLock, RReadWriteLock } from '../api';
import { Lock } from './Lock';
import { HandleThread } from './core/calls';
import type { LockEngine } from './core/LockEngine';

/**
 * The read/write lock: two {@link Lock}s over one hash in Redis. They share one thread, so that the writer of this
 * handle may read through it, too, and keep reading after it has released the write lock (the downgrade).
 */
export class ReadWriteLock implements RReadWriteLock {
  readonly name: string;
  readonly #read: Lock;
  readonly #write: Lock;

  /**
   * @param read - the engine of the read kind
   * @param write - the engine of the write kind, with the same name
   */
  constructor(read: LockEngine, write: LockEngine) {
    const thread = new HandleThread();
    this.name = read.name;
    this.#read = new Lock(read, thread);
    this.#write = new Lock(write, thread);
  }

  getName(): string {
    return this.name;
  }

  addListener(listener: ObjectListener): Promise<number> {
    return this.#read.addListener(listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.#read.removeListener(listenerId);
  }

  readLock(): RLock {
    return this.#read;
  }

  writeLock(): RLock {
    return this.#write;
  }
}
