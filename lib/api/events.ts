import type { LockLostError } from '../errors/lockErrors';

/**
 * What becomes of the command connection of a client. On a cluster it is `ready` while every slot has a master that can
 * be used.
 */
export type ConnectionState = 'connecting' | 'ready' | 'reconnecting' | 'closed';

/** A change of it. */
export interface ConnectionChange {
  readonly state: ConnectionState;
  /** Why the connection was lost, where that is known. */
  readonly cause?: Error;
}

/** Called at each change, outside any thread scope. What it throws becomes a process warning. */
export type ConnectionListener = (change: ConnectionChange) => void;

/** What a listener of `onLockLost` is told. */
export interface LockLostEvent {
  /** The name of the lock, as given to `getLock`. */
  readonly name: string;
  /** The logical thread whose hold was lost. */
  readonly threadId: number;
  /** What happened; its own `cause` is the error behind it, where there is one. */
  readonly cause: LockLostError;
}

/** A listener of `onLockLost`. What it throws is ignored: it cannot fail the renewal of the other locks. */
export type LockLostListener = (event: LockLostEvent) => void;

/** What kind of object an acquisition is of. */
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

/** How an acquisition ended; `timeout` also where a single attempt was refused. */
export type AcquireOutcome = 'acquired' | 'timeout' | 'aborted' | 'error';

/** How a hold ended. */
export type HoldOutcome = 'released' | 'lost';

/** What the messages of the diagnostics channels `ioredisson:acquire` and `ioredisson:hold` begin with. */
export interface AcquireSubject {
  /** The client's id. Of a lock that is made of locks: that of the first of them. */
  readonly clientId: string;
  readonly kind: ObjectKind;
  /** As given to `getLock` and its like. Of a lock that is made of locks: their names, with `, ` between them. */
  readonly name: string;
  /** The logical thread. In a scope it is known for sure when the acquisition ends. */
  readonly threadId: number;
  /** In ms; `Infinity` = without limit, 0 = one attempt. */
  readonly waitTime: number;
  /** In ms; -1 = the watchdog keeps it, or, for semaphores and latches, there is none. */
  readonly leaseTime: number;
}

/** A message of the diagnostics channel `ioredisson:acquire`. What is optional is there when it has ended. */
export interface AcquireMessage extends AcquireSubject {
  outcome?: AcquireOutcome;
  /** How long it took, in ms. */
  waitedMs?: number;
  /** How often it was tried, an attempt that a holder made for it (a hand-over) included. */
  attempts?: number;
  /** Whether a holder of the same client handed the lock over. */
  handedOver?: boolean;
  /** What the call rejected with. */
  error?: unknown;
}

/** A message of the diagnostics channel `ioredisson:hold`. What is optional is there when it has ended. */
export interface HoldMessage extends AcquireSubject {
  /** The fencing token, of fenced locks only; there from the start. */
  token?: bigint;
  outcome?: HoldOutcome;
  /** From acquired to given back or lost, in ms. */
  heldMs?: number;
  /** Why it was lost, or what the release rejected with. */
  error?: unknown;
}

/** A message of the diagnostics channel `ioredisson:renewal`: one batch of the watchdog. */
export interface RenewalMessage {
  readonly clientId: string;
  /** How many locks it renewed, or tried to. */
  readonly locks: number;
  /** How long the answer took, in ms. */
  readonly ms: number;
  /** Why it failed; it is then tried again. */
  readonly error?: Error;
}
