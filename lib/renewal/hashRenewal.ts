import type { CommandExecutor } from '../connection/CommandExecutor';
import { renewLocks } from '../scripts/lock';
import type { RenewalKind } from './RenewalKind';

/**
 * Renews every lock that is one owner field of one hash: all kinds but read locks (Redisson: LockTask).
 * @param executor - where the commands go
 */
export function hashRenewal(executor: CommandExecutor): RenewalKind {
  return {
    renew: (holds, leaseMs) =>
      executor.run(
        renewLocks,
        {},
        { lease: leaseMs },
        {
          what: 'renew locks',
          moreKeys: holds.map((hold) => hold.rawName),
          moreArgs: holds.map((hold) => hold.owner),
        },
      ),
    batchOf: (hold) => executor.slotOf(hold.rawName),
  };
}
