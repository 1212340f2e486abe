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
