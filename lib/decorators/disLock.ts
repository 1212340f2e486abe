import { ConfigError } from '../errors';
import type { Redisson } from '../Redisson';
import { checkClient, readDisLockOptions, type DisLockKey, type DisLockOptions } from './disLockOptions';

/** An async method. */
type Method<This, Args extends unknown[], R> = (this: This, ...args: Args) => Promise<R>;

/**
 * Whether a key can be made of such arguments. Parameters without a type annotation are not compared: they have none that
 * could be.
 */
type Fits<K extends DisLockKey, Args extends unknown[]> = K extends string | ((...args: Args) => string)
  ? true
  : K extends (...args: infer P) => string
    ? [P[number]] extends [never]
      ? true
      : false
    : false;

let shared: Redisson | undefined;

/**
 * Runs an async method under a lock: `@DisLock({ key: (id: string) => 'order:' + id })`.
 *
 * A call takes the lock of its key, waits for it if it must, runs the method in the thread scope of that hold (so that
 * decorated methods that call each other re-enter), and releases the lock. `this`, the arguments, the value and the
 * errors pass through. Standard decorators (TypeScript 5 and later, without `experimentalDecorators`), on any method:
 * static and private ones too.
 *
 * The decorated method rejects with what the method rejects with, and besides with
 * - `LockTimeoutError` when the lock was not to be had within `waitTime`; the method did not run then;
 * - `LockLostError` when the lock was lost before the method ended: what it did may not have been alone;
 * - `ConfigError` without a client, or when the key is not a non-empty string; errors of the connection.
 *
 * @throws ConfigError, RangeError for options it does not understand
 */
export function DisLock<K extends DisLockKey>(
  options: DisLockOptions<K>,
): <This, Args extends unknown[], R>(
  method: Method<This, Args, R>,
  context: Fits<K, Args> extends true ? ClassMethodDecoratorContext<This, Method<This, Args, R>> : never,
) => Method<This, Args, R> {
  const { key, waitTime, leaseTime, maxRenewTimes, client, ...inner } = readDisLockOptions(options);
  return (method, context) => {
    const kind: unknown = (context as { kind?: unknown } | undefined)?.kind;
    if (kind !== 'method') {
      throw new TypeError(
        '@DisLock decorates methods, as a standard decorator: compile without experimentalDecorators',
      );
    }
    return named(method.name, async function (...args) {
      const redisson = client ?? shared;
      if (redisson === undefined) {
        throw new ConfigError('@DisLock has no client: call DisLock.use(client) first, or give it as an option');
      }
      const name = typeof key === 'function' ? key(...(args as unknown as never[])) : key;
      const run = (): ReturnType<typeof method> => method.apply(this, args);
      return redisson.guard(name, run, { waitTime, leaseTime, maxRenewTimes }, inner);
    });
  };
}

/**
 * Sets the client of all `@DisLock` without one of their own, wherever they are; it is looked up at each call.
 * @param client - `undefined`: none any more
 */
DisLock.use = (client: Redisson | undefined): void => {
  shared = client === undefined ? undefined : checkClient(client);
};

/** Gives a function the name of the one it stands for: it is in the stack traces. */
function named<F extends (...args: never[]) => unknown>(name: string, fn: F): F {
  return Object.defineProperty(fn, 'name', { value: name, configurable: true });
}
