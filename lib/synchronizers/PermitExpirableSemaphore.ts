import { randomBytes } from 'node:crypto';
import type { LockOptions, ObjectListener, RPermitExpirableSemaphore } from '../api';
import { newSendRecord } from '../connection/pending/CommandExecutor';
import { CommandTimeoutError, PermitNotFoundError } from '../errors';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../scripts/Script';
import { NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { Acquirable, Attempt, Wait } from '../wait/acquireWithin';
import type { Waiter } from '../waiters/Waiter';
import { permitWakeRule } from '../waiters/WaitQueue';
import { checkChange, checkCount, permitLease, readSignal } from './callArguments';
import { acquiredPermits, addPermits, availableLeasedPermits, getPermits, setPermits } from './permitCounts';
import {
  acquirePermits,
  deletePermitSemaphore,
  getPermitLease,
  releasePermit,
  releasePermits,
  updatePermitLease,
} from './permitScripts';
import type { PermitKeys, RedisObject } from './RedisObject';
import { rollBackPermits } from './rollback';
import { trySetPermits } from './semaphoreScripts';

/**
 * The semaphore whose permits have ids and leases (Redisson: RedissonPermitExpirableSemaphore). Its data is described
 * in `synchronizers/permitScripts.ts`.
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

  addListener(listener: ObjectListener): Promise<number> {
    return this.#object.addListener(listener);
  }

  removeListener(listenerId: number): Promise<void> {
    return this.#object.removeListener(listenerId);
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
    // First: it checks what was given.
    const released = await this.tryReleaseMany(permitIds);
    if (released < new Set(permitIds).size) throw new PermitNotFoundError(this.name, permitIds);
  }

  async tryRelease(permitId: string): Promise<boolean> {
    const id = parsePermitId(permitId);
    if (id === undefined) return false;
    const args = { id, ...PUBLISH, repeated: RESEND_FLAG } as const;
    return (await this.#object.run(releasePermit, args, 'release a permit of')) === 'released';
  }

  async tryReleaseMany(permitIds: readonly string[]): Promise<number> {
    if (!Array.isArray(permitIds)) throw new TypeError('permit ids must be an array');
    const ids = permitIds.map(parsePermitId);
    if (ids.length === 0 || !ids.every((id) => id !== undefined)) return 0;
    const args = { ...PUBLISH, repeated: RESEND_FLAG } as const;
    return this.#object.run(releasePermits, args, 'release permits of', { moreArgs: ids });
  }

  async availablePermits(): Promise<number> {
    return this.#object.run(availableLeasedPermits, PUBLISH, 'look at');
  }

  async acquiredPermits(): Promise<number> {
    return this.#object.run(acquiredPermits, PUBLISH, 'look at');
  }

  async getPermits(): Promise<number> {
    return this.#object.run(getPermits, PUBLISH, 'look at');
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
    return this.#object.run(updatePermitLease, { id, lease: leaseMs, ...PUBLISH }, 'set the lease of a permit of');
  }

  async getLeaseTime(permitId: string): Promise<number> {
    const id = parsePermitId(permitId);
    const lease = id === undefined ? null : await this.#object.run(getPermitLease, { id, ...PUBLISH }, 'look at');
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
    return (await this.#object.wait(acquisition, waitMs, signal, options, leaseMs)) ?? [];
  }
}

const PUBLISH = { publish: PUBLISH_COMMAND } as const;

/**
 * One wait for permits with ids. Every attempt asks for the same ids. So an attempt after a lost reply finds the
 * permits that the first one took, and permits that no caller owns are released by their ids.
 *
 * Ids that were asked for on two connections are never handed out: the first connection may still deliver, after the
 * caller has released them, and would take permits for ever. They are exchanged for new ones.
 */
export class PermitAcquisition implements Acquirable<string[]> {
  readonly mustQueue = false;
  trace: Acquirable<string[]>['trace'];
  mayBegin: Acquirable<string[]>['mayBegin'];
  readonly #object: RedisObject<PermitKeys>;
  readonly #leaseMs: number;
  readonly #waits: boolean;
  #sendRecord = newSendRecord(this);
  #ids: readonly Buffer[];
  /** Ids whose permits the next attempt gives back. */
  #old: readonly Buffer[] = [];
  /** The number of the connection on which an attempt got no reply. */
  #unanswered: number | undefined;
  #wait: Waiter<string[]> | undefined;
  /** Whether a reply came after the lease of its permits had ended. */
  #cameLate = false;

  /**
   * @param ids - new ids, at least one
   * @param leaseMs - in ms, or {@link NO_LEASE}
   * @param waits - `false`: one attempt
   */
  constructor(object: RedisObject<PermitKeys>, ids: readonly Buffer[], leaseMs: number, waits: boolean) {
    this.#object = object;
    this.#ids = ids;
    this.#leaseMs = leaseMs;
    this.#waits = waits;
  }

  async attempt(): Promise<Attempt<string[]>> {
    const sentAt = performance.now();
    const old = this.#old;
    const args = { lease: this.#leaseMs, old: old.length, ...PUBLISH };
    const sendRecord = this.#sendRecord;
    const moreArgs = [...this.#ids, ...old];
    const sent = this.#object.run(acquirePermits, args, 'acquire permits of', { sendRecord, moreArgs });
    const reply = await sent.catch((error: unknown) => {
      if (error instanceof CommandTimeoutError && !this.#onManyConnections())
        this.#unanswered = sendRecord.connectionNumber;
      throw error;
    });
    if (reply.acquired && this.#onManyConnections() && !sendRecord.cancelled) {
      rollBackPermits(this.#object, this.#ids, sendRecord, this.#leaseMs);
      this.#old = this.#ids;
      this.#ids = newPermitIds(this.#ids.length);
      this.#sendRecord = newSendRecord(this);
      this.#unanswered = undefined;
      return this.attempt();
    }
    if (!this.#onManyConnections()) this.#unanswered = undefined;
    this.#old = [];
    if (!reply.acquired) return { ok: false, retryInMs: reply.ttl < 0 ? Infinity : Math.max(1, reply.ttl) };
    if (!this.#cameLate && this.#leaseMs > 0 && performance.now() - sentAt >= this.#leaseMs) {
      // The request waited for a connection, and its lease has ended, so it is retried. Only once: a caller may ask for
      // a lease that is shorter than a round trip.
      this.#cameLate = true;
      this.#ids = newPermitIds(this.#ids.length);
      return { ok: false, retryInMs: 1 };
    }
    this.#wait?.acquiredFor(0);
    return { ok: true, value: this.#ids.map(permitIdText) };
  }

  outage(): Error | undefined {
    return this.#object.outage('acquire permits of');
  }

  join(): Wait<string[]> | undefined {
    if (!this.#waits) return undefined;
    this.#wait = this.#object.join<string[]>(permitWakeRule, this.#ids.length);
    return this.#wait;
  }

  giveUp(pending: Promise<Attempt<string[]>> | undefined, doubtful: boolean): void {
    this.#sendRecord.cancelled = true;
    pending?.catch(() => undefined);
    const mayBeTaken = pending !== undefined || doubtful || this.#onManyConnections();
    if (this.#sendRecord.sends === 0 || !mayBeTaken) return;
    rollBackPermits(this.#object, this.#ids, this.#sendRecord, this.#leaseMs);
  }

  /** Whether its ids were asked for on more than one connection. */
  #onManyConnections(): boolean {
    const { onManyConnections, connectionNumber } = this.#sendRecord;
    return onManyConnections || (this.#unanswered !== undefined && this.#unanswered !== connectionNumber);
  }
}

/** Bytes of an id in Redis; in the API it has twice as many hex digits. */
const ID_BYTES = 16;
const ID_TEXT = /^[0-9a-f]{32}$/i;
/** More ids than this would not fit into one command (Redis takes 1024 * 1024 arguments). */
const MAX_IDS = 1_000_000;

/**
 * New ids, as stored in Redis.
 *
 * @param count - how many
 * @throws RangeError if they do not fit into one command
 */
export function newPermitIds(count: number): Buffer[] {
  if (count > MAX_IDS) throw new RangeError(`permits must be at most ${MAX_IDS} at once, got ${count}`);
  const random = randomBytes(count * ID_BYTES);
  return Array.from({ length: count }, (_, i) => random.subarray(i * ID_BYTES, (i + 1) * ID_BYTES));
}

/** The id in the API: 32 lower-case hex digits. */
export function permitIdText(id: Buffer): string {
  return id.toString('hex');
}

/**
 * The id as stored in Redis.
 *
 * @returns `undefined` for a string that cannot be an id: there is no such permit
 * @throws TypeError unless it is a string
 */
export function parsePermitId(permitId: unknown): Buffer | undefined {
  if (typeof permitId !== 'string') throw new TypeError('a permit id must be a string');
  return ID_TEXT.test(permitId) ? Buffer.from(permitId, 'hex') : undefined;
}
