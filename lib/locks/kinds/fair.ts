import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
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
import type { Kind } from './Kind';
import type { AttemptRequest, LockKind, QueueWatch } from './LockKind';
import { commonKind, lockChannel, UNLOCK_MESSAGE } from './reentrant';
import { findHolds, lockTimeToLive, renewLocks } from './reentrantScripts';

/** `name`; `redisson_lock_queue`, `_timeout` and `_claim` with `:{name}`; the prefix of the waiters' channels. */
export function fairKeys(rawName: string): Readonly<Record<(typeof FAIR_ACQUIRE.keys)[number], string>> {
  return {
    name: rawName,
    queue: prefixName('redisson_lock_queue', rawName),
    timeouts: prefixName('redisson_lock_timeout', rawName),
    claims: prefixName('redisson_lock_claim', rawName),
    channelBase: lockChannel(rawName),
  };
}

/** Whether the attempt joins the queue; a single attempt must not leave an entry there. */
export function joinsQueue(request: AttemptRequest): boolean {
  return request.queues && request.waitMs > 0;
}

/**
 * How long a waiter may delay those behind it, in ms. All commands of one acquisition must send the same number, since
 * it is added to scores and subtracted again.
 * @param unlimitedMs - the number for a waiter without limit (`fairLockWaitTimeout`)
 */
export function waitOnWire({ waitMs }: AttemptRequest, unlimitedMs: number): number {
  // A whole number: Java's scores are.
  return waitMs > 0 && waitMs !== Infinity ? Math.ceil(waitMs) : unlimitedMs;
}

type FairAcquireArgs = Readonly<Record<(typeof FAIR_ACQUIRE.args)[number], ScriptArg>>;

/** The arguments of an acquisition. @param unlimitedMs - see {@link waitOnWire} */
export function fairAcquireArgs(request: AttemptRequest, unlimitedMs: number): FairAcquireArgs {
  return {
    lease: request.leaseMs,
    owner: request.owner,
    wait: waitOnWire(request, unlimitedMs),
    count: request.count,
    slept: request.sleptMs,
    message: UNLOCK_MESSAGE,
    publish: PUBLISH_COMMAND,
  };
}

/** The fair lock. */
export const FAIR = {
  name: 'fair',
  noun: 'fair lock',
  report: 'fair',
  data: 'owners',
  keysOf: (rawName: string) => ({ ...fairKeys(rawName) }),
  channelOf: (rawName: string, owner: string) => `${lockChannel(rawName)}:${owner}`,
  scripts: () => [
    acquireFairLock,
    tryAcquireFairLock,
    releaseFairLock,
    abandonFairLock,
    forceReleaseFairLock,
    checkFairTurn,
    findHolds,
    renewLocks,
    lockTimeToLive,
  ],
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getFairLock(name),
  forRun: true,
} as const satisfies Kind;

/**
 * The fair lock (Redisson: RedissonFairLock): the lock of `reentrant.ts` with a queue in Redis, in which each waiter
 * has its own channel. Its data is described in `locks/kinds/fairScripts.ts`.
 *
 * @param waitTimeoutMs - `fairLockWaitTimeout`
 * @param watch - notified of each lock that becomes free while others wait
 */
export function fairKind(
  executor: CommandExecutor,
  clientId: string,
  renewal: Renewal,
  waitTimeoutMs: number,
  watch: QueueWatch,
): LockKind {
  return {
    // Redis decides the order, so there is no hand-over within the process.
    ...commonKind(executor, clientId, renewal),
    name: 'fair',
    waitOrder: 'shared',
    watch,
    keysOf: (rawName) => Object.values(fairKeys(rawName)),
    channelOf: (rawName, owner) => `${lockChannel(rawName)}:${owner}`,
    attempt: (request) =>
      executor.run(
        joinsQueue(request) ? acquireFairLock : tryAcquireFairLock,
        fairKeys(request.rawName),
        fairAcquireArgs(request, waitTimeoutMs),
        { what: 'acquire fair lock', name: request.name, sendRecord: request.sendRecord },
      ),
    release: async ({ rawName, owner, left, remainingMs, name, sendRecord }) => {
      const reply = await executor.run(
        releaseFairLock,
        fairKeys(rawName),
        {
          message: UNLOCK_MESSAGE,
          owner,
          left,
          remaining: remainingMs,
          publish: PUBLISH_COMMAND,
        },
        { what: 'release fair lock', name, sendRecord },
      );
      if (reply.kind === 'released' && reply.queued !== 0) watch.notified(rawName);
      return reply;
    },
    abandon: async (request, sendRecord) => {
      const left = await executor.run(
        abandonFairLock,
        fairKeys(request.rawName),
        {
          message: UNLOCK_MESSAGE,
          owner: request.owner,
          wait: waitOnWire(request, waitTimeoutMs),
          publish: PUBLISH_COMMAND,
        },
        { what: 'leave the queue of fair lock', name: request.name, sendRecord },
      );
      if (left === LEFT_FREE_LOCK) watch.notified(request.rawName);
    },
    forceRelease: async (rawName, name) => {
      const there = await executor.run(
        forceReleaseFairLock,
        fairKeys(rawName),
        { message: UNLOCK_MESSAGE, publish: PUBLISH_COMMAND },
        { what: 'force the release of fair lock', name },
      );
      if (there) watch.notified(rawName);
      return there;
    },
  };
}
