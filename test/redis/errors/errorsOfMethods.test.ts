import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type LockHold, type PermitHold, Redisson } from '../../../lib';
import { asyncMethods, errorsOf } from '../../../tools/errorTable';
import { redisUrl, TcpProxy, trackClient, uniqueName } from '../../support';

/** What a call is made with. */
interface Scene {
  readonly redisson: Redisson;
  readonly name: string;
  /** Taken while everything was well, for a call each. */
  readonly holds: readonly [LockHold, LockHold, LockHold];
  /** A permit that was taken while everything was well. */
  readonly permit: string;
  /** Permits that were taken while everything was well. */
  readonly permits: PermitHold;
  /** Of a hold that was detached while everything was well. */
  readonly ticket: string;
}

/** A call of each method that asks Redis. */
const CALLS: Readonly<Record<string, Readonly<Record<string, (scene: Scene) => Promise<unknown>>>>> = {
  RLock: {
    lock: ({ redisson, name }) => redisson.getLock(name).lock(),
    lockInterruptibly: ({ redisson, name }) => redisson.getLock(name).lockInterruptibly(),
    tryLock: ({ redisson, name }) => redisson.getLock(name).tryLock(),
    tryAcquire: ({ redisson, name }) => redisson.getLock(name).tryAcquire(),
    unlock: ({ redisson, name }) => redisson.getLock(name).unlock(),
    forceUnlock: ({ redisson, name }) => redisson.getLock(name).forceUnlock(),
    isLocked: ({ redisson, name }) => redisson.getFairLock(name).isLocked(),
    isHeldByCurrentThread: ({ redisson, name }) => redisson.getLock(name).isHeldByCurrentThread(),
    isHeldByThread: ({ redisson, name }) => redisson.getLock(name).isHeldByThread(1),
    getHoldCount: ({ redisson, name }) => redisson.getLock(name).getHoldCount(),
    remainTimeToLive: ({ redisson, name }) => redisson.getLock(name).remainTimeToLive(),
    acquire: ({ redisson, name }) => redisson.getLock(name).acquire(),
    tryAcquireHold: ({ redisson, name }) => redisson.getLock(name).tryAcquireHold(),
    withLock: ({ redisson, name }) => redisson.getLock(name).withLock(() => undefined),
    tryWithLock: ({ redisson, name }) => redisson.getLock(name).tryWithLock(() => undefined),
  },
  LockHold: {
    unlock: ({ holds: [hold] }) => hold.unlock(),
    extend: ({ holds: [, hold] }) => hold.extend(1_000),
    detach: ({ holds: [, , hold] }) => hold.detach(),
  },
  PermitHold: { release: ({ permits }) => permits.release() },
  RFencedLock: {
    acquire: ({ redisson, name }) => redisson.getFencedLock(name).acquire(),
    tryAcquireHold: ({ redisson, name }) => redisson.getFencedLock(name).tryAcquireHold(),
    withLock: ({ redisson, name }) => redisson.getFencedLock(name).withLock(() => undefined),
    tryWithLock: ({ redisson, name }) => redisson.getFencedLock(name).tryWithLock(() => undefined),
    lockAndGetToken: ({ redisson, name }) => redisson.getFencedLock(name).lockAndGetToken(),
    tryLockAndGetToken: ({ redisson, name }) => redisson.getFencedLock(name).tryLockAndGetToken(),
    getToken: ({ redisson, name }) => redisson.getFencedLock(name).getToken(),
  },
  RSemaphore: {
    acquire: ({ redisson, name }) => redisson.getSemaphore(name).acquire(),
    tryAcquire: ({ redisson, name }) => redisson.getSemaphore(name).tryAcquire(),
    release: ({ redisson, name }) => redisson.getSemaphore(name).release(),
    releaseIfExists: ({ redisson, name }) => redisson.getSemaphore(name).releaseIfExists(),
    availablePermits: ({ redisson, name }) => redisson.getSemaphore(name).availablePermits(),
    drainPermits: ({ redisson, name }) => redisson.getSemaphore(name).drainPermits(),
    trySetPermits: ({ redisson, name }) => redisson.getSemaphore(name).trySetPermits(1),
    addPermits: ({ redisson, name }) => redisson.getSemaphore(name).addPermits(1),
    delete: ({ redisson, name }) => redisson.getSemaphore(name).delete(),
    withPermits: ({ redisson, name }) => redisson.getSemaphore(name).withPermits(1, () => undefined),
  },
  RPermitExpirableSemaphore: {
    acquire: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).acquire(),
    acquireMany: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).acquireMany(2),
    tryAcquire: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).tryAcquire(),
    tryAcquireMany: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).tryAcquireMany(2),
    release: ({ redisson, name, permit }) => redisson.getPermitExpirableSemaphore(name).release(permit),
    releaseMany: ({ redisson, name, permit }) => redisson.getPermitExpirableSemaphore(name).releaseMany([permit]),
    tryRelease: ({ redisson, name, permit }) => redisson.getPermitExpirableSemaphore(name).tryRelease(permit),
    tryReleaseMany: ({ redisson, name, permit }) => redisson.getPermitExpirableSemaphore(name).tryReleaseMany([permit]),
    availablePermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).availablePermits(),
    acquiredPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).acquiredPermits(),
    getPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).getPermits(),
    trySetPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).trySetPermits(1),
    setPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).setPermits(1),
    addPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).addPermits(1),
    updateLeaseTime: ({ redisson, name, permit }) =>
      redisson.getPermitExpirableSemaphore(name).updateLeaseTime(permit, 1_000),
    getLeaseTime: ({ redisson, name, permit }) => redisson.getPermitExpirableSemaphore(name).getLeaseTime(permit),
    delete: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).delete(),
    acquireHold: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).acquireHold(),
    withPermits: ({ redisson, name }) => redisson.getPermitExpirableSemaphore(name).withPermits(1, () => undefined),
  },
  RCountDownLatch: {
    await: ({ redisson, name }) => redisson.getCountDownLatch(name).await(),
    countDown: ({ redisson, name }) => redisson.getCountDownLatch(name).countDown(),
    getCount: ({ redisson, name }) => redisson.getCountDownLatch(name).getCount(),
    trySetCount: ({ redisson, name }) => redisson.getCountDownLatch(name).trySetCount(1),
    delete: ({ redisson, name }) => redisson.getCountDownLatch(name).delete(),
  },
  RObject: { addListener: ({ redisson, name }) => redisson.getLock(name).addListener({ onDeleted: () => undefined }) },
  RedissonClient: {
    ping: ({ redisson }) => redisson.ping(),
    runOnce: ({ redisson, name }) => redisson.runOnce(name, () => undefined),
    attach: ({ redisson, ticket }) => redisson.attach(ticket),
  },
};

/** Methods that ask Redis for nothing. */
const LOCAL = ['RObject.removeListener', 'RedissonClient.runInThread', 'RedissonClient.shutdown'];

const PERMIT = '0'.repeat(32);

/** The names of what is taken while everything is well, and of the permits and the ticket. */
const HELD = ['held', 'held:2', 'held:3'];
const TAKEN = [...HELD, 'permits', 'detached'];

describe('the errors that doc comments name', function () {
  this.timeout(30_000);
  const methods = asyncMethods().filter(({ entry, never }) => entry === 'ioredisson' && !never);
  const calls = Object.entries(CALLS).flatMap(([type, ofType]) =>
    Object.entries(ofType).map(([name, call]) => ({ method: `${type}.${name}`, call })),
  );
  const declared = new Map(methods.map((one) => [`${one.type}.${one.name}`, one.throws.flat().flatMap(errorsOf)]));

  it('are tried here for every public method', () => {
    expect([...calls.map(({ method }) => method), ...LOCAL].sort()).to.deep.equal([...declared.keys()].sort());
  });

  async function scene(url: string, settings = {}): Promise<Scene> {
    const redisson = Redisson.create({ url, ...settings });
    trackClient({ close: () => redisson.shutdown() });
    const name = uniqueName();
    const [one, other, third] = HELD.map((held) => redisson.getLock(`${name}:${held}`).acquire());
    const holds = [await one!, await other!, await third!] as const;
    const semaphore = redisson.getPermitExpirableSemaphore(`${name}:permits`);
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquireHold();
    const ticket = await (await redisson.getLock(`${name}:detached`).acquire()).detach();
    return { redisson, name, holds, permit: PERMIT, permits, ticket };
  }

  /** The names of the errors that the calls reject with; each must be one that its doc comment names. */
  async function outcomes(of: Scene, except: readonly string[] = []): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    await Promise.all(
      calls.map(async ({ method, call }) => {
        if (except.includes(method)) return;
        found[method] = await call({ ...of, name: `${of.name}:${method}` }).then(
          () => 'nothing',
          (error: Error) => error.name,
        );
      }),
    );
    const unnamed = Object.entries(found).filter(
      ([method, error]) => error !== 'nothing' && !declared.get(method)!.includes(error),
    );
    expect(unnamed).to.deep.equal([]);
    return found;
  }

  /** Those that reject with something else. */
  function others(found: Readonly<Record<string, string>>, error: string): Record<string, string> {
    return Object.fromEntries(Object.entries(found).filter(([, name]) => name !== error));
  }

  it('ShutdownError: after shutdown', async () => {
    const of = await scene(redisUrl());
    await of.redisson.shutdown();
    // What is held at the end is left to expire.
    const methods = ['LockHold.unlock', 'LockHold.extend', 'LockHold.detach', 'PermitHold.release'];
    const lost = Object.fromEntries(methods.map((method) => [method, 'LockLostError']));
    expect(others(await outcomes(of), 'ShutdownError')).to.deep.equal(lost);
  });

  it('CommandError: a key of another type', async () => {
    const of = await scene(redisUrl());
    const redis = trackClient(new Redis(redisUrl()));
    for (const { method } of calls) {
      const key = `${of.name}:${method}`;
      await redis.del(key);
      await redis.geoadd(key, 1, 1, 'x');
    }
    for (const taken of TAKEN) {
      await redis.del(`${of.name}:${taken}`);
      await redis.geoadd(`${of.name}:${taken}`, 1, 1, 'x');
    }
    // They look at no key.
    const found = await outcomes(of, ['RedissonClient.ping', 'RObject.addListener']);
    // These look at another key first.
    const elsewhere = {
      'RFencedLock.getToken': 'nothing',
      'RPermitExpirableSemaphore.releaseMany': 'PermitNotFoundError',
      'RPermitExpirableSemaphore.tryReleaseMany': 'nothing',
    };
    expect(others(found, 'CommandError')).to.deep.equal(elsewhere);
    for (const { method } of calls) await redis.del(`${of.name}:${method}`);
    for (const taken of TAKEN) await redis.del(`${of.name}:${taken}`);
  });

  it('CommandTimeoutError: a server that hangs', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    trackClient(proxy);
    const of = await scene(proxy.url, { timeout: 1_000, retryAttempts: 0 });
    proxy.blackhole();
    expect(others(await outcomes(of), 'CommandTimeoutError')).to.deep.equal({});
    proxy.cut();
    await proxy.pass();
  });

  it('ConnectionError: no server', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    trackClient(proxy);
    const of = await scene(proxy.url, { timeout: 1_000, retryAttempts: 0, connectTimeout: 1_000 });
    proxy.refuse();
    proxy.cut();
    expect(others(await outcomes(of), 'ConnectionError')).to.deep.equal({});
    await proxy.accept();
  });
});
