import { expect } from 'chai';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redisson, RedissonError } from '../../lib';
import { Inspector } from '../../lib/operators/inspection';
import { RedisServer, trackClient } from '../support';
import { anyText, anyValue, fuzz } from './fuzz';

const API = path.join(__dirname, '../../lib/api');

/** Every object of a client that has a name, by what it is. */
const OBJECTS = {
  lock: (redisson: Redisson, name: string) => redisson.getLock(name),
  fairLock: (redisson: Redisson, name: string) => redisson.getFairLock(name),
  fencedLock: (redisson: Redisson, name: string) => redisson.getFencedLock(name),
  spinLock: (redisson: Redisson, name: string) => redisson.getSpinLock(name),
  readLock: (redisson: Redisson, name: string) => redisson.getReadWriteLock(name).readLock(),
  writeLock: (redisson: Redisson, name: string) => redisson.getReadWriteLock(name).writeLock(),
  semaphore: (redisson: Redisson, name: string) => redisson.getSemaphore(name),
  permits: (redisson: Redisson, name: string) => redisson.getPermitExpirableSemaphore(name),
  latch: (redisson: Redisson, name: string) => redisson.getCountDownLatch(name),
} as const;
type ObjectKind = keyof typeof OBJECTS;
const KINDS = Object.keys(OBJECTS) as ObjectKind[];
const LOCKS = KINDS.slice(0, 6) as ('lock' | 'fairLock' | 'fencedLock' | 'spinLock' | 'readLock' | 'writeLock')[];

/** The names of the public methods, from the interfaces. */
const PUBLIC = new Set(
  fs
    .readdirSync(API)
    .flatMap((file) => [...fs.readFileSync(path.join(API, file), 'utf8').matchAll(/^  (\w+)\(/gm)])
    .map(([, name]) => name),
);

/** The errors that a call may reject with: ours, and the native ones for arguments. */
function expectClearError(error: unknown): void {
  const known = error instanceof RedissonError || error instanceof RangeError || error instanceof TypeError;
  expect(known, String((error as Error).stack ?? error)).to.equal(true);
  // A TypeError of V8 ("x is not a function", "Cannot read properties") would be a defect and not an answer.
  expect((error as Error).message).to.not.match(/is not a function|is not iterable|Cannot (read|convert|destructure)/);
}

describe('fuzzing names and arguments', function () {
  this.timeout(60_000);
  let server: RedisServer;
  let redis: Redis;
  let redisson: Redisson;

  before(async () => {
    server = trackClient(await RedisServer.start());
    redis = trackClient(new Redis(server.url));
    redisson = trackClient(Redisson.create({ url: server.url, lockWatchdogTimeout: 60_000 }));
  });

  it('any name: the lock is taken and given back under keys of that name alone, or a clear error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...LOCKS), anyText, async (kind, name) => {
        await redis.flushall();
        try {
          const lock = OBJECTS[kind](redisson, name);
          expect(await lock.tryLock()).to.equal(true);
          const keys = await redis.keys('*');
          expect(keys.length).to.be.at.least(1);
          for (const key of keys)
            expect(key.includes(name), `${JSON.stringify(key)} of ${JSON.stringify(name)}`).to.equal(true);
          await lock.unlock();
          // A fenced lock keeps the counter of its tokens.
          expect(await redis.keys('*')).to.have.length(kind === 'fencedLock' ? 1 : 0);
        } catch (error) {
          if (error instanceof Error && error.name === 'AssertionError') throw error;
          expectClearError(error);
          expect(await redis.dbsize()).to.equal(0);
        }
      }),
      fuzz(400),
    );
  });

  it('two names are two locks', async () => {
    const alike = fc
      .tuple(
        fc.string({ unit: fc.constantFrom('{', '}', ':', 'a', 'b', '\0', ' ') }),
        fc.constantFrom('', '{', '}', ':', '\0', ' ', ':a'),
      )
      .map(([text, more]) => [`n${text}`, `n${text}${more}`, `{n${text}}`] as const);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...LOCKS), alike, async (kind, names) => {
        await redis.flushall();
        const locks = [...new Set(names)].map((name) => OBJECTS[kind](redisson, name));
        for (const lock of locks) expect(await lock.tryLock()).to.equal(true);
        for (const lock of locks) expect(await lock.getHoldCount()).to.equal(1);
        for (const lock of locks) await lock.unlock();
        for (const lock of locks) expect(await lock.isLocked()).to.equal(false);
      }),
      fuzz(300),
    );
  });

  it('any arguments of any method: an answer, or a clear error that changed nothing', async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...KINDS).chain((kind) => {
          const object = OBJECTS[kind](redisson, 'x');
          // Of a class, or of an object that is made of functions.
          const names = [object, Object.getPrototypeOf(object) as object].flatMap((one) =>
            Object.getOwnPropertyNames(one),
          );
          const methods = names.filter(
            // Those left out wait for something, or call what is given.
            (name) => PUBLIC.has(name) && !/^(await|acquire|withLock|addListener|removeListener)/.test(name),
          );
          return fc.tuple(fc.constant(kind), fc.constantFrom(...methods), fc.array(anyValue, { maxLength: 4 }));
        }),
        async ([kind, method, args]) => {
          await redis.flushall();
          const object = OBJECTS[kind](redisson, 'fuzz') as unknown as Record<string, (...args: unknown[]) => unknown>;
          try {
            await object[method]!(...args);
          } catch (error) {
            refused += 1;
            expectClearError(error);
            expect(await redis.keys('*'), `${kind}.${method}: ${String(error)}`).to.have.length(0);
          }
          // Whatever thread it was for: gone, so that no hold is left.
          await redis.flushall();
        },
      ),
      fuzz(1500),
    );
    expect(refused).to.be.greaterThan(200);
  });

  it('whatever the keys of a lock hold: an answer or a clear error, and the inspector shows it', async () => {
    const inspector = trackClient(new Inspector(redisson));
    const field = fc.oneof(anyText, fc.constantFrom('mode', 'a:1', `${redisson.getId()}:1`, 'x:1:write'));
    const poison = fc.oneof(
      fc.record({
        command: fc.constant('hset'),
        args: fc
          .array(fc.tuple(field, fc.oneof(anyText, fc.constantFrom('read', 'write', '1', '-5', '1e400'))), {
            minLength: 1,
            maxLength: 3,
          })
          .map((all) => all.flat()),
      }),
      fc.record({
        command: fc.constant('set'),
        args: fc.tuple(fc.oneof(anyText, fc.constantFrom('9223372036854775807', '-1', '1.5'))),
      }),
      fc.record({ command: fc.constant('rpush'), args: fc.array(anyText, { minLength: 1, maxLength: 3 }) }),
      fc.record({
        command: fc.constant('zadd'),
        args: fc.tuple(fc.constantFrom('inf', '-inf', '0', '1e300'), anyText),
      }),
      fc.record({ command: fc.constant('sadd'), args: fc.tuple(anyText) }),
    );
    const keys = fc.constantFrom(
      'p',
      'redisson_lock_queue:{p}',
      'redisson_lock_timeout:{p}',
      'redisson_lock_claim:{p}',
      '{p}:rwlock_timeout:1',
      '{p}:timeout',
      '{p}:redisson_lock_token',
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KINDS), keys, poison, async (kind, key, { command, args }) => {
        await redis.flushall();
        await redis.call(command, key, ...(args as string[]));
        const object = OBJECTS[kind](redisson, 'p');
        const calls =
          'tryLock' in object
            ? [
                () => object.tryLock(),
                () => object.isLocked(),
                () => object.remainTimeToLive(),
                () => object.forceUnlock(),
              ]
            : 'tryAcquire' in object
              ? [() => object.tryAcquire(), () => object.availablePermits()]
              : [() => object.getCount(), () => object.countDown()];
        for (const call of calls)
          await Promise.resolve()
            .then(call as () => unknown)
            .catch(expectClearError);
        await inspector.list();
        await inspector.inspect('p').catch(expectClearError);
        await redis.flushall();
      }),
      fuzz(400),
    );
  });
});
