import type { ObjectKind, RedissonClient, RLock } from '../../api';
import type { Script } from '../../scripts/Script';

/** What the inspector calls an object by its data: kinds that look alike in Redis have one name there. */
export type ReportedKind =
  'lock' | 'fair' | 'fenced' | 'readWrite' | 'group' | 'semaphore' | 'permitExpirableSemaphore' | 'countDownLatch';

/** Keys and channels, by the names that scripts have for them. */
export type KeysByRole = Readonly<Record<string, string>>;

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
  /** All scripts that its client sends. */
  readonly scripts: () => readonly Pick<Script<string, string, never>, 'name' | 'lua' | 'realKeys'>[];
  /** The commands that its client sends besides. */
  readonly commands: readonly string[];
  /** Makes one with a default back-off; absent for what needs more than a name, and for synchronizers. */
  readonly lockOf?: (client: RedissonClient, name: string) => RLock;
  /** Whether `ioredisson run --type` takes it. */
  readonly forRun?: boolean;
}
