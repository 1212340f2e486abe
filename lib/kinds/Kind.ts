import type { ObjectKind, RedissonClient, RLock } from '../api';
import type { NonReentrantReply, ReleaseReply } from '../scripts/replies';
import type { Script, ScriptArg } from '../scripts/Script';
import type { WaitOrder } from '../waiters/Waiter';
import type { WakeRule } from '../waiters/WaitQueue';
import type { AttemptRequest, ReleaseRequest } from './LockKind';
import { findHolds, lockTimeToLive, renewLocks } from './reentrantScripts';

/** What the inspector calls an object by its data: kinds that look alike in Redis have one name there. */
export type ReportedKind =
  'lock' | 'fair' | 'fenced' | 'readWrite' | 'group' | 'semaphore' | 'permitExpirableSemaphore' | 'countDownLatch';

/** Keys and channels, by the names that scripts have for them. */
export type KeysByRole = Readonly<Record<string, string>>;

/** What the tables need of a script. */
type KindScript = Pick<Script<string, string, never>, 'name' | 'lua' | 'realKeys'>;

/**
 * What there is to know of a kind of object without a client. Each kind has one, beside its Lua, and `kinds/allKinds.ts`
 * lists them. All tables of kinds are made of them: the rights of docs/security.md and of the doctor, what the inspector
 * knows, the kinds of the command line, and the kinds that the tests run.
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
   * Its keys and its channel, by the names that they have in its scripts. `queue`, `token` and `permits` tell the
   * inspector what it is. None for a lock that is made of others.
   * @param owner - whose read holds
   */
  readonly keysOf: (rawName: string, owner: string) => Keys;
  /** The channel to which a waiter subscribes. Absent: no message is sent. */
  readonly channelOf?: (rawName: string, owner: string) => string;
  /** How the watchdog renews its holds. @default `plain` */
  readonly renewal?: RenewalFamily;
  /** All scripts that its client sends. */
  readonly scripts: () => readonly KindScript[];
  /** The commands that its client sends besides. */
  readonly commands: readonly string[];
  /** Makes one with a default back-off; absent for what needs more than a name, and for synchronizers. */
  readonly lockOf?: (client: RedissonClient, name: string) => RLock;
  /** Changes the owner: `detach` and `attach`. Absent if no hold of the kind can move to another client. */
  readonly move?: Script<string, 'owner' | 'heir' | 'lease' | 'repeated', ReleaseReply>;
  /** Whether `ioredisson run --type` takes it. */
  readonly forRun?: boolean;
}

/** The watchdog renews the holds of a family in common batches. */
export type RenewalFamily = 'plain' | 'read' | 'group' | 'permit';

/** What a script that releases may ask for. */
type ReleaseArg = 'message' | 'owner' | 'left' | 'remaining' | 'publish';

/**
 * A kind with one key, which `clientKind.ts` makes work: its scripts, named by what they are for, and how its waiters
 * wait. A script takes of the keys and arguments what it names.
 */
export interface LockDescriptor extends Kind {
  /** How the waiters of this process wait: in a FIFO queue, or each for itself. */
  readonly waitOrder: WaitOrder;
  /** Which waiters a message wakes. @default one for `0`, all for `1` */
  readonly wakeRule?: WakeRule;
  /** The message of an unlock. @default `0` */
  readonly message?: string;
  /** The script of that family. @default `renewLocks` */
  readonly renew?: KindScript;
  /** The owner's field in the lock's hash. @default `ownerName` */
  readonly ownerOf?: (clientId: string, threadId: number) => string;
  readonly acquire: Script<
    string,
    Exclude<ReleaseArg, 'left' | 'remaining'> | 'lease' | 'writer' | 'count' | 'repeated' | 'wait' | 'slept',
    NonReentrantReply
  >;
  /** An attempt that joins no queue in Redis. @default {@link acquire}: there is no such queue */
  readonly tryAcquire?: LockDescriptor['acquire'];
  readonly release: Script<string, ReleaseArg, ReleaseReply>;
  /** Absent if the kind is never handed over. */
  readonly handOver?: Script<string, 'owner' | 'heir' | 'lease' | 'repeated', ReleaseReply>;
  /** Leaves the queue in Redis. Absent without such a queue. */
  readonly abandon?: Script<string, 'message' | 'owner' | 'wait' | 'publish', number>;
  /** Yields how the queue in Redis stands. Absent without one. */
  readonly checkTurn?: KindScript;
  readonly forceRelease: Script<string, 'message' | 'publish', boolean>;
  /** Looks for holds that no caller owns. @default `findHolds` */
  readonly find?: Script<never, never, boolean[]>;
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

/** Adds the list of its scripts to a descriptor. */
export function lockDescriptor<const L extends Omit<LockDescriptor, 'scripts'>>(lock: L): L & Pick<Kind, 'scripts'> {
  const { acquire, tryAcquire, release, handOver, move, abandon, checkTurn, forceRelease, isLocked, holdCount } = lock;
  const { data, find = findHolds, renew = renewLocks } = lock;
  const timeToLive = data === 'values' ? undefined : lockTimeToLive;
  const ofAll = [acquire, release, forceRelease, find, renew];
  const ofSome = [tryAcquire, handOver, move, abandon, checkTurn, isLocked, holdCount, timeToLive];
  const scripts = [...new Set([...ofAll, ...ofSome.filter((one) => one !== undefined)])];
  return { ...lock, scripts: () => scripts };
}

/** The keys of a synchronizer by their names in its scripts, and the channel to which its waiters subscribe. */
export type ObjectKeys = Readonly<Record<'name' | 'channel', string>>;

/** The keys of a semaphore with leased permits; `permits` is the zset of those that are taken. */
export type PermitKeys = Readonly<Record<'name' | 'channel' | 'permits', string>>;
