import type { Settings } from '../config/Settings';
import type { CommandExecutor } from '../connection/CommandExecutor';
import type { ChannelHub } from '../pubsub/ChannelHub';
import type { Rollback } from '../wait/Rollback';

/** What all synchronizers of one client share. */
export interface SynchronizerContext {
  readonly settings: Settings;
  /** Commands go through it. */
  readonly executor: CommandExecutor;
  /** Aborts when the client begins to shut down: nothing new is acquired any more. */
  readonly closing: AbortSignal;
  /** Waiters sleep in it. */
  readonly hub: ChannelHub;
  /** Takes back what nobody wants. */
  readonly rollback: Rollback;
}
