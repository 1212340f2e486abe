import type { Settings } from '../config/Settings';
import type { ChannelHub } from '../pubsub/ChannelHub';
import type { HoldTable } from '../renewal/HoldTable';
import type { RenewalScheduler } from '../renewal/RenewalScheduler';

/** What all locks of one client share. */
export interface LockContext {
  readonly clientId: string;
  readonly settings: Settings;
  readonly holds: HoldTable;
  readonly hub: ChannelHub;
  readonly watchdog: RenewalScheduler;
  /** Tells once per client that a handle was re-entered outside any thread scope. */
  warnReentry(name: string): void;
}
