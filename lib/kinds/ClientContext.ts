import type { Settings } from '../config/Settings';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import type { ObjectListeners } from '../listeners/ObjectListeners';
import type { LongWaits } from '../waiters/LongWaits';
import type { Subscriptions } from '../waiters/Subscriptions';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import type { ThreadStart, Watchdog } from '../watchdog/Watchdog';
import type { AcquireContext } from '../acquire/Acquisition';
import type { Rollback } from '../acquire/Rollback';
import type { QueueWatch, Renewals } from './Kind';

/** A call that waits for permits. */
export interface PermitWait {
  /** Of the semaphore. */
  readonly name: string;
  readonly key: string;
}

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
  /** Calls that wait for permits, which nobody may have set. */
  readonly permitWaits: LongWaits<PermitWait>;
  /** Warns once per client that a semaphore keeps another number of permits than the program says. */
  readonly warnKeptPermits: (name: string, there: number, wanted: number, withIds: boolean) => void;
  /** Warns once per client that the number of permits of a semaphore has been changed. */
  readonly warnChangedPermits: (name: string, there: number, wanted: number) => void;
  /** Warns once per client that a hold was dropped without a release. */
  readonly warnAbandoned: (name: string, ofPermits: boolean) => void;
}
