import type { Settings } from '../config/Settings';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import type { ObjectListeners } from '../listeners/ObjectListeners';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import type { ThreadStart, Watchdog } from '../watchdog/Watchdog';
import type { AcquireContext } from '../acquire/acquireWithin';
import type { Rollback } from '../acquire/Rollback';
import type { QueueWatch, Renewals } from './Kind';

/** What the locks and the synchronizers of one client share. */
export interface ClientContext extends AcquireContext {
  readonly clientId: string;
  readonly settings: Settings;
  readonly executor: CommandExecutor;
  readonly ownerships: OwnershipTable;
  readonly subscriptions: Subscriptions;
  readonly objectListeners: ObjectListeners;
  readonly watchdog: Watchdog;
  readonly threadStarter: ThreadStart;
  /** How the watchdog renews each family of holds. */
  readonly renewals: Renewals;
  /** Notified of each fair lock that becomes free while others wait. */
  readonly fairQueues: QueueWatch;
  /** Removes from Redis what no caller owns. */
  readonly rollback: Rollback;
  /** Warns once per client that a hold was dropped without a release. */
  readonly warnAbandoned: (name: string, ofPermits: boolean) => void;
}
