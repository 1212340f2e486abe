import type { LockOptions, ObjectListener, RSemaphore } from '../api';
import { newSendRecord } from '../connection/pending/CommandExecutor';
import { ConnectionError } from '../errors';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { Acquirable, Attempt, Wait } from '../wait/acquireWithin';
import type { Waiter } from '../waiters/Waiter';
import { semaphoreWakeRule } from '../waiters/WaitQueue';
import { checkChange, checkCount, readSignal } from './callArguments';
import type { RedisObject } from './RedisObject';
import { rollBackSemaphore } from './rollback';
import {
  acquireSemaphore,
  addSemaphorePermits,
  availablePermits,
  deleteSemaphore,
  drainPermits,
  releaseSemaphore,
  releaseSemaphoreIfExists,
  trySetPermits,
} from './semaphoreScripts';

/**
 * The semaphore (Redisson: RedissonSemaphore). Its data is described in `synchronizers/semaphoreScripts.ts`.
 *
 * Redis does not store who has a permit, so a command whose reply is lost can be neither repeated nor undone. Every
 * method that changes something then rejects with `CommandTimeoutError` or `ConnectionError`, whose `mayHaveRun` says
 * whether the change may have been made. An acquisition whose reply comes too late releases its permits by itself; if
 * its connection broke, the permits may be lost. `RPermitExpirableSemaphore` does not have this problem.
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

  addListener(listener: ObjectListener): Promise<number> {
    return this.#object.addListener(listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.#object.removeListener(listenerId);
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
    return (await this.#object.wait(acquisition, waitMs, signal, options)) !== undefined;
  }
}

/** The ttl in ms; 0 = no expiry. @throws RangeError unless it is positive */
function readTtl(ttl: number | undefined, unit: TimeUnit | undefined): number {
  if (ttl === undefined) return 0;
  const ms = toMillis(ttl, unit, 'ttl');
  if (ms <= 0) throw new RangeError(`ttl must be positive, got ${ttl}`);
  return ms;
}

const NOT_ENOUGH: Attempt<true> = Object.freeze({ ok: false, retryInMs: Infinity });
const TAKEN: Attempt<true> = Object.freeze({ ok: true, value: true });

/**
 * One wait for permits of a semaphore.
 *
 * Nothing in Redis shows later whether an attempt took permits. So no attempt follows one without a reply. The reply is
 * awaited in the background, and permits that it brings are released.
 *
 * Therefore a waiter that no message told of permits first looks whether there are enough. A look can be repeated, so a
 * connection that breaks does not end the wait: not while it subscribes, and not when Redis is back.
 */
export class SemaphoreAcquisition implements Acquirable<true> {
  readonly mustQueue = false;
  repeatable = false;
  trace: Acquirable<true>['trace'];
  mayBegin: Acquirable<true>['mayBegin'];
  readonly #object: RedisObject;
  readonly #permits: number;
  readonly #waits: boolean;
  readonly #sendRecord = newSendRecord(this);
  #wait: Waiter<true> | undefined;

  /**
   * @param permits - how many, at least 1
   * @param waits - `false`: one attempt
   */
  constructor(object: RedisObject, permits: number, waits: boolean) {
    this.#object = object;
    this.#permits = permits;
    this.#waits = waits;
  }

  async attempt(): Promise<Attempt<true>> {
    this.repeatable = this.#wait?.told === false;
    if (this.repeatable) {
      if (!(await this.#look()) || this.#sendRecord.cancelled) return NOT_ENOUGH;
      this.repeatable = false;
    }
    const late = (taken: boolean): void => {
      if (taken) rollBackSemaphore(this.#object, this.#permits);
    };
    const args = { permits: this.#permits };
    const isTaken = await this.#object.run(acquireSemaphore, args, 'acquire permits of', {
      sendRecord: this.#sendRecord,
      late,
    });
    if (!isTaken) return NOT_ENOUGH;
    this.#wait?.acquiredFor(0);
    return TAKEN;
  }

  outage(): Error | undefined {
    return this.#object.outage('acquire permits of');
  }

  join(): Wait<true> | undefined {
    if (!this.#waits) return undefined;
    this.#wait = this.#object.join<true>(semaphoreWakeRule, this.#permits);
    return this.#wait;
  }

  giveUp(pending: Promise<Attempt<true>> | undefined): void {
    this.#sendRecord.cancelled = true;
    pending?.then(
      ({ ok }) => {
        if (ok) rollBackSemaphore(this.#object, this.#permits);
      },
      () => undefined,
    );
  }

  /** Whether there are enough permits. The error of a look says that nothing was taken. */
  async #look(): Promise<boolean> {
    try {
      const options = { sendRecord: this.#sendRecord };
      return (await this.#object.run(availablePermits, {}, 'acquire permits of', options)) >= this.#permits;
    } catch (error) {
      if (!(error instanceof ConnectionError) || !error.mayHaveRun) throw error;
      const message = `The connection to Redis was lost while waiting for permits of semaphore '${this.#object.name}'; none was taken.`;
      throw new ConnectionError(message, false, { cause: error.cause });
    }
  }
}
