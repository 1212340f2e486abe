import { flag, integer, millis } from '../config/parsers';
import { validateName } from '../config/validateName';
import { ConfigError } from '../errors';
import type { Redisson } from '../Redisson';
import { describe } from '../util/describe';
import { leaseMillis, NO_LEASE, toMillis } from '../util/duration';
import { nearest } from '../util/nearest';

/** The name of the lock: always the same, or made of the arguments of the call. */
export type DisLockKey = string | ((...args: never[]) => string);

/**
 * Options of `@DisLock`. Times in ms.
 *
 * Source: the annotation `DisLock` of the Java services this package was made for.
 */
export interface DisLockOptions<K extends DisLockKey = DisLockKey> {
  /** The lock's name, or how to make it of the method's arguments. */
  readonly key: K;
  /**
   * How long a call waits for the lock; zero or less: one attempt. Past it the call rejects with `LockTimeoutError`, and
   * the method does not run.
   * @default without limit, as `RLock.acquire`
   */
  readonly waitTime?: number | undefined;
  /**
   * A fixed lease, which is not renewed: the method should end before it does. Zero or less: none, the lock is renewed.
   * @default none
   */
  readonly expire?: number | undefined;
  /** How long the lock outlives this process; it is renewed every third of it. Only without `expire`. @default the client's setting */
  readonly lockWatchdogTimeout?: number | undefined;
  /** How often the lock is renewed at most, so that a call that hangs gives it up; 0: no limit. @default 360 */
  readonly maxRenewTimes?: number | undefined;
  /**
   * Whether the lock is released when the method ends. `false`: it is not; its renewal stops and it runs out by itself,
   * so that the method runs once in that time at most.
   * @default true
   */
  readonly ifExpireWhenFinish?: boolean | undefined;
  /** The client to take the lock with. @default the one given to `DisLock.use` */
  readonly client?: Redisson | undefined;
}

/** The options as they are used. */
export interface DisLockSettings {
  readonly key: DisLockKey;
  /** `undefined`: without limit. */
  readonly waitTime: number | undefined;
  readonly leaseTime: number;
  readonly watchdogMs: number | undefined;
  readonly maxRenewTimes: number;
  readonly leaves: boolean;
  readonly client: Redisson | undefined;
}

/** One hour with the usual watchdog time-out. */
const MAX_RENEW_TIMES = 360;

const KNOWN = ['key', 'waitTime', 'expire', 'lockWatchdogTimeout', 'maxRenewTimes', 'ifExpireWhenFinish', 'client'];

/**
 * Checks the options where they are written.
 * @throws ConfigError, RangeError that name the option and the value
 */
export function readDisLockOptions(options: DisLockOptions): DisLockSettings {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError(`@DisLock needs an object with a key, got ${describe(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new ConfigError(`@DisLock has no option '${name}'; did you mean '${nearest(name, KNOWN)}'?`);
  }
  const { key, waitTime, expire, lockWatchdogTimeout, maxRenewTimes, ifExpireWhenFinish, client } = options;
  if (typeof key !== 'function') validateName(key, 'lock (the key of @DisLock)');
  return {
    key,
    waitTime: waitTime === undefined ? undefined : toMillis(waitTime, undefined, 'waitTime'),
    leaseTime: expire === undefined ? NO_LEASE : leaseMillis(expire, undefined, 'expire'),
    watchdogMs:
      lockWatchdogTimeout === undefined ? undefined : millis(3).parse(lockWatchdogTimeout, 'lockWatchdogTimeout'),
    maxRenewTimes: maxRenewTimes === undefined ? MAX_RENEW_TIMES : integer(0).parse(maxRenewTimes, 'maxRenewTimes'),
    leaves: ifExpireWhenFinish !== undefined && !flag.parse(ifExpireWhenFinish, 'ifExpireWhenFinish'),
    client: client === undefined ? undefined : checkClient(client),
  };
}

/** @throws ConfigError unless it is a client of this package */
export function checkClient(client: Redisson): Redisson {
  if (typeof client === 'object' && client !== null && typeof client.guard === 'function') return client;
  throw new ConfigError(`The client of @DisLock must be a Redisson, got ${describe(client)}`);
}
