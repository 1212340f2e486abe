import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import {
  abandonFairLock,
  acquireFairLock,
  forceReleaseFairLock,
  LEFT_FREE_LOCK,
  releaseFairLock,
  tryAcquireFairLock,
} from '../../scripts/fairLock';
import type { FAIR_ACQUIRE } from '../../scripts/fairQueue';
import { PUBLISH_COMMAND, type ScriptArg } from '../../scripts/Script';
import { prefixName } from '../../util/names';
import type { AttemptRequest, LockDriver } from './LockDriver';
import { lockChannel, commonDriver, UNLOCK_MESSAGE } from './reentrant';

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

/** Sees to it that a queue goes on whose head was told that the lock is free, and may be dead. */
export interface TurnCheck {
  /** The head of this queue has just been told. */
  told(rawName: string): void;
}

/** Whether the attempt is that of a waiter; a single attempt must not leave a place in the queue behind. */
export function joinsQueue(request: AttemptRequest): boolean {
  return request.queues && request.waitMs > 0;
}

/**
 * What a waiter may cost the others, in ms: the same number each time one acquisition speaks to Redis, since it is added
 * and subtracted.
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
 * The fair lock (Redisson: RedissonFairLock): the lock of `reentrant.ts` with a queue in Redis, in which each waiter has a
 * channel of its own. Its data is drawn in `scripts/fairLock.ts`.
 *
 * @param waitTimeoutMs - `fairLockWaitTimeout`
 * @param turns - told of each lock that becomes free while others wait
 */
export function fairDriver(
  executor: CommandExecutor,
  clientId: string,
  renewal: RenewalKind,
  waitTimeoutMs: number,
  turns: TurnCheck,
): LockDriver {
  return {
    // The order is that of Redis: no hand-over within the process.
    ...commonDriver(executor, clientId, renewal),
    kind: 'fair',
    waiting: 'crowd',
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
        { what: 'acquire fair lock', name: request.name, token: request.token },
      ),
    release: async ({ rawName, owner, left, remainingMs, name, token }) => {
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
        { what: 'release fair lock', name, token },
      );
      if (reply.kind === 'freed' && reply.queued !== 0) turns.told(rawName);
      return reply;
    },
    abandon: async (request, token) => {
      const left = await executor.run(
        abandonFairLock,
        fairChannelKeys(request.rawName),
        {
          message: UNLOCK_MESSAGE,
          owner: request.owner,
          wait: waitOnWire(request, waitTimeoutMs),
          publish: PUBLISH_COMMAND,
        },
        { what: 'leave the queue of fair lock', name: request.name, token },
      );
      if (left === LEFT_FREE_LOCK) turns.told(request.rawName);
    },
    forceRelease: async (rawName, name) => {
      const there = await executor.run(
        forceReleaseFairLock,
        fairChannelKeys(rawName),
        { message: UNLOCK_MESSAGE, now: Date.now(), publish: PUBLISH_COMMAND },
        { what: 'force the release of fair lock', name },
      );
      if (there) turns.told(rawName);
      return there;
    },
  };
}
