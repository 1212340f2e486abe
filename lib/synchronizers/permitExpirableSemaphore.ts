import type { LockOptions, PermitHoldOptions, PermitsOptions, RPermitExpirableSemaphore } from '../api';
import { PERMIT_HOLD_OPTIONS } from '../config/optionNames';
import type { SendRecord } from '../connection/pending/CommandExecutor';
import { PermitNotFoundError } from '../errors';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../scripts/Script';
import { describe } from '../util/describe';
import { holdLease, NO_LEASE, toMillis } from '../util/duration';
import { newPermitIds, parsePermitId } from '../util/permitId';
import type { TimeUnit } from '../util/TimeUnit';
import { type AcquireReply, REFUSED } from '../scripts/replies';
import { type Acquired, Acquisition, type Target } from '../acquire/Acquisition';
import type { Wait } from '../acquire/acquireWithin';
import type { Leftover, Search, Why } from '../acquire/Rollback';
import { checkChange, checkCount, permitLease, readPermits, readSignal } from './callArguments';
import { PERMIT, UNDO } from '../kinds/permit';
import type { PermitKeys } from '../kinds/Kind';
import { checkWork, type HeldPermits, holdPermits, PermitHold, readHoldRequest, runHeld } from './PermitHold';
import { setAlways, setFirstOfIds } from './permitNumber';
import { FirstUse, named, type RedisObject } from './RedisObject';

/**
 * The semaphore whose permits have ids and leases (Redisson: RedissonPermitExpirableSemaphore). Its data is described
 * in `kinds/permit.ts`.
 */
export function permitSemaphoreOf(
  object: RedisObject<PermitKeys>,
  options?: PermitsOptions,
): RPermitExpirableSemaphore {
  const limit = readPermits(options);
  if (limit !== undefined) object.before = new FirstUse(object.context, () => setAlways(object, limit));

  /** @param given - how many permits, unless the options say so */
  async function holdOf(options: PermitHoldOptions | undefined, known: ReadonlySet<string> | undefined, given = 1) {
    const request = readHoldRequest(options, known);
    const leaseMs = options?.leaseTime === undefined ? NO_LEASE : holdLease(options.leaseTime, options.unit);
    const permits = checkCount(options?.permits === undefined ? given : options.permits);
    const ids = newPermitIds(permits);
    if (ids.length === 0) return new PermitHold(object, NO_PERMITS, 0, request.threadId, leaseMs);
    const keptMs = leaseMs === NO_LEASE ? object.context.settings.lockWatchdogTimeout : leaseMs;
    return holdPermits(object, new PermitIds(object, ids, keptMs), permits, request, leaseMs);
  }

  async function take(
    permits: number,
    waitMs: number,
    leaseMs: number,
    options: LockOptions | undefined,
  ): Promise<string[]> {
    const signal = readSignal(options);
    const ids = newPermitIds(checkCount(permits));
    if (ids.length === 0) return [];
    const target = new PermitIds(object, ids, leaseMs);
    const acquisition = new Acquisition(object.context, target, waitMs);
    return (await object.acquire(acquisition, signal, options, leaseMs)) === undefined ? [] : target.ids;
  }

  return {
    ...named(object),

    async acquire(leaseTime = NO_LEASE, unit?: TimeUnit, options?: LockOptions): Promise<string> {
      const [id] = await take(1, Infinity, permitLease(leaseTime, unit), options);
      return id!;
    },

    acquireMany: async (permits, leaseTime = NO_LEASE, unit?, options?) =>
      take(permits, Infinity, permitLease(leaseTime, unit), options),

    async tryAcquire(waitTime = 0, leaseTime = NO_LEASE, unit?, options?) {
      const [id] = await this.tryAcquireMany(1, waitTime, leaseTime, unit, options);
      return id ?? null;
    },

    tryAcquireMany: async (permits, waitTime = 0, leaseTime = NO_LEASE, unit?, options?) =>
      take(permits, toMillis(waitTime, unit, 'waitTime'), permitLease(leaseTime, unit), options),

    acquireHold: async (options?: PermitHoldOptions) =>
      (await holdOf(options, PERMIT_HOLD_OPTIONS)).watchForAbandonment(),

    async withPermits(permits, fn, options?) {
      checkWork(fn);
      const hold = await holdOf(options, undefined, permits);
      return runHeld(object, hold, () => fn(hold));
    },

    async release(permitId: string): Promise<void> {
      if (!(await this.tryRelease(permitId))) throw new PermitNotFoundError(this.name, [permitId]);
    },

    async releaseMany(permitIds: readonly string[]): Promise<void> {
      // First: it checks what was given.
      const released = await this.tryReleaseMany(permitIds);
      if (released < new Set(permitIds).size) throw new PermitNotFoundError(this.name, permitIds);
    },

    async tryRelease(permitId: string): Promise<boolean> {
      const id = parsePermitId(permitId);
      if (id === undefined) return false;
      return (await object.run(PERMIT.release, { id, ...RELEASE }, 'release a permit of')) === 1;
    },

    async tryReleaseMany(permitIds: readonly string[]): Promise<number> {
      if (!Array.isArray(permitIds)) throw new TypeError(`permit ids must be an array, got ${describe(permitIds)}`);
      const ids = permitIds.map(parsePermitId);
      if (ids.length === 0 || !ids.every((id) => id !== undefined)) return 0;
      return object.run(PERMIT.releaseMany, RELEASE, 'release permits of', { moreArgs: ids });
    },

    availablePermits: async () => object.run(PERMIT.available, PUBLISH, 'read permits of'),

    acquiredPermits: async () => object.run(PERMIT.acquired, PUBLISH, 'read permits of'),

    getPermits: async () => object.run(PERMIT.total, PUBLISH, 'read permits of'),

    trySetPermits: async (permits: number) => setFirstOfIds(object, checkCount(permits)),

    setPermits: async (permits: number) =>
      void (await object.send(PERMIT.setPermits, { total: checkCount(permits), ...PUBLISH }, 'set permits of')),

    async addPermits(permits: number): Promise<void> {
      if (checkChange(permits) === 0) return;
      await object.run(PERMIT.addPermits, { added: permits, ...PUBLISH }, 'add permits to');
    },

    async updateLeaseTime(permitId: string, leaseTime: number, unit?: TimeUnit): Promise<boolean> {
      const leaseMs = permitLease(leaseTime, unit);
      const id = parsePermitId(permitId);
      if (id === undefined) return false;
      const args = { lease: leaseMs, renewal: 0, ...PUBLISH } as const;
      const { name, permits, channel } = object.keys;
      const options = { moreKeys: [name, permits], moreArgs: [channel, 1, id] };
      return (await object.run(PERMIT.updateLeases, args, 'set the lease of a permit of', options))[0] === true;
    },

    async getLeaseTime(permitId: string): Promise<number> {
      const id = parsePermitId(permitId);
      const lease = id === undefined ? null : await object.run(PERMIT.getLease, { id, ...PUBLISH }, 'read a permit of');
      if (lease === null) throw new PermitNotFoundError(this.name, [permitId]);
      return lease;
    },

    delete: async () => object.send(PERMIT.delete, {}, 'delete'),
  };
}

const PUBLISH = { publish: PUBLISH_COMMAND } as const;
const RELEASE = { ...PUBLISH, repeated: RESEND_FLAG } as const;

/** No permits succeed without a command. */
const NO_PERMITS: HeldPermits = { ids: [], release: async () => true };

/** Permits without a lease are searched for as long as those of this lease, in ms. */
const ENDLESS_MS = 30_000;

/** One for all semaphores, so that one command finds permits of several. */
const SEARCH: Search = { script: PERMIT.find, what: 'search for permits' };

/**
 * Permits with ids, to be acquired. Every attempt asks for the same ids. So an attempt after a lost reply finds the
 * permits that the first one took, and permits that no caller owns are released by their ids.
 *
 * Ids that were asked for on two connections are never handed out: the first connection may still deliver, after the
 * caller has released them, and would take permits for ever. They are exchanged for new ones.
 */
class PermitIds implements Target, HeldPermits {
  readonly key: string;
  readonly name: string;
  readonly #object: RedisObject<PermitKeys>;
  readonly leaseMs: number | undefined;
  #ids: readonly Buffer[];
  /** Ids whose permits the next attempt gives back. */
  #old: readonly Buffer[] = [];
  #sent: SendRecord | undefined;

  /**
   * @param ids - new ids, at least one
   * @param leaseMs - in ms, or {@link NO_LEASE}
   */
  constructor(object: RedisObject<PermitKeys>, ids: readonly Buffer[], leaseMs: number) {
    this.#object = object;
    this.#ids = ids;
    this.leaseMs = leaseMs === NO_LEASE ? undefined : leaseMs;
    this.key = object.keys.name;
    this.name = object.name;
  }

  async send(sendRecord: SendRecord): Promise<AcquireReply> {
    const ready = this.#object.before?.ready();
    if (ready !== undefined) {
      await ready;
      if (sendRecord.cancelled) return REFUSED;
    }
    const args = { lease: this.leaseMs ?? NO_LEASE, old: this.#old.length, ...PUBLISH };
    const options = { sendRecord, moreArgs: [...this.#ids, ...this.#old] };
    this.#sent = sendRecord;
    const reply = await this.#object.run(PERMIT.acquire, args, 'acquire permits of', options);
    this.#old = [];
    return reply;
  }

  exchange(): void {
    this.undo('twice', true);
    this.#old = this.#ids;
    this.#ids = newPermitIds(this.#old.length);
  }

  late(times: number): boolean {
    // Only once: a caller may ask for a lease that is shorter than a round trip.
    if (times > 1) return false;
    // Their lease has begun when Redis ran the command, which may have been long after it was sent.
    if (this.#sent?.cancelled !== true) this.undo('doubtful', true);
    this.#ids = newPermitIds(this.#ids.length);
    return true;
  }

  get what(): string {
    return this.#object.doing('acquire permits of');
  }

  get ids(): string[] {
    return this.#ids.map((id) => id.toString('hex'));
  }

  async release(sendRecord: SendRecord): Promise<boolean> {
    const options = { moreArgs: this.#ids, sendRecord };
    return (await this.#object.run(PERMIT.releaseMany, RELEASE, 'release permits of', options)) > 0;
  }

  join(callSite: string | undefined): Wait<Acquired> {
    this.#object.context.permitWaits.begin(this);
    return this.#object.join(callSite, this.#ids.length);
  }

  left(): void {
    this.#object.context.permitWaits.end(this);
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
      leaseMs: this.leaseMs ?? ENDLESS_MS,
      place: { key: object.keys.permits, member: ids[0]! },
      search: SEARCH,
      undo: async (newRecord) => {
        const sendRecord = newRecord();
        const options = { moreArgs: ids, sendRecord };
        const released = await object.run(PERMIT.releaseMany, args, 'give back permits of', options);
        // A command that was sent twice may still take them once more, and a failover may bring them back.
        return released > 0 && sent?.sends === 1 && sendRecord.unconfirmed !== true;
      },
    };
    object.context.rollback.undo(leftover, why);
  }
}
