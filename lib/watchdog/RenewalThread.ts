import type { Ownership } from './Ownership';

/** A thread that renews ownerships for the watchdog of the main thread. */
export interface RenewalThread {
  /** The holds or the deadline of an ownership have changed. The thread knows before the caller of the lock goes on. */
  changed(ownership: Ownership): void;
  /** An ownership has no holds any more. */
  ended(ownership: Ownership): void;
  /** Handles what the thread has reported, now: the event loop may have been blocked since. */
  receive(): void;
  /**
   * Resolves when the last renewal of an ownership that the thread no longer renews has ended; `undefined` if none is
   * under way. The thread has its own connection, so such a renewal may run after a later command of this one.
   */
  settled(ownership: Ownership): Promise<void> | undefined;
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
