import type { LockLostError } from '../errors/lockErrors';

/** The state of a client's command connection. On a cluster it is `ready` while every slot has a usable master. */
export type ConnectionState = 'connecting' | 'ready' | 'reconnecting' | 'closed';

/** A change of the connection's state. */
export interface ConnectionChange {
  readonly state: ConnectionState;
  /** Why the connection was lost, if known. */
  readonly cause?: Error;
}

/** Called at each change, outside any thread scope. An error that it throws becomes a process warning. */
export type ConnectionListener = (change: ConnectionChange) => void;

/** The argument of an `onLockLost` listener. */
export interface LockLostEvent {
  /** The name of the lock, as given to `getLock`. */
  readonly name: string;
  /** The logical thread whose hold was lost. */
  readonly threadId: number;
  /** What happened; its own `cause` is the underlying error, if there is one. */
  readonly cause: LockLostError;
}

/**
 * A listener of `onLockLost`. An error that it throws becomes a process warning: it cannot stop the renewal of other
 * locks.
 */
export type LockLostListener = (event: LockLostEvent) => void;

/** The kind of object that is acquired. */
export type ObjectKind =
  | 'lock'
  | 'fair'
  | 'fenced'
  | 'spin'
  | 'read'
  | 'write'
  | 'nonReentrant'
  | 'nonReentrantFair'
  | 'group'
  | 'multi'
  | 'red'
  | 'semaphore'
  | 'permit'
  | 'latch';

/** How an acquisition ended; `timeout` also if a single attempt was refused. */
export type AcquireOutcome = 'acquired' | 'timeout' | 'aborted' | 'error';

/** How a hold ended. */
export type HoldOutcome = 'released' | 'lost';

/** The common fields of the messages on the diagnostics channels `ioredisson:acquire` and `ioredisson:hold`. */
export interface AcquireSubject {
  /** The client's id. For a lock made of several locks: that of the first one. */
  readonly clientId: string;
  readonly kind: ObjectKind;
  /** As given to `getLock` and similar methods. For a lock made of several locks: their names, separated by `, `. */
  readonly name: string;
  /** The logical thread. In a scope it is final only when the acquisition ends. */
  readonly threadId: number;
  /** In ms; `Infinity` = no limit, 0 = one attempt. */
  readonly waitTime: number;
  /** In ms; -1 = the watchdog renews it, or, for semaphores and latches, there is no lease. */
  readonly leaseTime: number;
}

/**
 * A message on the diagnostics channel `ioredisson:acquire`. The optional fields are set when the acquisition has
 * ended.
 */
export interface AcquireMessage extends AcquireSubject {
  outcome?: AcquireOutcome;
  /** How long it took, in ms. */
  waitedMs?: number;
  /** The number of attempts, including one that a holder made for it (a hand-over). */
  attempts?: number;
  /** Whether a holder of the same client handed the lock over. */
  handedOver?: boolean;
  /** The error with which the call rejected. */
  error?: unknown;
}

/** A message on the diagnostics channel `ioredisson:hold`. The optional fields are set when the hold has ended. */
export interface HoldMessage extends AcquireSubject {
  /** The fencing token, for fenced locks only; set from the start. */
  token?: bigint;
  outcome?: HoldOutcome;
  /** The time from the acquisition to the release or the loss, in ms. */
  heldMs?: number;
  /** Why it was lost, or the error with which the release rejected. */
  error?: unknown;
}

/** A message on the diagnostics channel `ioredisson:renewal`: one batch of the watchdog. */
export interface RenewalMessage {
  readonly clientId: string;
  /** How many locks it renewed, or tried to renew. */
  readonly locks: number;
  /** How long the reply took, in ms. */
  readonly ms: number;
  /** Why it failed; it is then retried. */
  readonly error?: Error;
}
