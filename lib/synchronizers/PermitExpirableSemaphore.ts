import { randomBytes } from 'node:crypto';
import type {
  LockOptions,
  ObjectListener,
  PermitHold as PermitHoldApi,
  PermitHoldOptions,
  PermitRunOptions,
  RPermitExpirableSemaphore,
} from '../api';
import { PERMIT_HOLD_OPTIONS } from '../config/optionNames';
import type { CommandExecutor, SendRecord } from '../connection/pending/CommandExecutor';
import { PermitNotFoundError } from '../errors';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../scripts/Script';
import { holdLease, NO_LEASE, toMillis } from '../util/duration';
import type { TimeUnit } from '../util/TimeUnit';
import type { AcquireReply } from '../scripts/replies';
import type { Target } from '../acquire/Acquisition';
import type { Wait } from '../acquire/acquireWithin';
import type { Leftover, LeftoverPlace, Search, Why } from '../acquire/Rollback';
import { permitWakeRule } from '../waiters/WaitQueue';
import { confirmedUntil } from '../watchdog/Ownership';
import { checkChange, checkCount, permitLease, readSignal } from './callArguments';
import { acquiredPermits, addPermits, availableLeasedPermits, getPermits, setPermits } from '../kinds/permitCounts';
import {
  acquirePermits,
  deletePermitSemaphore,
  findPermits,
  getPermitLease,
  releasePermit,
  releasePermits,
  leasesOf,
  UNDO,
  updatePermitLeases,
} from '../kinds/permitScripts';
import type { PermitKeys } from '../kinds/Kind';
import { checkWork, type HeldPermits, PermitHold, readHoldRequest, runHeld, takePermits } from './PermitHold';
import type { RedisObject } from './RedisObject';
import { trySetPermits } from '../kinds/semaphoreScripts';

/**
 * The semaphore whose permits have ids and leases (Redisson: RedissonPermitExpirableSemaphore). Its data is described
 * in `kinds/permitScripts.ts`.
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

  async acquireHold(options?: PermitHoldOptions): Promise<PermitHoldApi> {
    return (await this.#hold(options, PERMIT_HOLD_OPTIONS)).watchForAbandonment();
  }

  async withPermits<T>(
    permits: number,
    fn: (hold: PermitHoldApi) => T | PromiseLike<T>,
    options?: PermitRunOptions,
  ): Promise<T> {
    checkWork(fn);
    const hold = await this.#hold(options, undefined, permits);
    return runHeld(this.#object, hold, () => fn(hold));
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
    return (await this.#object.run(releasePermit, { id, ...RELEASE }, 'release a permit of')) === 'released';
  }

  async tryReleaseMany(permitIds: readonly string[]): Promise<number> {
    if (!Array.isArray(permitIds)) throw new TypeError('permit ids must be an array');
    const ids = permitIds.map(parsePermitId);
    if (ids.length === 0 || !ids.every((id) => id !== undefined)) return 0;
    return this.#object.run(releasePermits, RELEASE, 'release permits of', { moreArgs: ids });
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
    const args = { lease: leaseMs, renewal: 0, ...PUBLISH } as const;
    const options = leasesOf(this.#object.keys, [id]);
    return (await this.#object.run(updatePermitLeases, args, 'set the lease of a permit of', options))[0] === true;
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

  /** @param given - how many permits, unless the options say so */
  async #hold(options: PermitHoldOptions | undefined, known: ReadonlySet<string> | undefined, given = 1) {
    const object = this.#object;
    const request = readHoldRequest(options, known);
    const leaseMs = options?.leaseTime === undefined ? NO_LEASE : holdLease(options.leaseTime, options.unit);
    const permits = checkCount(options?.permits === undefined ? given : options.permits);
    const ids = newPermitIds(permits);
    const { threadId, waitMs } = request;
    if (ids.length === 0) return new PermitHold(object, NO_PERMITS, 0, threadId, Infinity);
    const target = new PermitIds(
      object,
      ids,
      leaseMs === NO_LEASE ? object.context.settings.lockWatchdogTimeout : leaseMs,
    );
    await takePermits(object, target, permits, request, leaseMs);
    return new PermitHold(object, target, permits, threadId, leaseMs).begin(waitMs, leaseMs);
  }

  async #take(permits: number, waitMs: number, leaseMs: number, options: LockOptions | undefined): Promise<string[]> {
    const signal = readSignal(options);
    const ids = newPermitIds(checkCount(permits));
    if (ids.length === 0) return [];
    const target = new PermitIds(this.#object, ids, leaseMs);
    return (await this.#object.acquire(target, waitMs, signal, options, leaseMs)) ?? [];
  }
}

const PUBLISH = { publish: PUBLISH_COMMAND } as const;
const RELEASE = { ...PUBLISH, repeated: RESEND_FLAG } as const;

/** No permits succeed without a command. */
const NO_PERMITS: HeldPermits = { ids: [], heldUntil: Infinity, release: async () => true, giveBack: () => undefined };

/** Permits without a lease are looked for as long as those of this lease, in ms. */
const ENDLESS_MS = 30_000;

/**
 * Permits with ids, to be acquired. Every attempt asks for the same ids. So an attempt after a lost reply finds the
 * permits that the first one took, and permits that no caller owns are released by their ids.
 *
 * Ids that were asked for on two connections are never handed out: the first connection may still deliver, after the
 * caller has released them, and would take permits for ever. They are exchanged for new ones.
 */
class PermitIds implements Target<string[]>, HeldPermits {
  readonly what: string;
  readonly key: string;
  readonly #object: RedisObject<PermitKeys>;
  readonly #leaseMs: number;
  #ids: readonly Buffer[];
  /** Ids whose permits the next attempt gives back. */
  #old: readonly Buffer[] = [];
  #sent: SendRecord | undefined;
  heldUntil = Infinity;

  /**
   * @param ids - new ids, at least one
   * @param leaseMs - in ms, or {@link NO_LEASE}
   */
  constructor(object: RedisObject<PermitKeys>, ids: readonly Buffer[], leaseMs: number) {
    this.#object = object;
    this.#ids = ids;
    this.#leaseMs = leaseMs;
    this.what = object.doing('acquire permits of');
    this.key = object.keys.name;
  }

  async send(sendRecord: SendRecord): Promise<AcquireReply> {
    const args = { lease: this.#leaseMs, old: this.#old.length, ...PUBLISH };
    const options = { sendRecord, moreArgs: [...this.#ids, ...this.#old] };
    this.#sent = sendRecord;
    const reply = await this.#object.run(acquirePermits, args, 'acquire permits of', options);
    this.#old = [];
    return reply;
  }

  exchanges(): boolean {
    this.undo('twice', true);
    this.#old = this.#ids;
    this.#ids = newPermitIds(this.#old.length);
    return true;
  }

  deadline(sentAt: number): number {
    return this.#leaseMs > 0 ? sentAt + this.#leaseMs : Infinity;
  }

  late(times: number): boolean {
    // Only once: a caller may ask for a lease that is shorter than a round trip.
    if (times > 1) return false;
    this.#ids = newPermitIds(this.#ids.length);
    return true;
  }

  take(_reply: AcquireReply, deadline: number): string[] {
    this.heldUntil = confirmedUntil(deadline - this.#leaseMs, this.#leaseMs);
    return this.ids;
  }

  get ids(): string[] {
    return this.#ids.map(permitIdText);
  }

  async release(sendRecord: SendRecord): Promise<boolean> {
    const options = { moreArgs: this.#ids, sendRecord };
    return (await this.#object.run(releasePermits, RELEASE, 'release permits of', options)) > 0;
  }

  join(): Wait<string[]> {
    return this.#object.join<string[]>(permitWakeRule, this.#ids.length);
  }

  undo(why: Why, taken: boolean): void {
    if (taken) this.giveBack(why, this.#sent);
  }

  giveBack(why: Why, sent: SendRecord | undefined): void {
    const object = this.#object;
    const ids = this.#ids;
    const args = { ...PUBLISH, repeated: UNDO } as const;
    const leftover: Leftover = {
      sent,
      leaseMs: this.#leaseMs === NO_LEASE ? ENDLESS_MS : this.#leaseMs,
      place: { key: object.keys.permits, member: ids[0]! },
      search: permitSearch(object.context.executor),
      undo: async (newRecord) => {
        const sendRecord = newRecord();
        const options = { moreArgs: ids, sendRecord };
        const released = await object.run(releasePermits, args, 'give back permits of', options);
        // A command that was sent twice may still take them once more, and a failover may bring them back.
        return released > 0 && sent?.sends === 1 && sendRecord.unconfirmed !== true;
      },
    };
    object.context.rollback.undo(leftover, why);
  }
}

/** One search for all semaphores of a client, so that one command looks for permits of several. */
const searches = new WeakMap<CommandExecutor, Search>();

function permitSearch(executor: CommandExecutor): Search {
  let search = searches.get(executor);
  if (search === undefined) {
    const find = (places: readonly LeftoverPlace[]): Promise<boolean[]> => {
      const moreKeys = places.map(({ key }) => key);
      const moreArgs = places.map(({ member }) => member);
      return executor.run(findPermits, {}, {}, { what: 'look for permits', moreKeys, moreArgs });
    };
    search = { batchOf: (key) => executor.slotOf(key), find };
    searches.set(executor, search);
  }
  return search;
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
