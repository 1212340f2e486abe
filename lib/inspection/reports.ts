/** What an object is, as far as its data tell. */
export type ObjectKind =
  /** A re-entrant, spin or non-reentrant lock, or a fair one that nobody waits for: they look alike. */
  | 'lock'
  | 'fair'
  | 'fenced'
  | 'readWrite'
  | 'semaphore'
  | 'permitExpirableSemaphore'
  | 'countDownLatch'
  /** A number: a semaphore or a latch that nobody waits for, or any counter. */
  | 'number'
  /** Data that are no lock or synchronizer. */
  | 'other'
  /** Nothing by that name. */
  | 'none';

/** Somebody who holds a lock, or waits in a queue. */
export interface OwnerReport {
  /** As on the wire, `<clientId>:<threadId>`, with `:write` for a writer. */
  readonly owner: string;
  /** The id of the client, a UUID. */
  readonly clientId: string;
  /** The thread, as text: Java's are 64 bits wide. */
  readonly threadId: string;
  /** `node` where the thread id is one that only this package gives; `unknown`: Java, or an explicit thread id. */
  readonly client: 'node' | 'unknown';
}

/** Somebody who holds a lock. */
export interface HolderReport extends OwnerReport {
  readonly holdCount: number;
  /** Of a read/write lock. */
  readonly mode?: 'read' | 'write';
  /** Of a reader: what is left of the lease of each hold, in ms; -1 without expiry, -2 over. */
  readonly leasesMs?: readonly number[];
}

/** Somebody who waits in the queue of a fair lock. */
export interface WaiterReport extends OwnerReport {
  /** How long the place is kept, in ms by our clock; `null` where nothing says it. */
  readonly remainingMs: number | null;
  /** Whether somebody listens on the channel of the waiter. */
  readonly listening: boolean;
}

/** A permit that is out. */
export interface PermitReport {
  /** 32 hex characters. */
  readonly id: string;
  /** In ms by our clock; `null` without lease. */
  readonly remainingMs: number | null;
}

/** An object in Redis. The fields are stable: `--json` prints them. Times in ms. */
export interface ObjectReport {
  /** As given to `getLock` and the others. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  readonly kind: ObjectKind;
  /** Of a read/write lock. */
  readonly mode?: 'read' | 'write';
  /** Until the key expires; -1 without expiry, -2 when there is no key. */
  readonly ttlMs: number;
  /** Who holds it; empty for what has no owners. */
  readonly holders: readonly HolderReport[];
  /** Who waits: the length of a fair lock's queue, else the number of connections that listen for its release. */
  readonly waiters: number;
  /** Of a fair lock, in order. */
  readonly queue?: readonly WaiterReport[];
  /** Of a fenced lock: the last token given, as decimal text. */
  readonly token?: string;
  /** Of a semaphore: permits left; of a latch: its count; else the number. Beyond 2^53 as decimal text: exact. */
  readonly value?: number | string;
  /** Of a permit-expirable semaphore: how many permits are out. */
  readonly acquired?: number;
  /** Of a permit-expirable semaphore, when it is inspected: the first 1000 that are out. */
  readonly permits?: readonly PermitReport[];
  /** The channels that wake its waiters, and how many connections listen on each. */
  readonly channels: readonly { readonly name: string; readonly subscribers: number }[];
}
