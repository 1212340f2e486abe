/** How a worker opens a contestant. */
export interface SessionOptions {
  /** Where the Redis of this run listens. */
  readonly url: string;
  /** Life of a lock that is held without a lease, in ms. A contestant that renews does it at its own fraction of it. */
  readonly watchdogMs: number;
}

/** One holder or waiter of one lock: what an application would keep per request. */
export interface LockHandle {
  /** Waits without limit until this handle holds the lock. */
  lock(): Promise<unknown>;
  /** Gives the lock back. */
  unlock(): Promise<unknown>;
}

/** An opened contestant in one process. */
export interface LockSession {
  /** A new handle on the lock of that name; it excludes every other handle. */
  handle(name: string): LockHandle;
  /** Closes the connections. Locks still held are left to expire. */
  close(): Promise<void>;
}

/** What a contestant's file exports: one way to lock with Redis. */
export interface ContestantModule {
  /** Connects; resolves when commands can be sent without waiting for a connection or a script. */
  open(options: SessionOptions): Promise<LockSession>;
}

/** What a contestant is to the reader of the report. */
export type ContestantKind = 'library' | 'reference' | 'baseline' | 'peer';

/** An entry of the list of contestants. */
export interface Contestant {
  /** Short name: what `--contestants` takes and what the tables print. */
  readonly id: string;
  readonly kind: ContestantKind;
  /** One line on how it waits and keeps the lock. */
  readonly about: string;
  /** Module of the contestant, relative to the folder of the bench. */
  readonly module: string;
  /** It can wait for a lock that somebody else holds. */
  readonly waits: boolean;
  /** Longest pause between two looks at the lock while it waits, in ms; 0 when a message wakes it. */
  readonly pollMs: number;
  /** It renews a lock that is held without a lease, at a rate that follows `watchdogMs`. */
  readonly renews: boolean;
}
