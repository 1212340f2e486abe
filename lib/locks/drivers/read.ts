import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireReadLock, forceReleaseReadLock, isReadLocked, releaseReadLock } from '../../scripts/readLock';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { writeOwnerName } from '../../util/names';
import type { LockDriver } from './LockDriver';
import { readKeyPrefix, readWriteChannel, readWriteKeys, timeoutPrefix } from './readWriteKeys';
import { commonDriver, UNLOCK_MESSAGE } from './reentrant';

/**
 * The read half of the read/write lock (Redisson: RedissonReadLock). Each waiter attempts for itself, since any number may
 * come in. Its data is drawn in `scripts/readLock.ts`.
 *
 * @param renewal - renews the owner's hold keys as well (`readRenewal`)
 */
export function readDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    // Nothing to hand over: whoever waits for the last reader to leave is a writer.
    ...commonDriver(executor, clientId, renewal),
    kind: 'read',
    waiting: 'crowd',
    keysOf: readWriteKeys,
    channelOf: readWriteChannel,
    attempt: ({ rawName, owner, threadId, leaseMs, count, name, token }) =>
      executor.run(
        acquireReadLock,
        { name: rawName, timeoutPrefix: timeoutPrefix(rawName, owner) },
        { lease: leaseMs, owner, writer: writeOwnerName(clientId, threadId), count },
        { what: 'acquire read lock', name, token },
      ),
    release: ({ rawName, owner, left, remainingMs, name, token }) =>
      executor.run(
        releaseReadLock,
        {
          name: rawName,
          channel: readWriteChannel(rawName),
          timeoutPrefix: timeoutPrefix(rawName, owner),
          keyPrefix: readKeyPrefix(rawName),
        },
        { message: UNLOCK_MESSAGE, owner, left, remaining: remainingMs, publish: PUBLISH_COMMAND },
        { what: 'release read lock', name, token },
      ),
    forceRelease: (rawName, name) =>
      executor.run(
        forceReleaseReadLock,
        { name: rawName, channel: readWriteChannel(rawName) },
        { message: UNLOCK_MESSAGE, publish: PUBLISH_COMMAND },
        { what: 'force the release of read lock', name },
      ),
    isLocked: (rawName, name) => executor.run(isReadLocked, { name: rawName }, {}, { what: 'look at read lock', name }),
  };
}
