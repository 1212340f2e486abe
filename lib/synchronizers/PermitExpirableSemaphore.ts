import type { LockOptions, RPermitExpirableSemaphore } from '../api';
import { PermitNotFoundError } from '../errors';
import { acquiredPermits, addPermits, availableLeasedPermits, getPermits, setPermits } from '../scripts/permitCounts';
import {
  deletePermitSemaphore,
  getPermitLease,
  releasePermit,
  releasePermits,
  updatePermitLease,
} from '../scripts/permitExpirableSemaphore';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../scripts/Script';
import { trySetPermits } from '../scripts/semaphore';
import { NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import { checkChange, checkCount, permitLease, readSignal } from './callArguments';
import type { PermitKeys } from './objectKeys';
import { PermitAcquisition, permitExpiry } from './PermitAcquisition';
import { newPermitIds, parsePermitId } from './permitIds';
import type { RedisObject } from './RedisObject';

/**
 * The semaphore whose permits have ids and leases (Redisson: RedissonPermitExpirableSemaphore). Its data is drawn in
 * `scripts/permitExpirableSemaphore.ts`.
 *
 * Leases are counted on the clocks of the clients, from when a request was sent; those must not differ by much.
 */
export class PermitExpirableSemaphore implements RPermitExpirableSemaphore {
  readonly #object: RedisObject<PermitKeys>;

  constructor(object: RedisObject<PermitKeys>) {
    this.#object = object;
  }

  get name(): string {
    return this.#object.name;
  }

  getName(): string {
    return this.#object.name;
  }

  async acquire(leaseTime = NO_LEASE, unit?: TimeUnit, options?: LockOptions): Promise<string> {
    const [id] = await this.#take(1, Infinity, permitLease(leaseTime, unit), options);
    return id!;
  }

  async acquireMany(permits: number, leaseTime = NO_LEASE, unit?: TimeUnit, options?: LockOptions): Promise<string[]> {
    return this.#take(permits, Infinity, permitLease(leaseTime, unit), options);
  }

  async tryAcquire(waitTime = 0, leaseTime = NO_LEASE, unit?: TimeUnit, options?: LockOptions): Promise<string | null> {
    const [id] = await this.tryAcquireMany(1, waitTime, leaseTime, unit, options);
    return id ?? null;
  }

  async tryAcquireMany(
    permits: number,
    waitTime = 0,
    leaseTime = NO_LEASE,
    unit?: TimeUnit,
    options?: LockOptions,
  ): Promise<string[]> {
    return this.#take(permits, toMillis(waitTime, unit, 'waitTime'), permitLease(leaseTime, unit), options);
  }

  async release(permitId: string): Promise<void> {
    if (!(await this.tryRelease(permitId))) throw new PermitNotFoundError(this.name, [permitId]);
  }

  async releaseMany(permitIds: readonly string[]): Promise<void> {
    const wanted = new Set(permitIds).size;
    if ((await this.tryReleaseMany(permitIds)) < wanted) throw new PermitNotFoundError(this.name, permitIds);
  }

  async tryRelease(permitId: string): Promise<boolean> {
    const id = parsePermitId(permitId);
    if (id === undefined) return false;
    const args = { id, ...now(), repeated: RESEND_FLAG } as const;
    return (await this.#object.run(releasePermit, args, 'release a permit of')) === 'released';
  }

  async tryReleaseMany(permitIds: readonly string[]): Promise<number> {
    if (!Array.isArray(permitIds)) throw new TypeError('permit ids must be an array');
    const ids = permitIds.map(parsePermitId);
    if (ids.length === 0 || !ids.every((id) => id !== undefined)) return 0;
    const args = { ...now(), repeated: RESEND_FLAG } as const;
    return this.#object.run(releasePermits, args, 'release permits of', { moreArgs: ids });
  }

  async availablePermits(): Promise<number> {
    return this.#object.run(availableLeasedPermits, now(), 'look at');
  }

  async acquiredPermits(): Promise<number> {
    return this.#object.run(acquiredPermits, now(), 'look at');
  }

  async getPermits(): Promise<number> {
    return this.#object.run(getPermits, now(), 'look at');
  }

  async trySetPermits(permits: number): Promise<boolean> {
    const args = { permits: checkCount(permits), ttl: 0, publish: PUBLISH_COMMAND } as const;
    return this.#object.run(trySetPermits, args, 'set permits of');
  }

  async setPermits(permits: number): Promise<void> {
    await this.#object.run(setPermits, { total: checkCount(permits), publish: PUBLISH_COMMAND }, 'set permits of');
  }

  async addPermits(permits: number): Promise<void> {
    if (checkChange(permits) === 0) return;
    await this.#object.run(addPermits, { added: permits, publish: PUBLISH_COMMAND }, 'add permits to');
  }

  async updateLeaseTime(permitId: string, leaseTime: number, unit?: TimeUnit): Promise<boolean> {
    const leaseMs = permitLease(leaseTime, unit);
    const id = parsePermitId(permitId);
    if (id === undefined) return false;
    const at = now();
    const args = { id, expiry: permitExpiry(at.now, leaseMs), ...at } as const;
    return this.#object.run(updatePermitLease, args, 'set the lease of a permit of');
  }

  async getLeaseTime(permitId: string): Promise<number> {
    const id = parsePermitId(permitId);
    const lease = id === undefined ? null : await this.#object.run(getPermitLease, { id, ...now() }, 'look at');
    if (lease === null) throw new PermitNotFoundError(this.name, [permitId]);
    return lease;
  }

  async delete(): Promise<boolean> {
    return this.#object.run(deletePermitSemaphore, {}, 'delete');
  }

  async #take(permits: number, waitMs: number, leaseMs: number, options: LockOptions | undefined): Promise<string[]> {
    const signal = readSignal(options);
    const ids = newPermitIds(checkCount(permits));
    if (ids.length === 0) return [];
    const acquisition = new PermitAcquisition(this.#object, ids, leaseMs, waitMs > 0);
    return (await this.#object.wait(acquisition, waitMs, signal)) ?? [];
  }
}

/** What nearly every script of it needs: the client's clock, and how to tell. */
function now() {
  return { now: Date.now(), publish: PUBLISH_COMMAND } as const;
}
