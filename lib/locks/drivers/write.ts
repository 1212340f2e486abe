import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import { acquireWriteLock, forceReleaseWriteLock, isWriteLocked, releaseWriteLock } from '../../scripts/writeLock';
import { writeOwnerName } from '../../util/names';
import type { LockDriver } from './LockDriver';
import { readKeyPrefix, readWriteChannel, readWriteKeys } from './readWriteKeys';
import { commonDriver } from './reentrant';

/** The message of a write unlock: everybody may try, the readers too. */
const WRITE_UNLOCK_MESSAGE = '1';

/**
 * The write half of the read/write lock (Redisson: RedissonWriteLock). Its data is drawn in `scripts/readLock.ts`.
 */
export function writeDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    // No hand-over from writer to writer: readers would never come in.
    ...commonDriver(executor, clientId, renewal),
    kind: 'write',
    ownerOf: (threadId) => writeOwnerName(clientId, threadId),
    keysOf: readWriteKeys,
    channelOf: readWriteChannel,
    attempt: ({ rawName, owner, leaseMs, count, name, token }) =>
      executor.run(
        acquireWriteLock,
        { name: rawName },
        { lease: leaseMs, owner, count },
        { what: 'acquire write lock', name, token },
      ),
    release: ({ rawName, owner, left, remainingMs, name, token }) =>
      executor.run(
        releaseWriteLock,
        { name: rawName, channel: readWriteChannel(rawName), keyPrefix: readKeyPrefix(rawName) },
        { message: WRITE_UNLOCK_MESSAGE, owner, left, remaining: remainingMs, publish: PUBLISH_COMMAND },
        { what: 'release write lock', name, token },
      ),
    forceRelease: (rawName, name) =>
      executor.run(
        forceReleaseWriteLock,
        { name: rawName, channel: readWriteChannel(rawName) },
        { message: WRITE_UNLOCK_MESSAGE, publish: PUBLISH_COMMAND },
        { what: 'force the release of write lock', name },
      ),
    isLocked: (rawName, name) =>
      executor.run(isWriteLocked, { name: rawName }, {}, { what: 'look at write lock', name }),
  };
}
