import type { LockOptions, PermitRunOptions, PermitsOptions, RSemaphore } from '../api';
import type { SendRecord } from '../connection/pending/CommandExecutor';
import { CommandTimeoutError, ConnectionError } from '../errors';
import { ACQUIRED, type AcquireReply, REFUSED } from '../scripts/replies';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { type Acquired, Acquisition, type Target } from '../acquire/Acquisition';
import type { Attempt, Wait } from '../acquire/acquireWithin';
import { mayHaveRun, type Why } from '../acquire/Rollback';
import type { Waiter } from '../waiters/Waiter';
import { checkChange, checkCount, readPermits, readSignal } from './callArguments';
import { checkWork, type HeldPermits, holdPermits, readHoldRequest, runHeld } from './PermitHold';
import { setFirst } from './permitNumber';
import { FirstUse, named, type RedisObject } from './RedisObject';
import { SEMAPHORE } from '../kinds/semaphore';

/** A release that creates the semaphore if it does not exist, and one that does not. */
const ALWAYS = { existing: 0, publish: PUBLISH_COMMAND } as const;
const IF_EXISTS = { existing: 1, publish: PUBLISH_COMMAND } as const;

/**
 * The semaphore (Redisson: RedissonSemaphore). Its data is described in `kinds/semaphore.ts`.
 *
 * Redis does not store who has a permit, so a command whose reply is lost can be neither repeated nor undone. Every
 * method that changes something then rejects with `CommandTimeoutError` or `ConnectionError`, whose `mayHaveRun` says
 * whether the change may have been made. An acquisition whose reply comes too late releases its permits by itself; if
 * its connection broke, the permits may be lost. `RPermitExpirableSemaphore` does not have this problem.
 *
 * @param options - `permits`: how many there are to be, set before the first use
 */
export function semaphoreOf(object: RedisObject, options?: PermitsOptions): RSemaphore {
  const limit = readPermits(options);
  if (limit !== undefined)
    object.before = new FirstUse(object.context, async () => void (await setFirst(object, limit)));

  async function take(permits: number, waitMs: number, options: LockOptions | undefined): Promise<boolean> {
    const signal = readSignal(options);
    if (checkCount(permits) === 0) return true;
    const acquisition = new Acquisition(object.context, new PermitCount(object, permits), waitMs);
    return (await object.acquire(acquisition, signal, options)) !== undefined;
  }

  return {
    ...named(object),

    acquire: async (permits = 1, options?: LockOptions) => void (await take(permits, Infinity, options)),

    tryAcquire: async (permits = 1, waitTime: number = 0, unit?: TimeUnit, options?: LockOptions) =>
      take(permits, toMillis(waitTime, unit, 'waitTime'), options),

    async withPermits<T>(permits: number, fn: () => T | PromiseLike<T>, options?: PermitRunOptions): Promise<T> {
      checkWork(fn);
      const request = readHoldRequest(options);
      const target = new PermitCount(object, checkCount(permits));
      return runHeld(object, await holdPermits(object, target, permits, request, NO_LEASE), fn);
    },

    async release(permits = 1): Promise<void> {
      if (checkCount(permits) === 0) return;
      await object.run(SEMAPHORE.release, { permits, ...ALWAYS }, 'release permits of');
    },

    async releaseIfExists(permits = 1): Promise<boolean> {
      if (checkCount(permits) === 0) return false;
      return (await object.run(SEMAPHORE.release, { permits, ...IF_EXISTS }, 'release permits of')) !== null;
    },

    availablePermits: async () => object.run(SEMAPHORE.available, {}, 'read permits of'),

    drainPermits: async () => object.run(SEMAPHORE.drain, {}, 'drain'),

    async trySetPermits(permits: number, ttl?: number, unit?: TimeUnit): Promise<boolean> {
      return setFirst(object, checkCount(permits), readTtl(ttl, unit));
    },

    async addPermits(permits: number): Promise<void> {
      if (checkChange(permits) === 0) return;
      await object.run(SEMAPHORE.addPermits, { permits, publish: PUBLISH_COMMAND }, 'add permits to');
    },

    delete: async () => object.send(SEMAPHORE.delete, {}, 'delete'),
  };
}

/** The ttl in ms; 0 = no expiry. @throws RangeError unless it is positive */
function readTtl(ttl: number | undefined, unit: TimeUnit | undefined): number {
  if (ttl === undefined) return 0;
  const ms = toMillis(ttl, unit, 'ttl');
  if (ms <= 0) throw new RangeError(`ttl must be positive, got ${ttl}`);
  return ms;
}

/**
 * A number of permits of a semaphore, to be acquired.
 *
 * Nothing in Redis shows later whether an attempt took permits. So no attempt follows one without a reply. The reply is
 * awaited in the background, and permits that it brings are released.
 *
 * Therefore a waiter that no message has woken first reads whether there are enough. A read can be repeated, so a
 * connection that breaks does not end the wait: not while it subscribes, and not when Redis is back.
 */
class PermitCount implements Target, HeldPermits {
  readonly ids = [];
  readonly key: string;
  readonly name: string;
  repeatable = false;
  readonly #object: RedisObject;
  readonly #permits: number;
  #wait: Waiter<Acquired> | undefined;

  /** @param permits - how many, at least 1 */
  constructor(object: RedisObject, permits: number) {
    this.#object = object;
    this.#permits = permits;
    this.key = object.keys.name;
    this.name = object.name;
  }

  async send(sendRecord: SendRecord): Promise<AcquireReply> {
    const ready = this.#object.before?.ready();
    if (ready !== undefined) {
      await ready;
      if (sendRecord.cancelled) return REFUSED;
    }
    this.repeatable = this.#wait !== undefined && this.#wait.woken !== 'message';
    if (this.repeatable) {
      if (!(await this.#hasEnough(sendRecord)) || sendRecord.cancelled) return REFUSED;
      this.repeatable = false;
    }
    const late = (taken: boolean): void => {
      if (taken) this.#giveBack();
    };
    const options = { sendRecord, late };
    const args = { permits: this.#permits };
    return (await this.#object.run(SEMAPHORE.acquire, args, 'acquire permits of', options)) ? ACQUIRED : REFUSED;
  }

  get what(): string {
    return this.#object.doing('acquire permits of');
  }

  join(callSite: string | undefined): Wait<Acquired> {
    this.#object.context.permitWaits.begin(this);
    this.#wait = this.#object.join(callSite, this.#permits);
    return this.#wait;
  }

  left(): void {
    this.#object.context.permitWaits.end(this);
  }

  undo(_why: Why, _taken: boolean, pending?: Promise<Attempt<Acquired>>): void {
    pending?.then(
      ({ ok }) => {
        if (ok) this.#giveBack();
      },
      () => undefined,
    );
  }

  /** Only a release that has certainly not run is repeated: one permit too few is better than one too many. */
  async release(sendRecord: SendRecord): Promise<boolean> {
    if (this.#permits === 0) return true;
    const args = { permits: this.#permits, ...ALWAYS };
    try {
      await this.#object.run(SEMAPHORE.release, args, 'release permits of', { sendRecord });
    } catch (error) {
      if (!mayHaveRun(error)) this.#giveBack();
      throw error;
    }
    return true;
  }

  /** Whether there are enough permits. The error of this read says that nothing was taken. */
  async #hasEnough(sendRecord: SendRecord): Promise<boolean> {
    try {
      return (await this.#object.run(SEMAPHORE.available, {}, 'acquire permits of', { sendRecord })) >= this.#permits;
    } catch (error) {
      if (!(error instanceof ConnectionError) || !error.mayHaveRun) throw error;
      const message = `The connection to Redis was lost while waiting for permits of semaphore '${this.#object.name}'; none was taken.`;
      throw new ConnectionError(message, false, { cause: error.cause });
    }
  }

  /**
   * Releases permits that were taken too late. If the semaphore is gone, nothing is released, since that would create
   * it again. If the first try may have run, there is no second one: one permit too few is better than one too many.
   * Permits have no lease, so a try that Redis refuses is repeated for as long as the client lives.
   */
  #giveBack(): void {
    const object = this.#object;
    const args = { permits: this.#permits, ...IF_EXISTS };
    const undo = async (newRecord: () => SendRecord): Promise<boolean> => {
      try {
        await object.run(SEMAPHORE.release, args, 'give back permits of', { sendRecord: newRecord() });
      } catch (error) {
        const answered = !(error instanceof ConnectionError || error instanceof CommandTimeoutError);
        if (answered || !error.mayHaveRun) throw error;
      }
      return true;
    };
    const place = { key: this.key, member: '' };
    object.context.rollback.undo({ sent: undefined, leaseMs: Infinity, place, undo }, 'doubtful');
  }
}
