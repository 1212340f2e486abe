import type { ClientContext } from '../../kinds/ClientContext';
import type { Heir } from '../../kinds/Kind';
import type { Subscriptions } from '../../waiters/Subscriptions';
import type { LongWaits } from '../../waiters/LongWaits';
import type { SelfWait } from './selfWaits';

/** What the locks of one client share. */
export interface LockContext extends ClientContext {
  readonly subscriptions: Subscriptions<Heir>;
  /** Warns once per client that its user may not publish, so that no waiter was notified of a release. */
  warnUnheard(name: string): void;
  /** Waiting calls in scopes, which may wait for their own scope. */
  readonly selfWaits: LongWaits<SelfWait>;
  /** Owner of a ticket -> the thread whose `attach` of it is being undone: Redis may have the lock under its name. */
  readonly undoneAttach: Map<string, number>;
  /**
   * Warns once per client that a handle was re-entered outside any scope, or that `lock()` re-entered a hold of
   * `acquire()`.
   */
  warnReentry(name: string): void;
}
