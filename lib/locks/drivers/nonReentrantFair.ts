import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireNonReentrantFairLock, tryAcquireNonReentrantFairLock } from '../../scripts/nonReentrantLock';
import { fairAcquireArgs, fairChannelKeys, fairDriver, joinsQueue, type TurnCheck } from './fair';
import type { LockDriver } from './LockDriver';
import { refuseReentry } from './nonReentrant';

/**
 * The non-reentrant fair lock (Redisson: RedissonNonReentrantFairLock): the lock of `fair.ts`, which its holder cannot take
 * again. Data and messages are the same.
 *
 * @param waitTimeoutMs - `fairLockWaitTimeout`
 * @param turns - as for `fairDriver`
 */
export function nonReentrantFairDriver(
  executor: CommandExecutor,
  clientId: string,
  renewal: RenewalKind,
  waitTimeoutMs: number,
  turns: TurnCheck,
): LockDriver {
  return {
    ...fairDriver(executor, clientId, renewal, waitTimeoutMs, turns),
    kind: 'nonReentrantFair',
    reentrant: false,
    attempt: async (request) => {
      const reply = await executor.run(
        joinsQueue(request) ? acquireNonReentrantFairLock : tryAcquireNonReentrantFairLock,
        fairChannelKeys(request.rawName),
        fairAcquireArgs(request, waitTimeoutMs),
        { what: 'acquire non-reentrant fair lock', name: request.name, token: request.token },
      );
      return refuseReentry(reply, request);
    },
  };
}
