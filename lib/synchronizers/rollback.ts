import { newCleanupRecord, type SendRecord, type CommandExecutor } from '../connection/pending/CommandExecutor';
import { ConnectionError, CommandTimeoutError } from '../errors';
import { findPermits, releasePermits } from './permitScripts';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { releaseSemaphoreIfExists } from './semaphoreScripts';
import { NO_LEASE } from '../util/duration';
import type { Leftover, LeftoverPlace, Search } from '../wait/Rollback';
import type { PermitKeys, RedisObject } from './RedisObject';

/** One search for all semaphores of a client, so that their permits are looked for together. */
const searches = new WeakMap<CommandExecutor, Search>();

/**
 * Takes back permits with ids that an acquisition may have taken, or may still take, and that no caller owns: until
 * they were found, or an answer behind that acquisition says that they are not there, or their lease has passed.
 *
 * @param sent - of the acquisition
 * @param leaseMs - of the permits, in ms, or {@link NO_LEASE}: then for as long as the watchdog's time-out
 */
export function rollBackPermits(
  object: RedisObject<PermitKeys>,
  ids: readonly Buffer[],
  sent: SendRecord,
  leaseMs: number,
): void {
  const { executor, rollback, settings } = object.context;
  const elsewhere = (): boolean => sent.onManyConnections || sent.connectionNumber !== executor.connectionNumber;
  const leftover: Leftover = {
    unwanted: true,
    livesMs: leaseMs === NO_LEASE ? settings.lockWatchdogTimeout : leaseMs,
    place: { key: object.keys.permits, member: ids[0]! },
    search: permitSearch(executor),
    undo: async () => {
      const sendRecord = newCleanupRecord();
      // A repeat that finds nothing must say so: it proves less than a first send on the connection of the acquisition.
      const args = { now: Date.now(), publish: PUBLISH_COMMAND, repeated: '0' } as const;
      const released = await object.run(releasePermits, args, 'give back permits of', { moreArgs: ids, sendRecord });
      return released > 0 || (!sent.onManyConnections && sendRecord.connectionNumber === sent.connectionNumber);
    },
    ended: () => undefined,
  };
  rollback.add(leftover, !elsewhere());
}

/**
 * Gives back permits of a plain semaphore that an acquisition brought too late. Not to a semaphore that is gone, since
 * that would create it again; and not a second time when the first may have been done: one permit too few is better
 * than one too many. Permits have no lease, so what Redis refuses is tried for as long as the client lives.
 */
export function rollBackSemaphore(object: RedisObject, permits: number): void {
  const leftover: Leftover = {
    unwanted: true,
    livesMs: Infinity,
    place: { key: object.keys.name, member: '' },
    undo: async () => {
      const args = { permits, publish: PUBLISH_COMMAND } as const;
      // A cleanup is accepted while the client closes, too: permits that are left behind can never be found again.
      const sendRecord = newCleanupRecord();
      try {
        await object.run(releaseSemaphoreIfExists, args, 'give back permits of', { sendRecord });
      } catch (error) {
        const answered = !(error instanceof ConnectionError || error instanceof CommandTimeoutError);
        if (answered || !error.mayHaveRun) throw error;
      }
      return true;
    },
    ended: () => undefined,
  };
  object.context.rollback.add(leftover, true);
}

function permitSearch(executor: CommandExecutor): Search {
  let search = searches.get(executor);
  if (search === undefined) {
    const find = (places: readonly LeftoverPlace[]): Promise<boolean[]> =>
      executor.run(
        findPermits,
        {},
        {},
        {
          what: 'look for permits',
          moreKeys: places.map(({ key }) => key),
          moreArgs: places.map(({ member }) => member),
        },
      );
    search = { batchOf: (key) => executor.slotOf(key), find };
    searches.set(executor, search);
  }
  return search;
}
