import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { forceReleaseSpinLock, releaseSpinLock } from '../../scripts/spinLock';
import type { Wakeup } from '../../wait/Wakeup';
import type { LockDriver } from './LockDriver';
import { commonDriver } from './reentrant';

/**
 * The spin lock (Redisson: RedissonSpinLock): the lock of `reentrant.ts` without messages; waiters come back by themselves.
 * It announces nothing, so a waiter of a plain lock of the same name learns of its release by the ttl.
 *
 * @param wakeup - makes what wakes the waiter of one acquisition (`BackOffWakeup`)
 */
export function spinDriver(
  executor: CommandExecutor,
  clientId: string,
  renewal: RenewalKind,
  wakeup: () => Wakeup<never>,
): LockDriver {
  return {
    // Nobody of this process waits in a place where the lock could be handed to.
    ...commonDriver(executor, clientId, renewal),
    kind: 'spin',
    waiting: 'crowd',
    keysOf: (rawName) => [rawName],
    wakeup,
    release: ({ rawName, owner, left, remainingMs, name, token }) =>
      executor.run(
        releaseSpinLock,
        { name: rawName },
        { owner, left, remaining: remainingMs },
        { what: 'release spin lock', name, token },
      ),
    forceRelease: (rawName, name) =>
      executor.run(forceReleaseSpinLock, { name: rawName }, {}, { what: 'force the release of spin lock', name }),
  };
}
