import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import type { KeyChanges } from '../connection/pubsub/KeyTracking';
import { runOutside } from '../util/outside';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { Ownership } from './Ownership';
import type { Watchdog } from './Watchdog';

/** The end of the key with the leases of permits: the holds are of the semaphore. */
const PERMITS = ':timeout';

/**
 * Checks the holds and the waiters of keys whose changes Redis reports (`trackHolds`). It only begins, at once, what
 * happens otherwise later: a hold that is gone is found by the check of the watchdog, and waiters whose lock is gone
 * attempt again. Each of these reads the key, so that Redis reports its next change, too.
 */
export function followKeys(
  watchdog: Watchdog,
  subscriptions: Subscriptions,
  executor: CommandExecutor,
  warn: (error: Error) => void,
): KeyChanges {
  /** What is held, by key: there may be thousands of others beside one that changes. */
  const held = new Map<string, Set<Ownership>>();
  /** Those that have changed in this turn; `undefined`: any may have. */
  let keys: Set<string> | undefined = new Set();
  let checking = false;
  const check = (): void => {
    const changed = keys;
    checking = false;
    keys = new Set();
    const concerned = changed === undefined ? [...held.values()] : Array.from(changed, (key) => held.get(key) ?? []);
    watchdog.doubt(concerned.flatMap((ownerships) => [...ownerships]));
    if (changed === undefined) return subscriptions.wakeAll();
    for (const rawName of subscriptions.awaited()) {
      // One that another owner has taken would only wake the waiters in vain.
      if (changed.has(rawName)) void wakeIfGone(rawName);
    }
  };
  async function wakeIfGone(rawName: string): Promise<void> {
    try {
      const there = await executor.call('exists', [rawName], { what: 'check a key that has changed' });
      if (Number(there) === 0) subscriptions.wakeAll(rawName);
    } catch {
      // They attempt again when the lease that they have seen ends.
    }
  }
  const changes: KeyChanges = {
    changed(some) {
      if (some === undefined) keys = undefined;
      else for (const key of some) for (const name of namesOf(key)) keys?.add(name);
      if (checking) return;
      checking = true;
      runOutside(() => setImmediate(check).unref());
    },
    refused: warn,
  };
  watchdog.follower = {
    began(ownership) {
      const { rawName } = ownership;
      const there = held.get(rawName);
      if (there === undefined) held.set(rawName, new Set([ownership]));
      else there.add(ownership);
      // Redis may have reported the acquisition before its reply was read.
      changes.changed([rawName]);
    },
    ended(ownership) {
      const { rawName } = ownership;
      const there = held.get(rawName);
      if (there?.delete(ownership) === true && there.size === 0) held.delete(rawName);
    },
  };
  return changes;
}

/** What holds and waiters call the object of a key. */
function namesOf(key: string): readonly string[] {
  if (!key.endsWith(PERMITS)) return [key];
  const name = key.slice(0, -PERMITS.length);
  return [key, name, name.replace(/^\{(.*)\}$/, '$1')];
}
