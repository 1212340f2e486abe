import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { ACQUIRED, type AcquireReply, type ReleaseReply } from '../../scripts/replies';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { ownerName, prefixName, remembered } from '../../util/names';
import type { Search } from '../../wait/Rollback';
import { lockWakeRule } from '../../waiters/WaitQueue';
import type { Renewal } from '../../watchdog/Ownership';
import type { Kind } from './Kind';
import type { Handover, LockKind } from './LockKind';
import {
  acquireLock,
  findHolds,
  forceReleaseLock,
  handOverLock,
  lockTimeToLive,
  releaseLock,
  renewLocks,
} from './reentrantScripts';

/** The channel of plain, fenced and non-reentrant locks: `redisson_lock__channel:{name}`. */
export const lockChannel = remembered((rawName) => prefixName('redisson_lock__channel', rawName));

/** The message of an unlock. */
export const UNLOCK_MESSAGE = '0';

/** The holder had lost the lock, so the next waiter got nothing and makes its own attempt. */
export const NOT_HANDED: AcquireReply = Object.freeze({ acquired: false, ttl: 0 });

/** The reentrant lock. */
export const LOCK = {
  name: 'lock',
  noun: 'lock',
  report: 'lock',
  data: 'owners',
  keysOf: (rawName: string) => ({ name: rawName, channel: lockChannel(rawName) }),
  channelOf: lockChannel,
  scripts: () => [acquireLock, releaseLock, handOverLock, forceReleaseLock, findHolds, renewLocks, lockTimeToLive],
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getLock(name),
  forRun: true,
} as const satisfies Kind;

/** Several locks as one: in Redis there are only its members. */
const COMPOSITION = { report: 'lock', data: 'owners', keysOf: () => ({}), scripts: () => [], commands: [] } as const;
export const MULTI = { name: 'multi', noun: 'multi-lock', ...COMPOSITION } as const satisfies Kind;
/** As {@link MULTI}, where the majority counts. */
export const RED = { name: 'red', noun: 'red lock', ...COMPOSITION } as const satisfies Kind;

/** The base of all kinds: the lock of {@link reentrantKind} without hand-over. */
export function commonKind(executor: CommandExecutor, clientId: string, renewal: Renewal): LockKind {
  return {
    name: 'lock',
    reentrant: true,
    executor,
    waitOrder: 'fifo',
    wakeRule: lockWakeRule,
    renewal,
    search: holdSearch(executor),
    ownerOf: (threadId) => ownerName(clientId, threadId),
    keysOf: (rawName) => [rawName, lockChannel(rawName)],
    channelOf: lockChannel,
    attempt: ({ rawName, owner, leaseMs, count, name, sendRecord }) =>
      executor.run(
        acquireLock,
        { name: rawName },
        { lease: leaseMs, owner, count },
        { what: 'acquire lock', name, sendRecord },
      ),
    release: ({ rawName, owner, left, remainingMs, name, sendRecord }) =>
      executor.run(
        releaseLock,
        { name: rawName, channel: lockChannel(rawName) },
        { message: UNLOCK_MESSAGE, owner, left, remaining: remainingMs, publish: PUBLISH_COMMAND },
        { what: 'release lock', name, sendRecord },
      ),
    forceRelease: (rawName, name) =>
      executor.run(
        forceReleaseLock,
        { name: rawName, channel: lockChannel(rawName) },
        { message: UNLOCK_MESSAGE, publish: PUBLISH_COMMAND },
        { what: 'force the release of lock', name },
      ),
    isLocked: (rawName, name) => isHeld(executor, rawName, name),
    holdCount: (rawName, owner, name) => holds(executor, rawName, owner, name),
    remainTimeToLive: (rawName, name) => timeToLive(executor, rawName, name),
  };
}

/** Looks for holds by the owners' fields. */
function holdSearch(executor: CommandExecutor): Search {
  return {
    batchOf: (key) => executor.slotOf(key),
    find: (places) =>
      executor.run(
        findHolds,
        {},
        {},
        {
          what: 'look for locks',
          moreKeys: places.map(({ key }) => key),
          moreArgs: places.map(({ member }) => member),
        },
      ),
  };
}

/** The reentrant lock (Redisson: RedissonLock). Its data is described in `locks/kinds/reentrantScripts.ts`. */
export function reentrantKind(executor: CommandExecutor, clientId: string, renewal: Renewal): LockKind {
  return {
    ...commonKind(executor, clientId, renewal),
    handOver: (from, { rawName, owner, leaseMs, name }) => {
      const released = executor.run(
        handOverLock,
        { name: rawName },
        { owner: from.owner, heir: owner, lease: leaseMs },
        { what: 'hand over lock', name, sendRecord: from.sendRecord },
      );
      return handedTo(released);
    },
  };
}

/** Derives the results of a hand-over for both sides from its command. */
export function handedTo(released: Promise<ReleaseReply>): Handover {
  const acquired = released.then((reply): AcquireReply => {
    if (reply.kind !== 'handed') return NOT_HANDED;
    return reply.token === undefined ? ACQUIRED : { acquired: true, token: reply.token };
  });
  return { released, acquired };
}

// Reads that several kinds of locks share: each is one command.

/** HLEN: whether the lock has an owner. EXISTS, which Redisson uses, would take a key of another type for a lock. */
export async function isHeld(executor: CommandExecutor, rawName: string, name: string): Promise<boolean> {
  return Number(await executor.call('hlen', [rawName], { what: 'look at lock', name })) > 0;
}

/** HGET: the holds of an owner, 0 for none. */
export async function holds(executor: CommandExecutor, rawName: string, owner: string, name: string): Promise<number> {
  const count = await executor.call('hget', [rawName, owner], { what: 'look at lock', name });
  return count === null ? 0 : Number(count);
}

/** PTTL of a lock, as {@link lockTimeToLive} reads it: -2 = no such key, -1 = without expiry. */
export function timeToLive(executor: CommandExecutor, rawName: string, name: string): Promise<number> {
  return executor.run(lockTimeToLive, { name: rawName }, {}, { what: 'look at lock', name });
}

/**
 * Renews every kind of lock that has one owner field in one hash: all but read locks and group locks (Redisson:
 * LockTask).
 * @param executor - sends the commands
 */
export function hashRenewal(executor: CommandExecutor): Renewal {
  return {
    renew: (batch, leaseMs) =>
      executor.run(
        renewLocks,
        {},
        { lease: leaseMs },
        {
          what: 'renew locks',
          moreKeys: batch.map(({ rawName }) => rawName),
          moreArgs: batch.map(({ owner }) => owner),
        },
      ),
    batchOf: (one) => executor.slotOf(one.rawName),
  };
}
