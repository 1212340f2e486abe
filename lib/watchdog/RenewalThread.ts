import type { Ownership } from './Ownership';
import type { OwnershipTable } from './OwnershipTable';

/** A thread that renews ownerships for the watchdog of the main thread. */
export interface RenewalThread {
  /** The holds or the deadline of an ownership have changed. The thread knows before the caller of the lock goes on. */
  changed(ownership: Ownership): void;
  /** An ownership has no holds any more. */
  ended(ownership: Ownership): void;
  /** Handles what the thread has reported, now: the event loop may have been blocked since. */
  receive(): void;
  /**
   * Resolves when no renewal is under way of an ownership that has ended or no longer needs renewals; `undefined` if
   * none is. The thread has its own connection, so such a renewal could run after a later command of this one.
   */
  settled(): Promise<void> | undefined;
  /** Ends the thread and its connection. */
  close(): Promise<void>;
}

/** Starts the thread of a client. */
export interface ThreadStart {
  /** How long it renews a lock by default, in ms: `maxStall` of the setting; 0: it does not. */
  readonly maxStallMs: number;
  /** Starts it, unless it was started before. */
  use(): void;
  /** @throws ConfigError if the client's connection cannot be given to a thread */
  check(): void;
}

/**
 * Call before a release of some of the holds is sent.
 *
 * @param ownership - without the hold to release
 * @returns a promise that resolves when no renewal by the thread can come after that release, and prolong what is left
 */
export async function settle(
  table: OwnershipTable,
  ownership: Ownership,
  watchdog: { readonly thread: RenewalThread | undefined },
): Promise<void> {
  table.update(ownership);
  if (ownership.watchdogMs === 0) await watchdog.thread?.settled();
}
