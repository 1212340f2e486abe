import type { RedissonClient, RLock, RunOptions, TryResult } from '../../api';
import { flag, integer, millis } from '../../config/parse/schema';
import { validateName } from '../../config/validateName';
import { ConfigError } from '../../errors';
import { describe, suggestion } from '../../util/describe';
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
 * What `DisLock()` returns: a method decorator, standard or legacy. It fits methods that return a promise and whose
 * arguments the key function accepts.
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
 * A call takes the lock of its key, waiting if it must. It runs the method in the thread scope of that hold (so that
 * decorated methods that call each other re-enter), and releases the lock. `this`, the arguments, the value and the
 * errors pass through. It works as a standard decorator (TypeScript 5 and later; static and private methods too), and
 * as a legacy one where `experimentalDecorators` is set (NestJS, TypeORM), with tsc and swc. Metadata that other
 * decorators have stored at the method (`reflect-metadata`) stays.
 *
 * The decorated method rejects with the errors of the method, and also with
 * - `LockTimeoutError` if the lock was not acquired within `waitTime`; the method did not run then (with `skip` it
 *   resolves to `undefined` instead);
 * - `LockLostError` if the lock was lost before the method ended: another caller may have run meanwhile;
 * - `ConfigError` without a client, for a key that is not a non-empty string, or for `lockWatchdogTimeout` and
 *   `ifExpireWhenFinish` with a client that this package did not make;
 * - errors of the connection.
 *
 * @throws ConfigError, RangeError for unknown or invalid options
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
 * Sets the client of every `@DisLock` that has none of its own. Each call reads it anew.
 * @param client - `undefined`: removes it
 */
DisLock.use = (client: RedissonClient | undefined): void => {
  shared = client === undefined ? undefined : checkClient(client);
};

/** A lock of this package, which can do more than its public methods offer. */
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

/** The name of the lock: a fixed one, or a function that makes it from the arguments of the call. */
export type DisLockKey = LockKey;

/**
 * Options of `@DisLock`. Times in ms.
 *
 * Source: the annotation `DisLock` of the Java services this package was made for.
 */
export interface DisLockOptions<K extends DisLockKey = DisLockKey> {
  /** The lock's name, or a function that makes it from the arguments of the method. */
  readonly key: K;
  /**
   * How long a call waits for the lock, in ms; zero or less: one attempt. After that, the call rejects with
   * `LockTimeoutError`, and the method does not run.
   * @default without limit, like `RLock.acquire`; one attempt with `skip`
   */
  readonly waitTime?: number | undefined;
  /**
   * A fixed lease in ms, which is not renewed: the method should end before it does. Zero or less: no fixed lease, the
   * lock is renewed.
   * @default none
   */
  readonly expire?: number | undefined;
  /**
   * How long the lock outlives this process, in ms; it is renewed every third of that time. Only without `expire`.
   * @default the client's setting
   */
  readonly lockWatchdogTimeout?: number | undefined;
  /** How often the lock is renewed at most, so that a call that hangs loses it; 0: no limit. @default 360 */
  readonly maxRenewTimes?: number | undefined;
  /**
   * Whether the lock is released when the method ends. `false`: it is not released. Its renewal stops and it expires,
   * so that the method runs at most once in that time.
   * @default true
   */
  readonly ifExpireWhenFinish?: boolean | undefined;
  /**
   * The shortest time that the lock stays, in ms from its acquisition. If the method ends earlier, the lock is left
   * to expire, so that a second machine does not run the method again a little later.
   * @default 0
   */
  readonly atLeast?: number | undefined;
  /**
   * Whether a call that does not acquire the lock within `waitTime` resolves to `undefined` instead of rejecting with
   * `LockTimeoutError`. Without `waitTime`, such a call makes one attempt. For jobs that run once in a fleet.
   * @default false
   */
  readonly skip?: boolean | undefined;
  /** The client to take the lock with. @default the one given to `DisLock.use` */
  readonly client?: RedissonClient | undefined;
}

/** The parsed options. `waitTime` `undefined`: without limit. */
export interface DisLockSettings extends RunOptions {
  readonly key: DisLockKey;
  readonly watchdogMs: number | undefined;
  readonly letsExpire: boolean;
  readonly skip: boolean;
  readonly client: RedissonClient | undefined;
}

/** One hour with the default watchdog time-out. */
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
 * Checks the options when the decorator is made.
 * @throws ConfigError, RangeError that name the option and the value
 */
export function readDisLockOptions(options: DisLockOptions): DisLockSettings {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError(`@DisLock needs an object with a key, got ${describe(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new ConfigError(
      `@DisLock has no option '${name}'${suggestion(name, KNOWN, `; there is ${KNOWN.join(', ')}`)}`,
    );
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
