import type { ObjectKind, RedissonClient, RLock } from '../api';
import type { AcquireReply, ReleaseReply } from '../scripts/replies';
import type { Script, ScriptArg } from '../scripts/Script';
import type { Waiter, WaitingKind, WaitOrder } from '../waiters/Waiter';
import type { WakeRule } from '../waiters/wakeRules';
import type { SendRecord, CommandExecutor } from '../connection/pending/CommandExecutor';
import type { Remainder } from '../watchdog/Lane';
import type { GroupValues, Ownership, Renewal } from '../watchdog/Ownership';
import type { Settings } from '../config/Settings';
import type { Scope } from '../thread/threadScope';
import type { Search } from '../acquire/Rollback';
import type { Acquisition } from '../acquire/Acquisition';
import type { Wait } from '../acquire/acquireWithin';

/** The inspector's name for an object, from its data: kinds with the same data in Redis share one name. */
export type ReportedKind =
  'lock' | 'fair' | 'fenced' | 'readWrite' | 'group' | 'semaphore' | 'permitExpirableSemaphore' | 'countDownLatch';

/** Keys and channels, by the names that scripts have for them. */
export type KeysByRole = Readonly<Record<string, string>>;

/** What the tables need of a script. */
export type KindScript = Pick<Script<string, string, never>, 'name' | 'lua' | 'sha' | 'realKeys'>;

/**
 * What there is to know of a kind of object without a client. Each kind has one, beside its Lua, and
 * `kinds/allKinds.ts` lists them. Its scripts are members of it, named by what they are for (`scriptsOf`). All tables
 * of kinds are made of them: the rights of docs/security.md and of the doctor, what the inspector knows, the kinds of
 * the command line, and the kinds that the tests run.
 */
export interface Kind<Keys extends KeysByRole = KeysByRole> {
  /** Its name in telemetry. */
  readonly name: ObjectKind;
  /** What messages call it. */
  readonly noun: string;
  /** What the inspector calls it. */
  readonly report: ReportedKind;
  /** The block of docs/security.md with its rights. @default {@link report} */
  readonly rights?: string;
  /** What its key holds: a hash of owners, one of values, a hash with a mode, or a number. */
  readonly data: 'owners' | 'values' | 'mode' | 'number';
  /** Whether a thread that holds it may acquire it again. @default true */
  readonly reentrant?: boolean;
  /**
   * Its keys and its channel, by the names that they have in its scripts. By `queue`, `token` and `permits`
   * the inspector recognizes the kind. None for a lock that is made of others.
   * @param owner - whose read holds
   */
  readonly keysOf: (rawName: string, owner: string) => Keys;
  /** The channel to which a waiter subscribes. Absent: no message is sent. */
  readonly channelOf?: (rawName: string, owner: string) => string;
  /** How the watchdog renews its holds. @default `plain` */
  readonly renewal?: RenewalFamily;
  /** The commands that its client sends besides. */
  readonly commands: readonly string[];
  /** Makes one with a default back-off; absent for what needs more than a name, and for synchronizers. */
  readonly lockOf?: (client: RedissonClient, name: string) => RLock;
  /** Changes the owner: `detach` and `attach`. Absent if no hold of the kind can move to another client. */
  readonly move?: Script<string, 'owner' | 'heir' | 'lease' | 'repeated', ReleaseReply>;
}

/** The watchdog renews the holds of a family in common batches. */
export type RenewalFamily = 'plain' | 'read' | 'group' | 'permit';

/** How the holds of a client are renewed. */
export type Renewals = Readonly<Record<RenewalFamily, Renewal>>;

/** What every script that acquires may ask for. */
export type UsualArg = 'message' | 'owner' | 'publish' | 'lease' | 'count';

/** What a script that acquires may ask for. */
export type AttemptArg = UsualArg | 'writer' | 'repeated' | 'wait' | 'slept';

/** What a script that releases may ask for. */
export type ReleaseArg = 'message' | 'owner' | 'left' | 'remaining' | 'publish';

/**
 * A kind with one key, which `clientKind.ts` makes work: its scripts, named by what they are for, and how its waiters
 * wait. A script takes of the keys and arguments what it names.
 */
export interface LockDescriptor extends Kind {
  /** Of a read/write lock: which half it is. A thread may have both. */
  readonly half?: 'read' | 'write';
  /** How the waiters of this process wait: in a FIFO queue, or each for itself. */
  readonly waitOrder: WaitOrder;
  /** Which waiters a message wakes. @default one for `0`, all for `1` */
  readonly wakeRule: WakeRule;
  /** The message of an unlock. @default `0` */
  readonly message?: string;
  /** The script of that family. */
  readonly renew: KindScript;
  /** For the pttl. Absent for group locks, whose values live for different times. */
  readonly timeToLive?: KindScript;
  /** The owner's field in the lock's hash. @default `ownerName` */
  readonly ownerOf?: (clientId: string, threadId: number) => string;
  readonly acquire: Script<string, AttemptArg, AcquireReply>;
  /** The arguments of {@link acquire} that not every kind has. */
  readonly attemptArgs?: (
    request: AttemptRequest,
    settings: Settings,
  ) => Readonly<Partial<Record<Exclude<AttemptArg, UsualArg>, ScriptArg>>>;
  /** An attempt that joins no queue in Redis. @default {@link acquire}: there is no such queue */
  readonly tryAcquire?: LockDescriptor['acquire'];
  readonly release: Script<string, ReleaseArg, ReleaseReply>;
  /** Absent if the kind is never handed over. */
  readonly handOver?: Script<string, 'message' | 'owner' | 'heir' | 'lease' | 'repeated' | 'publish', ReleaseReply>;
  /** Leaves the queue in Redis. Absent without such a queue. */
  readonly abandon?: Script<string, 'message' | 'owner' | 'wait' | 'publish', number>;
  /** Returns the state of the queue in Redis. Absent without one. */
  readonly checkTurn?: KindScript;
  readonly forceRelease: Script<string, 'message' | 'publish', boolean>;
  /** Finds holds that no caller owns. */
  readonly find: Script<never, never, boolean[]>;
  /** @default HLEN */
  readonly isLocked?: Script<string, never, boolean>;
  /** @default HGET */
  readonly holdCount?: Script<string, 'owner', number>;
  /** For group locks: the values of a command, as arguments behind the others. */
  readonly portions?: {
    readonly toAcquire: (request: AttemptRequest) => readonly ScriptArg[];
    readonly toRelease: (request: ReleaseRequest) => readonly ScriptArg[];
  };
}

/** What there is to know of a kind of synchronizer: it is one object, whose callers wait. */
export type SynchronizerKind<Keys extends ObjectKeys = ObjectKeys> = Kind<Keys> & WaitingKind;

/** The keys of a synchronizer by their names in its scripts, and the channel to which its waiters subscribe. */
export type ObjectKeys = Readonly<Record<'name' | 'channel', string>>;

/** The keys of a semaphore with leased permits; `permits` is the zset of those that are taken. */
export type PermitKeys = Readonly<Record<'name' | 'channel' | 'permits', string>>;

/** The lock that a command concerns: its name as the user gave it, for errors, and its key in Redis. */
export type LockSubject = Pick<Ownership, 'name' | 'rawName'>;

/** One attempt. */
export interface AttemptRequest {
  /** The owner and the lock, and what this client knows of the owner's holds. */
  readonly ownership: Ownership;
  /** The lease in ms; for the watchdog, its time-out. */
  readonly leaseMs: number;
  /** Known holds + 1: the hold count that the thread is to have afterwards. */
  readonly count: number;
  /** The longest time for which it went to sleep between its attempts, in ms; 0: it never slept. Fair locks send it. */
  readonly sleptMs: number;
  /** Whether a hold in Redis may be one that this client has reported as lost, or has given up. */
  readonly leftover: boolean;
  /** For a read lock: the write lock that its thread has, under which it may read. */
  readonly writer?: Ownership | undefined;
  /** How long the caller waits, whether it joins a queue, and what was sent before. */
  readonly acquisition: Pick<Acquisition, 'waitMs' | 'waits' | 'repeated' | 'sendRecord'>;
}

/** The next waiter of this process: an acquisition to which a holder can hand the lock over. */
export interface Heir extends AttemptRequest {
  readonly kind: LockKind;
  /** The scope around the call, and the line that made it, if that is recorded. */
  readonly around: Scope | undefined;
  readonly callSite: string | undefined;
  /** Called when a holder hands the lock over, with a command on the connection `connectionNumber`. */
  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void;
}

/** One release. */
export interface ReleaseRequest {
  /** As of {@link AttemptRequest}. */
  readonly ownership: Ownership;
  readonly sendRecord: SendRecord;
  /** What it is to leave; asked at each writing. */
  leaves(): Remainder;
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
  /** Of a read/write lock: which half it is. */
  readonly half: 'read' | 'write' | undefined;
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
  /** How the rollback finds holds that no caller owns. */
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
   * the release of `from` and has its send record: the heir cannot cancel it. A repeat changes nothing.
   */
  readonly handOver?: ((from: ReleaseRequest, request: AttemptRequest) => Promise<ReleaseReply>) | undefined;
  /** Whether the lock may be passed on before Redis knows (`localHandOver`). */
  readonly passesOn: boolean;
  /**
   * Changes the owner of a hold from one to another, with another lease: `detach` and `attach`. Absent if no hold of
   * this kind can move. A repeat changes nothing.
   */
  readonly move?:
    | ((lock: LockSubject, from: string, to: string, leaseMs: number, sent: SendRecord) => Promise<ReleaseReply>)
    | undefined;
  /**
   * Removes a waiter that did not get the lock (Redisson: acquireFailed). Absent if the waiters are not stored in
   * Redis.
   * @param sendRecord - the record of this command, not of the attempts
   */
  readonly abandon?: ((request: AttemptRequest, sendRecord: SendRecord) => Promise<unknown>) | undefined;
  forceRelease(lock: LockSubject): Promise<boolean>;
  isLocked(lock: LockSubject): Promise<boolean>;
  /** The hold count of an owner. @returns 0 for none */
  holdCount(lock: LockSubject, owner: string): Promise<number>;
  /** The pttl: -2 = free, -1 = no expiry. */
  remainTimeToLive(lock: LockSubject): Promise<number>;
}

/** Who waits, as far as a watch needs it: it can be made to attempt once more. */
export type Wakeable = Pick<Waiter<never>, 'wake'>;

/** Keeps a queue in Redis moving: its head may be dead, and an unlock may notify no other waiter. */
export interface QueueWatch {
  /** The head of this queue has just been notified that the lock is free. */
  notified(rawName: string): void;
  /** An acquisition of this process begins to wait. */
  joined(rawName: string, waiter: Wakeable): void;
  /** An attempt of a waiter was refused, and an unlock may not notify that waiter. */
  unheard(rawName: string): void;
  /** A waiter of this process has acquired the lock, or has given up. */
  left(rawName: string, waiter: Wakeable): void;
}
