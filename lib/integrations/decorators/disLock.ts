import type { RedissonClient, RLock, RunOptions, TryResult } from '../../api';
import { flag, integer, millis } from '../../config/parse/schema';
import { validateName } from '../../config/validateName';
import { ConfigError } from '../../errors';
import { describe, nearest } from '../../util/describe';
import { leaseMillis, toMillis } from '../../util/duration';
import {
  decorateMethod,
  type Fits,
  type LegacyLockDecorator,
  type LockKey,
  type Method,
  nameFor,
  type WrongKey,
} from './decorateMethod';

/**
 * What `DisLock()` returns: a method decorator of either flavour, for methods that return a promise and that the key
 * function can be called with.
 */
export interface DisLockDecorator<K extends DisLockKey> extends LegacyLockDecorator<K> {
  /** As a standard decorator. */
  <This, Args extends unknown[], R>(
    method: Method<This, Args, R>,
    context: Fits<K, Args> extends true ? ClassMethodDecoratorContext<This, Method<This, Args, R>> : WrongKey,
  ): Method<This, Args, R>;
}

let shared: RedissonClient | undefined;

/**
 * Runs an async method under a lock: `@DisLock({ key: (id: string) => 'order:' + id })`.
 *
 * A call takes the lock of its key, waits for it if it must, runs the method in the thread scope of that hold (so that
 * decorated methods that call each other re-enter), and releases the lock. `this`, the arguments, the value and the
 * errors pass through. It is a standard decorator (TypeScript 5 and later; static and private methods too), and a
 * legacy one where `experimentalDecorators` is set (NestJS, TypeORM), with tsc and swc. What other decorators have
 * noted at the method (`reflect-metadata`) stays.
 *
 * The decorated method rejects with what the method rejects with, and besides with
 * - `LockTimeoutError` when the lock was not to be had within `waitTime`; the method did not run then (with `skip` it
 *   resolves to `undefined` instead);
 * - `LockLostError` when the lock was lost before the method ended: what it did may not have been alone;
 * - `ConfigError` without a client, when the key is not a non-empty string, or for `lockWatchdogTimeout` and
 *   `ifExpireWhenFinish` with a client that this package did not make; errors of the connection.
 *
 * @throws ConfigError, RangeError for options it does not understand
 */
export function DisLock<K extends DisLockKey>(options: DisLockOptions<K>): DisLockDecorator<K> {
  const settings = readDisLockOptions(options);
  return decorateMethod('@DisLock', (call, args) => {
    const redisson = settings.client ?? shared;
    if (redisson === undefined) {
      throw new ConfigError('@DisLock has no client: call DisLock.use(client) first, or give it as an option');
    }
    return runUnder(redisson.getLock(nameFor(settings.key, args)), call, settings);
  }) as DisLockDecorator<K>;
}

/**
 * Sets the client of all `@DisLock` without one of their own, wherever they are; it is looked up at each call.
 * @param client - `undefined`: none any more
 */
DisLock.use = (client: RedissonClient | undefined): void => {
  shared = client === undefined ? undefined : checkClient(client);
};

/** The locks of this package, which can do what no public method offers. */
interface DecoratedLock extends RLock {
  runDecorated<T>(
    fn: () => T | PromiseLike<T>,
    options: RunOptions & { readonly skip: boolean },
    inner: Pick<DisLockSettings, 'watchdogMs' | 'letsExpire'>,
  ): Promise<TryResult<T>>;
}

async function runUnder(lock: RLock | DecoratedLock, fn: () => unknown, settings: DisLockSettings): Promise<unknown> {
  const { waitTime, leaseTime, maxRenewTimes, watchdogMs, letsExpire, atLeast, skip } = settings;
  const options = { waitTime, leaseTime, maxRenewTimes, atLeast };
  if ('runDecorated' in lock) {
    const result = await lock.runDecorated(fn, { ...options, skip }, { watchdogMs, letsExpire });
    return result.acquired ? result.value : undefined;
  }
  if (watchdogMs !== undefined || letsExpire) {
    const what = watchdogMs === undefined ? 'ifExpireWhenFinish: false' : 'lockWatchdogTimeout';
    throw new ConfigError(`${what} of @DisLock needs a client that this package has made`);
  }
  if (!skip) return lock.withLock(fn, options);
  const result = await lock.tryWithLock(fn, options);
  return result.acquired ? result.value : undefined;
}

/** The name of the lock: always the same, or made of the arguments of the call. */
export type DisLockKey = LockKey;

/**
 * Options of `@DisLock`. Times in ms.
 *
 * Source: the annotation `DisLock` of the Java services this package was made for.
 */
export interface DisLockOptions<K extends DisLockKey = DisLockKey> {
  /** The lock's name, or how to make it of the method's arguments. */
  readonly key: K;
  /**
   * How long a call waits for the lock; zero or less: one attempt. Past it the call rejects with `LockTimeoutError`,
   * and the method does not run.
   * @default without limit, as `RLock.acquire`; one attempt with `skip`
   */
  readonly waitTime?: number | undefined;
  /**
   * A fixed lease, which is not renewed: the method should end before it does. Zero or less: none, the lock is renewed.
   * @default none
   */
  readonly expire?: number | undefined;
  /**
   * How long the lock outlives this process; it is renewed every third of it. Only without `expire`.
   * @default the client's setting
   */
  readonly lockWatchdogTimeout?: number | undefined;
  /** How often the lock is renewed at most, so that a call that hangs gives it up; 0: no limit. @default 360 */
  readonly maxRenewTimes?: number | undefined;
  /**
   * Whether the lock is released when the method ends. `false`: it is not; its renewal stops and it runs out by itself,
   * so that the method runs once in that time at most.
   * @default true
   */
  readonly ifExpireWhenFinish?: boolean | undefined;
  /**
   * How long the lock stays at least, in ms from when it was acquired, although the method has ended: it is then left to
   * expire, so that a second machine a little later does not run the method again.
   * @default 0
   */
  readonly atLeast?: number | undefined;
  /**
   * Whether a call that does not acquire the lock within `waitTime` resolves to `undefined` instead of rejecting with
   * `LockTimeoutError`; without `waitTime` it then makes one attempt. For jobs that run once in a fleet.
   * @default false
   */
  readonly skip?: boolean | undefined;
  /** The client to take the lock with. @default the one given to `DisLock.use` */
  readonly client?: RedissonClient | undefined;
}

/** The options as they are used. `waitTime` `undefined`: without limit. */
export interface DisLockSettings extends RunOptions {
  readonly key: DisLockKey;
  readonly watchdogMs: number | undefined;
  readonly letsExpire: boolean;
  readonly skip: boolean;
  readonly client: RedissonClient | undefined;
}

/** One hour with the usual watchdog time-out. */
const MAX_RENEW_TIMES = 360;

const KNOWN = [
  'key',
  'waitTime',
  'expire',
  'lockWatchdogTimeout',
  'maxRenewTimes',
  'ifExpireWhenFinish',
  'atLeast',
  'skip',
  'client',
];

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
  const { key, waitTime, expire, lockWatchdogTimeout, client } = options;
  const { maxRenewTimes = MAX_RENEW_TIMES, ifExpireWhenFinish = true, atLeast = 0, skip = false } = options;
  if (typeof key !== 'function') validateName(key, 'lock (the key of @DisLock)');
  return {
    key,
    waitTime: waitTime === undefined ? undefined : toMillis(waitTime, undefined, 'waitTime'),
    leaseTime: leaseMillis(expire, undefined, 'expire'),
    watchdogMs:
      lockWatchdogTimeout === undefined ? undefined : millis(3).parse(lockWatchdogTimeout, 'lockWatchdogTimeout'),
    maxRenewTimes: integer(0).parse(maxRenewTimes, 'maxRenewTimes'),
    letsExpire: !flag.parse(ifExpireWhenFinish, 'ifExpireWhenFinish'),
    atLeast: millis(0).parse(atLeast, 'atLeast'),
    skip: flag.parse(skip, 'skip'),
    client: client === undefined ? undefined : checkClient(client),
  };
}

/** @throws ConfigError unless it is a client */
function checkClient(client: RedissonClient): RedissonClient {
  if (typeof client === 'object' && client !== null && typeof client.getLock === 'function') return client;
  throw new ConfigError(`The client of @DisLock must be a Redisson, got ${describe(client)}`);
}
