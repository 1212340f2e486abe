import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson, type RLock } from '../../lib';
import { Inspector } from '../../lib/operators/inspection';
import { RedisServer } from '../../tools/redisServer';
import { skip, sleepUntil, uniqueName } from '../support';
import { GoRedisson, goDriver } from './support/GoRedisson';

/** Nothing here waits for it: who gets in after less was woken. */
const LEASE = { leaseTime: 60_000 };
const WOKEN_MS = 8_000;

describe('interop: goRedisson', function () {
  this.timeout(600_000);
  let server: RedisServer;
  let go: GoRedisson;
  let node: Redisson;
  let name: string;

  before(async function () {
    const driver = await goDriver();
    if ('reason' in driver) return skip(this, driver.reason);
    server = await RedisServer.start();
    go = new GoRedisson(driver.file, server.url);
    node = Redisson.create(server.url);
  });

  after(async () => {
    await node?.shutdown();
    await go?.close();
    await server?.stop();
  });

  beforeEach(() => (name = uniqueName()));

  async function refused(work: Promise<unknown>): Promise<void> {
    const error: unknown = await work.then(
      () => 'acquired',
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(Error);
  }

  it('the plain lock is shared: a holder in Go keeps us out, and its release wakes us', async () => {
    await go.call('a', 'lock', name);
    const lock = node.getLock(name);
    expect(await lock.tryLock()).to.equal(false);
    const startedAt = performance.now();
    const waiting = lock.acquire(LEASE);
    expect(await node.getLock(uniqueName()).isLocked()).to.equal(false);
    await go.call('a', 'unlock', name);
    await (await waiting).unlock();
    expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
  });

  it('a holder of ours keeps Go out, and our release wakes it', async () => {
    const hold = await node.getLock(name).acquire(LEASE);
    await refused(go.call('a', 'lock', name, 200));
    const startedAt = performance.now();
    const waiting = go.call('a', 'lock', name);
    await sleepUntil(async () => (await listeners(`redisson_lock__channel:{${name}}`)) > 0);
    await hold.unlock();
    await waiting;
    await go.call('a', 'unlock', name);
    expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
    expect(await node.getLock(name).isLocked()).to.equal(false);
  });

  it('never two inside, of two processes and three owners each', async () => {
    let inside = 0;
    const enter = (): void => {
      expect(++inside).to.equal(1);
    };
    const ours = [1, 2, 3].map(async () => {
      for (let i = 0; i < 10; i++) {
        await node.getLock(name).withLock(async () => {
          enter();
          await Promise.resolve();
          inside--;
        }, LEASE);
      }
    });
    const theirs = ['x', 'y', 'z'].map(async (worker) => {
      for (let i = 0; i < 10; i++) {
        await go.call(worker, 'lock', name);
        enter();
        inside--;
        await go.call(worker, 'unlock', name);
      }
    });
    await Promise.all([...ours, ...theirs]);
  });

  const halves = [
    ['wlock', 'wunlock', 'writeLock'],
    ['wlock', 'wunlock', 'readLock'],
    ['rlock', 'runlock', 'writeLock'],
  ] as const;
  for (const [take, give, half] of halves) {
    it(`its read/write lock excludes: ${take} there, ${half} here; we get in when the time is over that we were told`, async () => {
      await go.call('a', take, name);
      const lock: RLock = node.getReadWriteLock(name)[half]();
      expect(await lock.tryLock()).to.equal(false);
      // Its lease is renewed to 30 s each 10 s: shorter here, so that nobody waits for it.
      await shorten(name, 3_000);
      const waiting = lock.acquire(LEASE);
      await sleepUntil(async () => (await listeners(`redisson_rwlock:{${name}}`)) > 0);
      await go.call('a', give, name);
      await (await waiting).unlock();
    });

    it(`and the other way: ${half} here, ${take} there`, async () => {
      const hold = await node.getReadWriteLock(name)[half]().acquire({ leaseTime: 3_000 });
      await refused(go.call('a', take, name, 200));
      await hold.unlock();
      await go.call('a', take, name);
      expect(await node.getReadWriteLock(name)[half]().tryLock()).to.equal(false);
      await go.call('a', give, name);
    });
  }

  it('readers of both are inside together', async () => {
    await go.call('a', 'rlock', name);
    const hold = await node
      .getReadWriteLock(name)
      .readLock()
      .acquire({ ...LEASE, waitTime: 0 });
    await go.call('a', 'runlock', name);
    expect(await node.getReadWriteLock(name).writeLock().tryLock()).to.equal(false);
    await hold.unlock();
    expect(await node.getReadWriteLock(name).writeLock().isLocked()).to.equal(false);
  });

  it('D4: the Inspector never says that a living holder in Go is gone', async () => {
    await go.call('a', 'lock', name);
    const inspector = Inspector.open(server.url);
    const { verdict, holders } = await inspector.inspect(name);
    expect(holders).to.have.length(1);
    expect(verdict.kind).to.not.equal('holder-gone');
    await go.call('a', 'unlock', name);
    await inspector.close();
  });

  async function direct<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(server.url);
    try {
      return await ask(redis);
    } finally {
      redis.disconnect();
    }
  }

  function listeners(channel: string): Promise<number> {
    return direct(async (redis) => Number((await redis.pubsub('NUMSUB', channel))[1]));
  }

  function shorten(key: string, ms: number): Promise<unknown> {
    return direct((redis) => redis.pexpire(key, ms));
  }
});
