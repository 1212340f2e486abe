import type { PermitHold as PermitHoldApi, PermitRunOptions } from '../api';
import { checkOptionNames, PERMIT_RUN_OPTIONS } from '../config/optionNames';
import type { SendRecord } from '../connection/pending/CommandExecutor';
import { LockTimeoutError } from '../errors';
import { HoldTrace } from '../telemetry/tracing';
import { currentScope, currentThreadId, newThreadId } from '../thread/threadScope';
import { describe } from '../util/describe';
import { NO_LEASE, toMillis } from '../util/duration';
import { runAndEnd } from '../util/timing';
import { Acquisition, type Target } from '../acquire/Acquisition';
import type { Why } from '../acquire/Rollback';
import { signalOf, watchForAbandonment } from '../watchdog/OwnershipTable';
import { type Hold, Ownership, ownershipKey, type Renewal } from '../watchdog/Ownership';
import { readSignal } from './callArguments';
import type { RedisObject } from './RedisObject';

/** Permits that were acquired, and how they are released. */
export interface HeldPermits {
  /** Their ids; empty if Redis does not store who has them. Then they are neither renewed nor lost. */
  readonly ids: readonly string[];
  /** Releases them with one command. @returns whether all were there */
  release(sendRecord: SendRecord): Promise<boolean>;
  /**
   * Releases in the background those that are still there. Absent if {@link release} does so.
   * @param sent - the release that may have run, or may still run
   */
  giveBack?(why: Why, sent: SendRecord | undefined): void;
}

/** For permits without ids. */
const NO_RENEWAL: Renewal = { renew: async (batch) => batch.map(() => true), batchOf: () => 0 };

/**
 * Permits that are held together, as an object. For the watchdog they are an ownership like that of a lock: their ids
 * are its values.
 *
 * States: held -> released | lost. The signal aborts only when they are lost.
 */
export class PermitHold implements PermitHoldApi {
  readonly ids: readonly string[];
  readonly permits: number;
  readonly #object: RedisObject;
  readonly #held: HeldPermits;
  readonly #ownership: Ownership;
  readonly #hold: Hold;
  #released: Promise<void> | undefined;

  /**
   * @param wanted - the lease in ms; {@link NO_LEASE}: the watchdog renews them. Without ids there is no lease
   * @param acquired - how they were acquired
   */
  constructor(
    object: RedisObject,
    held: HeldPermits,
    permits: number,
    threadId: number,
    wanted: number,
    acquired?: Pick<Acquisition, 'callSite' | 'deadline'>,
  ) {
    const { context, keys, name, kind } = object;
    const { ids } = held;
    const { callSite, deadline = Infinity } = acquired ?? {};
    const leaseMs = ids.length === 0 ? Infinity : wanted;
    const renewal = ids.length === 0 ? NO_RENEWAL : context.renewals[kind.renewal ?? 'plain'];
    const owner = ids[0] ?? String(newThreadId());
    const key = ownershipKey(keys.name, owner);
    const values = ids.length === 0 ? undefined : { fields: ids, key: owner };
    this.ids = ids;
    this.permits = permits;
    this.#object = object;
    this.#held = held;
    this.#hold = {
      since: performance.now(),
      callSite,
      scope: currentScope(),
      // It is not counted among the locks of that scope.
      given: true,
      leaseMs,
      leaseEnd: leaseMs === NO_LEASE ? Infinity : deadline,
      watchdogMs: context.settings.lockWatchdogTimeout,
      maxRenewals: context.settings.maxRenewTimes,
      renewals: 0,
      maxStallMs: context.threadStarter.maxStallMs,
      released: false,
    };
    this.#ownership = context.ownerships.open(
      new Ownership({ key, name, rawName: keys.name, kind: kind.name, threadId, owner, values, renewal }),
    );
    if (leaseMs === NO_LEASE && this.#hold.maxStallMs! > 0) context.threadStarter.use();
    context.ownerships.add(this.#ownership, this.#hold, deadline);
  }

  get signal(): AbortSignal {
    this.#object.context.watchdog.catchUp();
    return signalOf(this.#hold);
  }

  get isHeld(): boolean {
    this.#object.context.watchdog.catchUp();
    return this.#released === undefined && this.#hold.lost === undefined;
  }

  release(): Promise<void> {
    return (this.#released ??= this.#releaseOnce());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch(() => undefined);
  }

  /** They are acquired by a call: it is traced, and its caller alone can release them. */
  begin(waitMs: number, leaseMs: number): this {
    const subject = this.#object.subject(this.#ownership.threadId, waitMs, leaseMs);
    this.#hold.trace = HoldTrace.begin(subject, undefined);
    return this;
  }

  /** Has them left to expire, with a warning, when no code can reach this object any more. */
  watchForAbandonment(): this {
    const { ownerships } = this.#object.context;
    // No permits: nothing is renewed or lost, so the client forgets them, and they may be dropped without a release.
    if (this.permits === 0 && ownerships.release(this.#ownership, this.#hold)) ownerships.update(this.#ownership);
    return watchForAbandonment(this, { client: this.#object.context, ownership: this.#ownership, hold: this.#hold });
  }

  async #releaseOnce(): Promise<void> {
    const { ownerships, watchdog } = this.#object.context;
    watchdog.catchUp();
    const hold = this.#hold;
    const held = this.#held;
    const ownership = this.#ownership;
    if (hold.lost === undefined) {
      const why = 'the release found a permit of it gone (expired, released or deleted)';
      await ownerships.end<boolean>(ownership, hold, {
        send: ({ sendRecord }) => held.release(sendRecord),
        undo: (reason, sent) => held.giveBack?.(reason, sent),
        answered: (there) => {
          if (!there) ownerships.lose([{ ownership, holds: [hold], why, how: 'released' }]);
        },
      });
    }
    if (hold.lost === undefined) return;
    // It may have been given up, and left to expire.
    if (ownerships.release(ownership, hold)) ownerships.update(ownership);
    held.giveBack?.('released', undefined);
    throw hold.lost;
  }
}

/** What `acquireHold` and `withPermits` of a semaphore were asked for. */
export interface HoldRequest {
  readonly threadId: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the options that all holds of permits have.
 * @throws ConfigError, RangeError, TypeError for wrong options
 */
export function readHoldRequest(options: PermitRunOptions | undefined, known = PERMIT_RUN_OPTIONS): HoldRequest {
  if (options !== undefined) checkOptionNames(options, known);
  const { waitTime, unit, signal, threadId } = options ?? {};
  return {
    threadId: threadId ?? currentThreadId() ?? newThreadId(),
    waitMs: waitTime === undefined ? Infinity : toMillis(waitTime, unit, 'waitTime'),
    signal: readSignal({ threadId, signal }),
  };
}

/**
 * Acquires permits to be held.
 * @param permits - how many; 0 succeed without a command
 * @param leaseMs - in ms, see {@link PermitHold}
 * @throws LockTimeoutError if the time was up; as {@link RedisObject.acquire}
 */
export async function holdPermits(
  object: RedisObject,
  target: Target & HeldPermits,
  permits: number,
  { threadId, waitMs, signal }: HoldRequest,
  leaseMs: number,
): Promise<PermitHold> {
  const acquisition = new Acquisition(object.context, target, waitMs);
  if (permits > 0 && (await object.acquire(acquisition, signal, threadId, leaseMs)) === undefined) {
    throw new LockTimeoutError(object.name, Math.max(0, waitMs), { cause: acquisition.failure, permits });
  }
  return new PermitHold(object, target, permits, threadId, leaseMs, acquisition).begin(waitMs, leaseMs);
}

/** Runs the callback of `withPermits`, and releases the permits afterwards, whatever happens. */
export function runHeld<T>({ context }: RedisObject, hold: PermitHold, fn: () => T | PromiseLike<T>): Promise<T> {
  return runAndEnd(
    () => context.closing.runWork(fn),
    () => hold.release(),
  );
}

/** @throws TypeError unless it is a function */
export function checkWork(fn: unknown): void {
  if (typeof fn !== 'function') throw new TypeError(`withPermits needs a function to run, got ${describe(fn)}`);
}
