/**
 * What becomes of the command connection of a client. On a cluster it is `ready` while every slot has a master that can be
 * used.
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
