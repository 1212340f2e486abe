import type { Settings } from '../../config/Settings';
import type { ShutdownError } from '../../errors';
import type { Subscriptions } from '../../waiters/Subscriptions';
import type { OwnershipTable } from '../../watchdog/OwnershipTable';
import type { Watchdog } from '../../watchdog/Watchdog';
import type { Rollback } from '../../wait/Rollback';
import type { Heir } from '../kinds/LockKind';
import type { SelfWaits } from './SelfWaits';

/** What all locks of one client share. */
export interface LockContext {
  readonly clientId: string;
  readonly settings: Settings;
  readonly ownerships: OwnershipTable;
  readonly subscriptions: Subscriptions<Heir>;
  readonly watchdog: Watchdog;
  /** Takes back what no caller owns. */
  readonly rollback: Rollback;
  /** Warns once per client that its user may not publish, so that no waiter was told of a release. */
  warnUnheard(name: string): void;
  /** Aborts when the client begins to shut down: nothing new is acquired any more. */
  readonly closing: AbortSignal;
  /** What those get who acquire then. */
  readonly shutdownError: (what?: string) => ShutdownError;
  /** Calls in scopes that wait, perhaps for themselves. */
  readonly selfWaits: SelfWaits;
  /**
   * Warns once per client that a handle was re-entered outside any scope, or `lock()` re-entered what `acquire()` took.
   */
  warnReentry(name: string): void;
}
