import type { ObjectKind } from '../api';
import type { SendRecord, CommandExecutor } from '../connection/pending/CommandExecutor';
import type { WaitOrder } from '../waiters/Waiter';
import type { WakeRule } from '../waiters/WaitQueue';
import type { GroupValues, Ownership, Renewal } from '../watchdog/Ownership';
import type { AcquireReply, ReleaseReply } from '../scripts/replies';
import type { Scope } from '../thread/threadScope';
import type { Search } from '../acquire/Rollback';
import type { Wait } from '../acquire/acquireWithin';

/** The owner and the lock that a command concerns. */
export interface LockSubject {
  /** The lock's name as the user gave it, for errors. */
  readonly name: string;
  /** The lock's key in Redis. */
  readonly rawName: string;
  readonly threadId: number;
  /** The owner's field in the lock's hash. */
  readonly owner: string;
  /** What this client knows of the owner's holds. */
  readonly ownership: Ownership;
}

/** One attempt. */
export interface AttemptRequest extends LockSubject {
  /** The lease in ms; for the watchdog, its time-out. */
  readonly leaseMs: number;
  /** Known holds + 1: the hold count that the thread is to have afterwards. */
  readonly count: number;
  /** How long the caller waits in all, in ms; `Infinity` without limit. Fair locks send it. */
  readonly waitMs: number;
  /** `false`: a single attempt that joins no queue. */
  readonly queues: boolean;
  /** The longest time for which it went to sleep between its attempts, in ms; 0: it never slept. Fair locks send it. */
  readonly sleptMs: number;
  /**
   * Whether an earlier attempt of this acquisition may have succeeded without a reply: a hold in Redis may be its own.
   */
  readonly repeated: boolean;
  /** Whether a hold in Redis may be one that this client has reported as lost, or has given up. */
  readonly leftover: boolean;
  readonly sendRecord: SendRecord;
}

/** The next waiter of this process: an acquisition to which a holder can hand the lock over. */
export interface Heir extends AttemptRequest {
  readonly kind: LockKind;
  /** The scope around the call, and the line that made it, if that is recorded. */
  readonly around: Scope | undefined;
  readonly callSite: string | undefined;
  /** Whether its thread is releasing the lock: a repeat of that release would release what is handed over. */
  readonly releasing: boolean;
  /** Called when a holder hands the lock over, with a command on the connection `connectionNumber`. */
  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void;
}

/** One release. */
export interface ReleaseRequest extends LockSubject {
  /** The number of holds to leave. */
  readonly left: number;
  /** The lease that those holds need, in ms; 0 leaves the expiry unchanged. */
  readonly remainingMs: number;
  readonly sendRecord: SendRecord;
}

/**
 * The scripts and the key names of a kind of lock. A kind has no state; one object serves all locks of its kind in a
 * client.
 */
export interface LockKind {
  /** As in telemetry. */
  readonly name: ObjectKind;
  /** Whether its holder may acquire it again. */
  readonly reentrant: boolean;
  /** For a group lock: the values of the group that it covers. @default the whole lock */
  readonly values?: GroupValues | undefined;
  /** Sends the commands. */
  readonly executor: CommandExecutor;
  /** How the waiters of this process wait: in a FIFO queue, or each for itself. */
  readonly waitOrder: WaitOrder;
  /** Which waiters a message wakes. */
  readonly wakeRule: WakeRule;
  /** How the watchdog renews it. */
  readonly renewal: Renewal;
  /** How the rollback looks for holds that no caller owns. */
  readonly search: Search;
  /** The owner's field in the lock's hash. @param id - of the client. @default this one */
  ownerOf(threadId: number, id?: string): string;
  /** Every key and channel of a lock, or one that has the same slot: on a cluster all must be on one slot. */
  keysOf(rawName: string): readonly string[];
  /** The channel to which a waiter subscribes. */
  channelOf(rawName: string, owner: string): string;
  /** Keeps a queue in Redis moving. Absent if the kind has no queue in Redis. */
  readonly watch?: QueueWatch | undefined;
  /** How one acquisition waits, for a kind without messages. @default a waiter in the queue of its name */
  newWait?(heir: Heir): Wait<never>;
  attempt(request: AttemptRequest): Promise<AcquireReply>;
  release(request: ReleaseRequest): Promise<ReleaseReply>;
  /**
   * Hands the last hold of `from` to the acquisition `request`. Absent if the kind is never handed over. The command is
   * the release of `from` and has its send record: the heir cannot cancel it.
   */
  readonly handOver?: ((from: ReleaseRequest, request: AttemptRequest) => Handover) | undefined;
  /**
   * Changes the owner of a hold to `heir`, with another lease: `detach` and `attach`. Absent if no hold of this kind can
   * move. A repeat changes nothing.
   */
  readonly move?:
    | ((
        from: Omit<LockSubject, 'threadId' | 'ownership'> & { readonly sendRecord: SendRecord },
        heir: string,
        leaseMs: number,
      ) => Promise<ReleaseReply>)
    | undefined;
  /**
   * Removes a waiter that did not get the lock (Redisson: acquireFailed). Absent if the waiters are not stored in
   * Redis.
   * @param sendRecord - the record of this command, not of the attempts
   */
  readonly abandon?: ((request: AttemptRequest, sendRecord: SendRecord) => Promise<unknown>) | undefined;
  forceRelease(rawName: string, name: string): Promise<boolean>;
  isLocked(rawName: string, name: string): Promise<boolean>;
  /** The hold count of an owner. @returns 0 for none */
  holdCount(rawName: string, owner: string, name: string): Promise<number>;
  /** The pttl: -2 = free, -1 = no expiry. */
  remainTimeToLive(rawName: string, name: string): Promise<number>;
}

/** Keeps a queue in Redis moving: its head may be dead, and an unlock may notify no other waiter. */
export interface QueueWatch {
  /** The head of this queue has just been notified that the lock is free. */
  notified(rawName: string): void;
  /** An acquisition of this process begins to wait. */
  joined(rawName: string): void;
  /** An attempt of a waiter was refused, and an unlock may not notify that waiter. */
  unheard(rawName: string): void;
  /** A waiter of this process has acquired the lock, or has given up. */
  left(rawName: string): void;
}

/** One command that is the unlock of one thread and the acquisition of another. */
export interface Handover {
  readonly released: Promise<ReleaseReply>;
  readonly acquired: Promise<AcquireReply>;
}
