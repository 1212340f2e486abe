import type { RedissonClient, RLock } from '../api';
import { flag, integer, millis } from '../config/parse/parsers';
import { validateName } from '../config/validateName';
import { ConfigError } from '../errors';
import { describe, nearest } from '../util/describe';
import { leaseMillis, NO_LEASE, toMillis } from '../util/duration';
import { decorateMethod } from './decorateMethod';

/** An async method. */
type Method<This, Args extends unknown[], R> = (this: This, ...args: Args) => Promise<R>;

/**
 * Whether a key can be made of such arguments. Parameters without a type annotation are not compared: they have none
 * that could be.
 */
type Fits<K extends DisLockKey, Args extends unknown[]> = K extends string | ((...args: Args) => string)
  ? true
  : K extends (...args: infer P) => string
    ? [P[number]] extends [never]
      ? true
      : false
    : false;

/** What the compiler then says that the method's context is not. */
type WrongKey = 'The key function of this @DisLock takes other parameters than the method';

/**
 * What `DisLock()` returns: a method decorator of either flavour, for methods that return a promise and that the key
 * function can be called with.
 */
export interface DisLockDecorator<K extends DisLockKey> {
  /** As a standard decorator. */
  <This, Args extends unknown[], R>(
    method: Method<This, Args, R>,
    context: Fits<K, Args> extends true ? ClassMethodDecoratorContext<This, Method<This, Args, R>> : WrongKey,
  ): Method<This, Args, R>;
  /** As a legacy one: with `experimentalDecorators`. */
  <Args extends unknown[], R>(
    target: object,
    propertyKey: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: Args) => Promise<R>> &
      (Fits<K, Args> extends true ? unknown : WrongKey),
  ): void;
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
 * - `LockTimeoutError` when the lock was not to be had within `waitTime`; the method did not run then;
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
    const { key } = settings;
    const name = typeof key === 'function' ? key(...(args as never[])) : key;
    return runUnder(redisson.getLock(name), call, settings);
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
    options: { readonly waitTime: number | undefined; readonly leaseTime: number; readonly maxRenewTimes: number },
    inner: { readonly watchdogMs: number | undefined; readonly letsExpire: boolean },
  ): Promise<T>;
}

function runUnder(lock: RLock | DecoratedLock, fn: () => unknown, settings: DisLockSettings): Promise<unknown> {
  const { waitTime, leaseTime, maxRenewTimes, watchdogMs, letsExpire } = settings;
  const options = { waitTime, leaseTime, maxRenewTimes };
  if ('runDecorated' in lock) return lock.runDecorated(fn, options, { watchdogMs, letsExpire });
  if (watchdogMs !== undefined || letsExpire) {
    const what = watchdogMs === undefined ? 'ifExpireWhenFinish: false' : 'lockWatchdogTimeout';
    throw new ConfigError(`${what} of @DisLock needs a client that this package has made`);
  }
  return lock.withLock(fn, options);
}

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
   * How long a call waits for the lock; zero or less: one attempt. Past it the call rejects with `LockTimeoutError`,
   * and the method does not run.
   * @default without limit, as `RLock.acquire`
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
  /** The client to take the lock with. @default the one given to `DisLock.use` */
  readonly client?: RedissonClient | undefined;
}

/** The options as they are used. */
export interface DisLockSettings {
  readonly key: DisLockKey;
  /** `undefined`: without limit. */
  readonly waitTime: number | undefined;
  readonly leaseTime: number;
  readonly watchdogMs: number | undefined;
  readonly maxRenewTimes: number;
  readonly letsExpire: boolean;
  readonly client: RedissonClient | undefined;
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
    letsExpire: ifExpireWhenFinish !== undefined && !flag.parse(ifExpireWhenFinish, 'ifExpireWhenFinish'),
    client: client === undefined ? undefined : checkClient(client),
  };
}

/** @throws ConfigError unless it is a client */
export function checkClient(client: RedissonClient): RedissonClient {
  if (typeof client === 'object' && client !== null && typeof client.getLock === 'function') return client;
  throw new ConfigError(`The client of @DisLock must be a Redisson, got ${describe(client)}`);
}
