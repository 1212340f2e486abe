import type { Settings } from '../../config/Settings';
import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import type { ObjectListeners } from '../../listeners/ObjectListeners';
import type { Subscriptions } from '../../waiters/Subscriptions';
import type { OwnershipTable } from '../../watchdog/OwnershipTable';
import type { ThreadStart } from '../../watchdog/RenewalThread';
import type { Watchdog } from '../../watchdog/Watchdog';
import type { AcquireContext } from '../../acquire/Acquisition';
import type { Closing } from '../../acquire/acquireWithin';
import type { Rollback } from '../../acquire/Rollback';
import type { Renewals } from '../../kinds/clientKind';
import type { Heir } from '../../kinds/LockKind';
import type { SelfWaits } from './SelfWaits';

/** What the locks of one client share. */
export interface LockContext {
  readonly clientId: string;
  readonly settings: Settings;
  readonly executor: CommandExecutor;
  readonly ownerships: OwnershipTable;
  readonly subscriptions: Subscriptions<Heir>;
  readonly objectListeners: ObjectListeners;
  readonly watchdog: Watchdog;
  readonly threadStarter: ThreadStart;
  /** How the watchdog renews each family of holds. */
  readonly renewals: Renewals;
  /** Removes from Redis what no caller owns. */
  readonly rollback: Rollback;
  /** Warns once per client that its user may not publish, so that no waiter was notified of a release. */
  warnUnheard(name: string): void;
  /** Warns once per client that a hold of `acquire()` was dropped without `unlock()`. */
  readonly warnAbandoned: (name: string) => void;
  /** See {@link AcquireContext.begun}. */
  readonly begun: AcquireContext['begun'];
  /** Whether an acquisition may still begin. */
  readonly closing: Closing;
  /** Waiting calls in scopes, which may wait for their own scope. */
  readonly selfWaits: SelfWaits;
  /**
   * Warns once per client that a handle was re-entered outside any scope, or that `lock()` re-entered a hold of
   * `acquire()`.
   */
  warnReentry(name: string): void;
}

/**
 * What `ioredisson/testing` needs of a client, see `Redisson.internals`.
 * @internal
 */
export interface ClientInternals {
  readonly ownerships: OwnershipTable;
  /** Lets every waiter look again. */
  readonly wakeAll: () => void;
  /** Rejects every waiter with such an error and forgets every hold. The client goes on. */
  readonly interrupt: (makeError: () => Error) => void;
}
