import type { CommandExecutor } from '../../connection/CommandExecutor';
import { lockWakeRule } from '../../pubsub/wakeRules';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireLock, findHolds, forceReleaseLock, handOverLock, releaseLock } from '../../scripts/lock';
import { ACQUIRED, type AcquireReply, type ReleaseReply } from '../../scripts/replies';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { ownerName, prefixName } from '../../util/names';
import type { Handover, LockDriver } from './LockDriver';
import type { Search } from '../../wait/Rollback';
import { holds, isHeld, timeToLive } from './reads';

/** The channel of plain, fenced and non-reentrant locks: `redisson_lock__channel:{name}`. */
export function lockChannel(rawName: string): string {
  return prefixName('redisson_lock__channel', rawName);
}

/** The message of an unlock. */
export const UNLOCK_MESSAGE = '0';

/** The holder had lost the lock, so the heir got nothing and looks for itself. */
export const NOT_HANDED: AcquireReply = Object.freeze({ acquired: false, ttl: 0 });

/** What the kinds have in common: the lock of {@link reentrantDriver} that is never handed over. */
export function commonDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    kind: 'lock',
    reentrant: true,
    executor,
    waiting: 'line',
    wakeRule: lockWakeRule,
    renewal,
    search: holdSearch(executor),
    ownerOf: (threadId) => ownerName(clientId, threadId),
    keysOf: (rawName) => [rawName, lockChannel(rawName)],
    channelOf: lockChannel,
    attempt: ({ rawName, owner, leaseMs, count, name, token }) =>
      executor.run(
        acquireLock,
        { name: rawName },
        { lease: leaseMs, owner, count },
        { what: 'acquire lock', name, token },
      ),
    release: ({ rawName, owner, left, remainingMs, name, token }) =>
      executor.run(
        releaseLock,
        { name: rawName, channel: lockChannel(rawName) },
        { message: UNLOCK_MESSAGE, owner, left, remaining: remainingMs, publish: PUBLISH_COMMAND },
        { what: 'release lock', name, token },
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

/** The reentrant lock (Redisson: RedissonLock). Its data is drawn in `scripts/lock.ts`. */
export function reentrantDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    ...commonDriver(executor, clientId, renewal),
    handOver: (from, { rawName, owner, leaseMs, name }) => {
      const released = executor.run(
        handOverLock,
        { name: rawName },
        { owner: from.owner, heir: owner, lease: leaseMs },
        { what: 'hand over lock', name, token: from.token },
      );
      return handedTo(released);
    },
  };
}

/** What the command of a hand-over means for both sides. */
export function handedTo(released: Promise<ReleaseReply>): Handover {
  const acquired = released.then((reply): AcquireReply => {
    if (reply.kind !== 'handed') return NOT_HANDED;
    return reply.token === undefined ? ACQUIRED : { acquired: true, token: reply.token };
  });
  return { released, acquired };
}
