import type { LockOptions, RSemaphore } from '../api';
import { PUBLISH_COMMAND } from '../scripts/Script';
import {
  addSemaphorePermits,
  availablePermits,
  deleteSemaphore,
  drainPermits,
  releaseSemaphore,
  releaseSemaphoreIfExists,
  trySetPermits,
} from '../scripts/semaphore';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { checkChange, checkCount, readSignal } from './callArguments';
import type { RedisObject } from './RedisObject';
import { SemaphoreAcquisition } from './SemaphoreAcquisition';

/**
 * The semaphore (Redisson: RedissonSemaphore). Its data is drawn in `scripts/semaphore.ts`.
 *
 * It does not know who has a permit, so a command whose answer is lost cannot be repeated or taken back: every method
 * that changes something then rejects with `CommandTimeoutError` or `ConnectionError`, whose `mayHaveRun` tells whether it
 * may have been done. An acquisition that is answered too late gives its permits back by itself; one whose connection
 * broke may have cost them. `RPermitExpirableSemaphore` has no such doubt.
 */
export class Semaphore implements RSemaphore {
  readonly #object: RedisObject;

  constructor(object: RedisObject) {
    this.#object = object;
  }

  get name(): string {
    return this.#object.name;
  }

  getName(): string {
    return this.#object.name;
  }

  async acquire(permits = 1, options?: LockOptions): Promise<void> {
    await this.#take(permits, Infinity, options);
  }

  async tryAcquire(permits = 1, waitTime = 0, unit?: TimeUnit, options?: LockOptions): Promise<boolean> {
    return this.#take(permits, toMillis(waitTime, unit, 'waitTime'), options);
  }

  async release(permits = 1): Promise<void> {
    if (checkCount(permits) === 0) return;
    await this.#object.run(releaseSemaphore, { permits, publish: PUBLISH_COMMAND }, 'release permits of');
  }

  async releaseIfExists(permits = 1): Promise<boolean> {
    if (checkCount(permits) === 0) return false;
    return this.#object.run(releaseSemaphoreIfExists, { permits, publish: PUBLISH_COMMAND }, 'release permits of');
  }

  async availablePermits(): Promise<number> {
    return this.#object.run(availablePermits, {}, 'look at');
  }

  async drainPermits(): Promise<number> {
    return this.#object.run(drainPermits, {}, 'drain');
  }

  async trySetPermits(permits: number, ttl?: number, unit?: TimeUnit): Promise<boolean> {
    const args = { permits: checkCount(permits), ttl: readTtl(ttl, unit), publish: PUBLISH_COMMAND } as const;
    return this.#object.run(trySetPermits, args, 'set permits of');
  }

  async addPermits(permits: number): Promise<void> {
    if (checkChange(permits) === 0) return;
    await this.#object.run(addSemaphorePermits, { permits, publish: PUBLISH_COMMAND }, 'add permits to');
  }

  async delete(): Promise<boolean> {
    return this.#object.run(deleteSemaphore, {}, 'delete');
  }

  async #take(permits: number, waitMs: number, options: LockOptions | undefined): Promise<boolean> {
    const signal = readSignal(options);
    if (checkCount(permits) === 0) return true;
    const acquisition = new SemaphoreAcquisition(this.#object, permits, waitMs > 0);
    return (await this.#object.wait(acquisition, waitMs, signal)) !== undefined;
  }
}

/** In ms; 0 = for ever. @throws RangeError unless it is positive */
function readTtl(ttl: number | undefined, unit: TimeUnit | undefined): number {
  if (ttl === undefined) return 0;
  const ms = toMillis(ttl, unit, 'ttl');
  if (ms <= 0) throw new RangeError(`ttl must be positive, got ${ttl}`);
  return ms;
}
