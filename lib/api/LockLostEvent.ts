import type { LockLostError } from '../errors/LockLostError';

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
