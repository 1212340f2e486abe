import type { SendRecord, CommandExecutor } from '../../connection/pending/CommandExecutor';
import type { WaitOrder } from '../../waiters/Waiter';
import type { WakeRule } from '../../waiters/WaitQueue';
import type { GroupValues, Hold, Renewal } from '../../watchdog/Ownership';
import type { AcquireReply, ReleaseReply } from '../../scripts/replies';
import type { Search } from '../../wait/Rollback';
import type { Wait } from '../../wait/acquireWithin';

/** Who acts on which lock. */
export interface LockSubject {
  /** The lock's name as the user gave it, for errors. */
  readonly name: string;
  /** The lock's key in Redis. */
  readonly rawName: string;
  readonly threadId: number;
  /** The owner's field in the lock's hash. */
  readonly owner: string;
  /** What the thread is known to have. */
  readonly holds: readonly Hold[];
}

/** One attempt. */
export interface AttemptRequest extends LockSubject {
  /** The lease in ms, for the watchdog its time-out. */
  readonly leaseMs: number;
  /** Known holds + 1: what the thread shall have afterwards. */
  readonly count: number;
  /** How long the caller is willing to wait in all, in ms; `Infinity` without limit. Fair locks put it on the wire. */
  readonly waitMs: number;
  /** `false`: a single attempt that queues nowhere. */
  readonly queues: boolean;
  /**
   * The longest time it went to sleep for between its attempts, in ms; 0: it never slept. Fair locks put it on the
   * wire.
   */
  readonly sleptMs: number;
  /** Whether an earlier attempt of this acquisition may have succeeded without an answer: a hold may be its own. */
  readonly repeated: boolean;
  /** Whether Redis may still have a hold that this client has reported lost, or given up: a hold may be that one. */
  readonly leftover: boolean;
  readonly sendRecord: SendRecord;
}

/** The next waiter, as a holder of this process sees it: an acquisition that the lock can be handed to. */
export interface Heir extends AttemptRequest {
  readonly kind: LockKind;
  /** Whether its thread is releasing the lock: that release, if it is repeated, would take away what is handed over. */
  readonly releasing: boolean;
  /** The lock is being handed over, by a command on the connection of that number. */
  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void;
}

/** One release. */
export interface ReleaseRequest extends LockSubject {
  /** Holds to leave. */
  readonly left: number;
  /** What those holds have to live, in ms; 0 leaves the expiry alone. */
  readonly remainingMs: number;
  readonly sendRecord: SendRecord;
}

/**
 * What makes a kind of lock: its scripts and its key names. A kind has no state of its own; one object serves every
 * lock of its kind in a client.
 */
export interface LockKind {
  /** For errors and listings, e.g. `lock`, `fair`. */
  readonly name: string;
  /** Whether its holder may take it once more. */
  readonly reentrant: boolean;
  /**
   * Of a group lock: which values of the group it is about. A thread has one ownership of the group, with holds of one
   * or several such sets. @default the whole lock
   */
  readonly values?: GroupValues;
  /** Commands go through it. */
  readonly executor: CommandExecutor;
  /** How waiters of this process wait: one after the other for exclusive locks, each for itself otherwise. */
  readonly waitOrder: WaitOrder;
  /** How its messages wake. */
  readonly wakeRule: WakeRule;
  /** How the watchdog keeps it. */
  readonly renewal: Renewal;
  /** How holds that no caller owns are looked for. */
  readonly search: Search;
  /** The owner's field in the lock's hash. */
  ownerOf(threadId: number): string;
  /** Every key and channel of a lock, or one like it: on a cluster they must be on one slot. */
  keysOf(rawName: string): readonly string[];
  /** The channel a waiter listens to. */
  channelOf(rawName: string, owner: string): string;
  /** What sees to it that the queue goes on. Absent where Redis has none. */
  readonly watch?: QueueWatch;
  /** How one acquisition waits, for a kind without messages. @default a waiter in the queue of its name */
  newWait?(): Wait<never>;
  attempt(request: AttemptRequest): Promise<AcquireReply>;
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /**
   * Hands the last hold of `from` to the acquisition `request`. Absent where the kind has an order of its own in Redis.
   * The command is the release of `from` and has its send record: the heir cannot cancel it.
   */
  handOver?(from: ReleaseRequest, request: AttemptRequest): Handover;
  /**
   * A waiter leaves without the lock (Redisson: acquireFailed). Absent where Redis knows nothing of waiters.
   * @param sendRecord - of this command, not of the attempts
   */
  abandon?(request: AttemptRequest, sendRecord: SendRecord): Promise<unknown>;
  forceRelease(rawName: string, name: string): Promise<boolean>;
  isLocked(rawName: string, name: string): Promise<boolean>;
  /** The holds of an owner. @returns 0 for none */
  holdCount(rawName: string, owner: string, name: string): Promise<number>;
  /** The pttl: -2 = free, -1 = no expiry. */
  remainTimeToLive(rawName: string, name: string): Promise<number>;
}

/** Sees to it that a queue in Redis goes on: its head may be dead, and an unlock may tell nobody else. */
export interface QueueWatch {
  /** The head of this queue has just been told that the lock is free. */
  told(rawName: string): void;
  /** An acquisition of this process begins to wait. */
  joined(rawName: string): void;
  /** An attempt of a waiter was refused, and an unlock may not tell it. */
  unheard(rawName: string): void;
  /** A waiter of this process has the lock, or has given up. */
  left(rawName: string): void;
}

/** One command that is the unlock of one thread and the acquisition of another. */
export interface Handover {
  readonly released: Promise<ReleaseReply>;
  readonly acquired: Promise<AcquireReply>;
}
