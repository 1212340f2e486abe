import { ConflictException, Inject, ServiceUnavailableException } from '@nestjs/common';
import type { RedissonClient, RunOptions } from '../../api';
import { decorateMethod, type LegacyLockDecorator, type LockKey, nameFor } from '../decorators/decorateMethod';
import { checkOptionNames, RUN_OPTIONS } from '../../config/optionNames';
import { validateName } from '../../config/validateName';
import { ConfigError } from '../../errors';
import { httpStatusOf } from '../frameworks/requestLock';
import { redissonToken } from './RedissonModule';

/** The name of the lock: a fixed one, or a function that makes it from the arguments of the call. */
export type WithLockKey = LockKey;

/** Options of `@WithLock`: those of `RLock.withLock`, plus `http`, `skip` and `client`. */
export interface WithLockOptions extends RunOptions {
  /**
   * Whether a call that does not acquire the lock within `waitTime` resolves to `undefined` instead of rejecting.
   * Without `waitTime`, such a call makes one attempt. For `@Cron` methods that run once in a fleet.
   * @default false
   */
  readonly skip?: boolean | undefined;
  /**
   * For methods that answer a request. If the lock is not acquired, the method rejects with an exception of NestJS,
   * whose `cause` is the error itself: `ConflictException` (409) if others hold the lock (`LockTimeoutError` with
   * `reason` `held`), `ServiceUnavailableException` (503) for `ShutdownError` and `ConnectionError`, and if Redis
   * refused or did not answer.
   * @default false: it rejects with the error itself
   */
  readonly http?: boolean | undefined;
  /**
   * The name of the client, that of `RedissonModule.forRoot({ name })`.
   * @default the client without a name
   */
  readonly client?: string | undefined;
}

const WITH_LOCK_OPTIONS = new Set([...RUN_OPTIONS, 'http', 'skip', 'client']);

/** The property where NestJS puts the client, in each instance whose class has a method with `@WithLock` of it. */
function propertyOf(token: symbol): symbol {
  return Symbol.for(`${token.description} for @WithLock`);
}

/**
 * Runs an async method of a provider or controller under a lock: `@WithLock((id: string) => 'order:' + id)`.
 *
 * The lock is `getLock(key)` of the client of `RedissonModule`. The method runs in the thread scope of its hold, and
 * its errors pass through. Other decorators of the method may stand above and below.
 *
 * The method can also reject with
 * - `LockTimeoutError` if the lock was not acquired within `waitTime` (see `http`; with `skip` it resolves to
 *   `undefined` instead);
 * - `LockLostError` if the lock was lost before the method ended: another caller may have run meanwhile;
 * - `ConfigError` for a key that is not a non-empty string, and if NestJS did not make the instance.
 *
 * @param key - the name, or a function that makes it from the arguments of a call
 * @param options - those of `RLock.withLock`, plus `http`, `skip` and `client`
 * @throws ConfigError where it decorates, for an empty name and unknown options
 */
export function WithLock<K extends WithLockKey>(key: K, options: WithLockOptions = {}): LegacyLockDecorator<K> {
  if (typeof key !== 'function') validateName(key);
  checkOptionNames(options, WITH_LOCK_OPTIONS);
  const { http = false, skip = false, client, ...acquire } = options;
  const token = redissonToken(client);
  const property = propertyOf(token);
  const decorate = decorateMethod('@WithLock', async (call, args, self) => {
    const redisson = (self as Readonly<Record<symbol, RedissonClient | undefined>> | undefined)?.[property];
    if (redisson === undefined) {
      throw new ConfigError('@WithLock has no client: NestJS must make the instance, with RedissonModule imported');
    }
    const name = nameFor(key, args);
    let acquired = false;
    const run = (): unknown => {
      acquired = true;
      return call();
    };
    const lock = redisson.getLock(name);
    try {
      if (!skip) return await lock.withLock(run, acquire);
      const result = await lock.tryWithLock(run, acquire);
      return result.acquired ? result.value : undefined;
    } catch (error) {
      // Errors of the method itself pass through unchanged.
      const status = http && !acquired ? httpStatusOf(error) : undefined;
      if (status === 409) throw new ConflictException(`'${name}' is locked`, { cause: error });
      if (status === 503) throw new ServiceUnavailableException('Not available now, try again', { cause: error });
      throw error;
    }
  });
  return (target, propertyKey, descriptor) => {
    if (typeof target === 'function') throw new TypeError('@WithLock decorates methods of instances, not static ones');
    decorate(target, propertyKey, descriptor);
    if (!Object.hasOwn(target, property)) {
      Inject(token)(target, property);
      // Only a marker: NestJS sets the property on each instance.
      Object.defineProperty(target, property, { value: undefined, writable: true });
    }
  };
}
