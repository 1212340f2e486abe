import type { CommandExecutor } from '../connection/CommandExecutor';
import { renewReadLocks } from '../scripts/readLock';
import type { Renewable, RenewalKind } from './RenewalKind';

/**
 * Renews read locks: the hash and the keys of the owners' own holds (Redisson: ReadLockTask). Other readers' holds are left
 * alone, so that those of the dead run out.
 *
 * @param executor - where the commands go
 * @param keyPrefixOf - what the keys of the holds on a lock begin with
 */
export function readRenewal(executor: CommandExecutor, keyPrefixOf: (rawName: string) => string): RenewalKind {
  return {
    async renew(holds, leaseMs) {
      const byName = new Map<string, Renewable[]>();
      for (const hold of holds) {
        const readers = byName.get(hold.rawName);
        if (readers === undefined) byName.set(hold.rawName, [hold]);
        else readers.push(hold);
      }
      const alive = await executor.run(
        renewReadLocks,
        {},
        { lease: leaseMs },
        {
          what: 'renew read locks',
          moreKeys: [...byName.keys()].flatMap((rawName) => [rawName, keyPrefixOf(rawName)]),
          moreArgs: [...byName.values()].flatMap((readers) => [readers.length, ...readers.map(({ owner }) => owner)]),
        },
      );
      // The answers come name by name, the caller asked hold by hold.
      const answers = new Map([...byName.values()].flat().map((hold, i) => [hold, alive[i] === true]));
      return holds.map((hold) => answers.get(hold) === true);
    },
    batchOf: (hold) => executor.slotOf(hold.rawName),
  };
}
