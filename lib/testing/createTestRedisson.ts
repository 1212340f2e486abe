import { types } from 'node:util';
import { isPlainObject, resolveConfig } from '../config/builder/resolveConfig';
import type { RedissonOptions } from '../config/RedissonOptions';
import type { Settings } from '../config/Settings';
import { mapName, validateName } from '../config/validateName';
import { ConfigError, ShutdownError } from '../errors';
import { groupHolders, isGroupHash, isLockHash, parseOwner } from '../operators/inspection/describe';
import { Redisson } from '../Redisson';
import { describe } from '../util/describe';
import { Failures } from './Failures';
import { connectMemory, type MemoryConnections } from './memoryConnections';
import { MemoryServer, type StoreClient } from './MemoryServer';
import type { TestHolder, TestRedisson, TestRedissonOptions } from './TestRedisson';

/** The store of an object: of one given as `store`, and of each test client. */
const servers = new WeakMap<object, MemoryServer>();

/**
 * Makes a client for tests: every lock and synchronizer, with the same facades, waiting loop and watchdog, over a store
 * in this process. It opens no socket and keeps no process alive. Operations settle in microtasks, and leases pass by
 * `performance`, so that fake timers rule them.
 *
 * @param options - settings, and with whom the store is shared
 * @throws ConfigError for options that it does not know, or that it cannot use
 */
export function createTestRedisson(options: TestRedissonOptions = {}): TestRedisson {
  const { store, settings } = readOptions(options);
  const server = serverOf(store);
  const failures = new Failures();
  let connections: MemoryConnections | undefined;
  const redisson = Redisson.over(settings, (complete) => (connections = connectMemory(server, complete, failures)));
  const { ownerships, wakeAll, interrupt } = redisson.internals;
  const client: StoreClient = {
    lose(rawName) {
      ownerships.loseAll(rawName, 'the test took it away (loseLock)');
      wakeAll();
    },
    reset() {
      failures.reset(resetError);
      interrupt(resetError);
      // As after a restart without data: what a handle had set is gone.
      connections?.lose();
    },
  };
  server.clients.add(client);
  redisson.onConnectionChange(({ state }) => {
    if (state === 'closed') server.clients.delete(client);
  });
  const rawNameOf = (name: string): string => mapName(validateName(name), settings.nameMapper);
  const methods: Omit<TestRedisson, keyof Redisson> = {
    loseLock(name) {
      const rawName = rawNameOf(name);
      if (holdersOf(server, rawName).length === 0) return false;
      server.expire(rawName);
      for (const each of [...server.clients]) each.lose(rawName);
      return true;
    },
    failNext(error, times = 1) {
      if (!types.isNativeError(error)) throw new TypeError(`failNext needs an Error, got ${describe(error)}`);
      if (times !== Infinity && !(Number.isSafeInteger(times) && times >= 0)) {
        throw new RangeError(`times must be an integer from 0, or Infinity, got ${describe(times)}`);
      }
      if (times === 0) failures.clear();
      else failures.add(error, times);
    },
    holders: (name) => holdersOf(server, rawNameOf(name)),
    reset: () => server.reset(),
  };
  const made = Object.assign(redisson, methods);
  servers.set(made, server);
  return made;
}

function readOptions(options: TestRedissonOptions): { readonly store: object; readonly settings: Settings } {
  if (!isPlainObject(options)) {
    throw new ConfigError(`The options of createTestRedisson must be a plain object, got ${describe(options)}`);
  }
  const { store = {}, ...others } = options as TestRedissonOptions & RedissonOptions;
  if (typeof store !== 'object' || store === null) {
    throw new ConfigError(`store must be an object that clients share, got ${describe(store)}`);
  }
  for (const key of ['client', 'url'] as const) {
    if (others[key] === undefined) continue;
    throw new ConfigError(`createTestRedisson connects to no server: leave out ${key}`);
  }
  const resolved = resolveConfig(others, {});
  if (resolved.watchdogThread !== false) {
    throw new ConfigError('A thread cannot reach the store of createTestRedisson: leave out watchdogThread');
  }
  if (resolved.trackHolds) {
    throw new ConfigError(
      'No server tracks the keys in the store of createTestRedisson: leave out trackHolds. loseLock() reports a loss at once',
    );
  }
  const topology = Object.freeze({ kind: 'single', address: Object.freeze({ host: 'memory', port: 0 }) } as const);
  return { store, settings: Object.freeze({ ...resolved, topology }) };
}

/**
 * The server of a store, see {@link TestRedissonOptions.store}.
 * @internal
 */
export function serverOf(store: object): MemoryServer {
  let server = servers.get(store);
  if (server === undefined) servers.set(store, (server = new MemoryServer()));
  return server;
}

function holdersOf(server: MemoryServer, rawName: string): TestHolder[] {
  const fields = server.hash(rawName) ?? [];
  if (isGroupHash(fields)) {
    return groupHolders(fields).map(({ clientId, threadId, holdCount }) => holder(clientId, threadId, holdCount));
  }
  if (!isLockHash(fields)) return [];
  return fields.flatMap(([field, count]) => {
    const owner = parseOwner(field);
    return owner === undefined ? [] : [holder(owner.clientId, owner.threadId, Number(count))];
  });
}

function holder(clientId: string, threadId: string, count: number): TestHolder {
  return { clientId, threadId: Number(threadId), count };
}

function resetError(): ShutdownError {
  const error = new ShutdownError();
  error.message = 'The store of this test client was reset while the call waited.';
  return error;
}
