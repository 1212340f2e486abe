import { newCleanupRecord, type SendRecord, type CommandExecutor } from '../connection/pending/CommandExecutor';
import { ConnectionError, CommandTimeoutError } from '../errors';
import { findPermits, releasePermits } from './permitScripts';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { releaseSemaphoreIfExists } from './semaphoreScripts';
import { NO_LEASE } from '../util/duration';
import { LATE_MS, lateMs, type Leftover, type LeftoverPlace, type Search } from '../wait/Rollback';
import type { PermitKeys, RedisObject } from './RedisObject';

/** One search for all semaphores of a client, so that one command looks for permits of several. */
const searches = new WeakMap<CommandExecutor, Search>();

/**
 * Releases permits with ids that an acquisition may have taken, or may still take, although no caller owns them. It
 * retries until it has found them, or a reply to a command behind that acquisition shows that they are not there. It
 * gives up after their lease, and a minute if the connection of the acquisition is gone (`lateMs`).
 *
 * @param sent - the record of the acquisition
 * @param leaseMs - the lease of the permits, in ms, or {@link NO_LEASE}: then the watchdog's time-out takes its place
 */
export function rollBackPermits(
  object: RedisObject<PermitKeys>,
  ids: readonly Buffer[],
  sent: SendRecord,
  leaseMs: number,
): void {
  const { executor, rollback, settings } = object.context;
  const elsewhere = (): boolean => sent.onManyConnections || sent.connectionNumber !== executor.connectionNumber;
  const endless = leaseMs === NO_LEASE;
  const livesMs = endless ? settings.lockWatchdogTimeout : leaseMs;
  const leftover: Leftover = {
    unwanted: true,
    get livesMs() {
      if (!elsewhere()) return livesMs;
      return endless ? livesMs + LATE_MS : lateMs(livesMs);
    },
    place: { key: object.keys.permits, member: ids[0]! },
    search: permitSearch(executor),
    undo: async () => {
      const sendRecord = newCleanupRecord();
      // Always `0`: a repeat that finds nothing must not count as a release. Only a reply on the acquisition's
      // connection proves that there is nothing.
      const args = { publish: PUBLISH_COMMAND, repeated: '0' } as const;
      const released = await object.run(releasePermits, args, 'give back permits of', { moreArgs: ids, sendRecord });
      return released > 0 || (!sent.onManyConnections && sendRecord.connectionNumber === sent.connectionNumber);
    },
    ended: () => undefined,
  };
  rollback.add(leftover, !elsewhere());
}

/**
 * Releases permits of a plain semaphore that an acquisition took too late. If the semaphore is gone, nothing is
 * released, since that would create it again. If the first try may have run, there is no second one: one permit too few
 * is better than one too many. Permits have no lease, so a try that Redis refuses is repeated for as long as the client
 * lives.
 */
export function rollBackSemaphore(object: RedisObject, permits: number): void {
  const leftover: Leftover = {
    unwanted: true,
    livesMs: Infinity,
    place: { key: object.keys.name, member: '' },
    undo: async () => {
      const args = { permits, publish: PUBLISH_COMMAND } as const;
      // A cleanup is sent even while the client closes: permits that are left behind can never be found again.
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
