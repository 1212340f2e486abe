import {
  type CommandExecutor,
  newCleanupRecord,
  newSendRecord,
  type SendRecord,
} from '../../connection/pending/CommandExecutor';
import { PUBLISH_COMMAND, type ScriptArg } from '../../scripts/Script';
import { prefixName } from '../../util/names';
import type { Renewal } from '../../watchdog/Ownership';
import type { FAIR_ACQUIRE } from './fairQueue';
import {
  abandonFairLock,
  acquireFairLock,
  checkFairTurn,
  forceReleaseFairLock,
  LEFT_FREE_LOCK,
  releaseFairLock,
  tryAcquireFairLock,
} from './fairScripts';
import type { AttemptRequest, LockKind } from './LockKind';
import { commonKind, lockChannel, UNLOCK_MESSAGE } from './reentrant';

/** The keys of a fair lock. */
export interface FairKeys {
  readonly name: string;
  readonly queue: string;
  readonly timeouts: string;
}

/** `name`, `redisson_lock_queue:{name}`, `redisson_lock_timeout:{name}`. */
export function fairKeys(rawName: string): FairKeys {
  return {
    name: rawName,
    queue: prefixName('redisson_lock_queue', rawName),
    timeouts: prefixName('redisson_lock_timeout', rawName),
  };
}

/** Checks that a queue goes on: its head was told that the lock is free, but may be dead. */
export interface HeadCheck {
  /** The head of this queue has just been told. */
  told(rawName: string): void;
}

/** Whether the attempt is that of a waiter; a single attempt must not leave a place in the queue behind. */
export function joinsQueue(request: AttemptRequest): boolean {
  return request.queues && request.waitMs > 0;
}

/**
 * What a waiter may cost the others, in ms: the same number each time one acquisition speaks to Redis, since it is
 * added and subtracted.
 * @param unlimitedMs - that of a waiter without limit (`fairLockWaitTimeout`)
 */
export function waitOnWire({ waitMs }: AttemptRequest, unlimitedMs: number): number {
  // A whole number: a score with a fraction means something else.
  return waitMs > 0 && waitMs !== Infinity ? Math.ceil(waitMs) : unlimitedMs;
}

/** {@link fairKeys}, and what the channels of the waiters begin with. */
export function fairChannelKeys(rawName: string): FairKeys & { readonly channelBase: string } {
  return { ...fairKeys(rawName), channelBase: lockChannel(rawName) };
}

type FairAcquireArgs = Readonly<Record<(typeof FAIR_ACQUIRE.args)[number], ScriptArg>>;

/** The arguments of an acquisition. @param unlimitedMs - see {@link waitOnWire} */
export function fairAcquireArgs(request: AttemptRequest, unlimitedMs: number): FairAcquireArgs {
  return {
    lease: request.leaseMs,
    owner: request.owner,
    wait: waitOnWire(request, unlimitedMs),
    now: Date.now(),
    count: request.count,
    slept: request.sleptMs,
    message: UNLOCK_MESSAGE,
    publish: PUBLISH_COMMAND,
  };
}

/**
 * The fair lock (Redisson: RedissonFairLock): the lock of `reentrant.ts` with a queue in Redis, in which each waiter
 * has a channel of its own. Its data is described in `locks/kinds/fairScripts.ts`.
 *
 * @param waitTimeoutMs - `fairLockWaitTimeout`
 * @param headCheck - told of each lock that becomes free while others wait
 */
export function fairKind(
  executor: CommandExecutor,
  clientId: string,
  renewal: Renewal,
  waitTimeoutMs: number,
  headCheck: HeadCheck,
): LockKind {
  return {
    // The order is that of Redis: no hand-over within the process.
    ...commonKind(executor, clientId, renewal),
    name: 'fair',
    waitOrder: 'shared',
    keysOf: (rawName) => {
      const { name, queue, timeouts } = fairKeys(rawName);
      return [name, queue, timeouts, lockChannel(rawName)];
    },
    channelOf: (rawName, owner) => `${lockChannel(rawName)}:${owner}`,
    attempt: (request) =>
      executor.run(
        joinsQueue(request) ? acquireFairLock : tryAcquireFairLock,
        fairChannelKeys(request.rawName),
        fairAcquireArgs(request, waitTimeoutMs),
        { what: 'acquire fair lock', name: request.name, sendRecord: request.sendRecord },
      ),
    release: async ({ rawName, owner, left, remainingMs, name, sendRecord }) => {
      const reply = await executor.run(
        releaseFairLock,
        fairChannelKeys(rawName),
        {
          message: UNLOCK_MESSAGE,
          owner,
          left,
          remaining: remainingMs,
          now: Date.now(),
          publish: PUBLISH_COMMAND,
        },
        { what: 'release fair lock', name, sendRecord },
      );
      if (reply.kind === 'released' && reply.queued !== 0) headCheck.told(rawName);
      return reply;
    },
    abandon: async (request, sendRecord) => {
      const left = await executor.run(
        abandonFairLock,
        fairChannelKeys(request.rawName),
        {
          message: UNLOCK_MESSAGE,
          owner: request.owner,
          wait: waitOnWire(request, waitTimeoutMs),
          publish: PUBLISH_COMMAND,
        },
        { what: 'leave the queue of fair lock', name: request.name, sendRecord },
      );
      if (left === LEFT_FREE_LOCK) headCheck.told(request.rawName);
    },
    forceRelease: async (rawName, name) => {
      const there = await executor.run(
        forceReleaseFairLock,
        fairChannelKeys(rawName),
        { message: UNLOCK_MESSAGE, now: Date.now(), publish: PUBLISH_COMMAND },
        { what: 'force the release of fair lock', name },
      );
      if (there) headCheck.told(rawName);
      return there;
    },
  };
}

/** How long the head of a queue has to take the lock that it was told of before the first look, in ms. */
const FIRST_LOOK_MS = 300;
/** Given as the time since the head was told, in ms: long enough for the waiters behind it to be probed at once. */
const LONG_AGO_MS = 500;
/** A look comes this much later (ms) than the end of the claims that it checks. */
const MARGIN_MS = 50;

/**
 * A client that releases a fair lock looks a moment later whether the head of the queue has come: a dead or frozen one
 * cannot tell that it does not, and those behind it sleep. One look serves all releases of a lock within that
 * moment.
 *
 * States: open -> closed.
 */
export class FairHeadChecks implements HeadCheck {
  readonly #executor: CommandExecutor;
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly first: boolean }>();
  #closed = false;

  constructor(executor: CommandExecutor) {
    this.#executor = executor;
  }

  /** The head of this queue has just been told that the lock is free. */
  told(rawName: string): void {
    const pending = this.#timers.get(rawName);
    if (pending?.first === true || this.#closed) return;
    if (pending !== undefined) clearTimeout(pending.timer);
    this.#arm(rawName, FIRST_LOOK_MS, FIRST_LOOK_MS);
  }

  /** Makes the looks that were due later now, in the turn of the event loop in which the client closes. */
  close(): void {
    this.#closed = true;
    for (const [rawName, { timer }] of this.#timers) {
      clearTimeout(timer);
      this.#look(rawName, LONG_AGO_MS, newCleanupRecord()).catch(() => undefined);
    }
    this.#timers.clear();
  }

  #arm(rawName: string, ms: number, toldMs: number): void {
    const timer = setTimeout(() => void this.#ask(rawName, toldMs), ms);
    timer.unref();
    this.#timers.set(rawName, { timer, first: toldMs > 0 });
  }

  async #ask(rawName: string, toldMs: number): Promise<void> {
    this.#timers.delete(rawName);
    // The connection failed, and the waiters behind it look again when it is back.
    const againMs = await this.#look(rawName, toldMs, newSendRecord()).catch(() => 0);
    if (againMs > 0 && !this.#closed && !this.#timers.has(rawName)) this.#arm(rawName, againMs + MARGIN_MS, 0);
  }

  /** @returns when to look again, in ms; 0: never */
  #look(rawName: string, told: number, sendRecord: SendRecord): Promise<number> {
    return this.#executor.run(
      checkFairTurn,
      fairChannelKeys(rawName),
      { message: UNLOCK_MESSAGE, now: Date.now(), told, publish: PUBLISH_COMMAND },
      { what: 'look whether the queue of a fair lock goes on', sendRecord },
    );
  }
}
