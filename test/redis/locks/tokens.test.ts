// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Redisson, RFencedLock } from '../../../lib';
import { client, connection, warmUp } from '../../faults/scene';
import { allowLeftovers, redisUrl, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';

/** So short a watchdog that a hold is lost soon when nothing renews it. */
const WATCHDOG_MS = 400;

describe('A8: fencing tokens grow over every hold, whatever happened before', () => {
  let redis: Redis;
  let proxy: TcpProxy;
  let redisson: Redisson;
  let lock: RFencedLock;
  let key: string;

  beforeEach(async () => {
    allowLeftovers({ keys: /^redisson_lock_token:/ });
    redis = connection();
    proxy = trackClient(await TcpProxy.start(redisUrl()));
    redisson = client(proxy.url, { lockWatchdogTimeout: WATCHDOG_MS });
    lock = redisson.getFencedLock(uniqueName('tokens'));
    key = `redisson_lock_token:{${lock.name}}`;
    await warmUp(lock);
  });

  afterEach(() => redis.del(key, lock.name));

  /** Loses the hold of thread 7 locally, while Redis keeps it. */
  async function loseLocally(): Promise<void> {
    let lost = false;
    const stop = redisson.onLockLost(() => (lost = true));
    await redis.persist(lock.name);
    proxy.blackhole();
    await sleepUntil(() => lost);
    proxy.cut();
    await proxy.pass();
    stop();
    await redis.persist(lock.name);
    expect(await redis.exists(lock.name)).to.equal(1);
  }

  it('a hold that was lost locally, taken again by its thread', async () => {
    const first = await lock.lockAndGetToken(-1, undefined, 7);
    await loseLocally();
    expect(Number(await lock.lockAndGetToken(-1, undefined, 7))).to.be.greaterThan(Number(first));
    expect(await redis.hvals(lock.name)).to.deep.equal(['1']);
    await lock.unlock(7);
    expect(await redis.exists(lock.name)).to.equal(0);
  });

  it('the same where the acquisition is sent twice, the first one in vain', async () => {
    const first = await lock.lockAndGetToken(-1, undefined, 7);
    await loseLocally();
    expect(await lock.isLocked()).to.equal(true);
    // What is sent now is lost on its way; the next connection brings it again.
    proxy.blackhole('up');
    const taking = lock.lockAndGetToken(-1, undefined, 7);
    await new Promise((resolve) => setTimeout(resolve, 20));
    proxy.cut();
    await proxy.pass();
    expect(Number(await taking)).to.be.greaterThan(Number(first));
    await lock.unlock(7);
    expect(await redis.exists(lock.name)).to.equal(0);
  });

  it('a hold that was given up after maxRenewTimes', async () => {
    const hold = await lock.acquire({ threadId: 7, maxRenewTimes: 1 });
    await sleepUntil(() => hold.signal.aborted);
    await redis.persist(lock.name);
    const again = await lock.acquire({ threadId: 7 });
    expect(Number(again.token)).to.be.greaterThan(Number(hold.token));
    await again.unlock();
    // It keeps the lock until its lease ends, or its caller has ended.
    expect(await redis.exists(lock.name)).to.equal(1);
    await hold[Symbol.asyncDispose]();
    await sleepUntil(async () => (await redis.exists(lock.name)) === 0);
  });

  it('two holds that were lost, taken again once: the new one is one hold', async () => {
    await lock.lock(-1, undefined, 7);
    const second = await lock.lockAndGetToken(-1, undefined, 7);
    await loseLocally();
    expect(Number(await lock.lockAndGetToken(-1, undefined, 7))).to.be.greaterThan(Number(second));
    // Behind what corrects the count.
    await lock.isLocked();
    expect(await redis.hvals(lock.name)).to.deep.equal(['1']);
    await lock.unlock(7);
    expect(await redis.exists(lock.name)).to.equal(0);
  });

  it('a hold whose release was refused', async () => {
    const first = await lock.lockAndGetToken(30_000, undefined, 7);
    await redis.call('ACL', 'SETUSER', 'default', '-del');
    try {
      const error = (await lock.unlock(7).catch((reason: unknown) => reason)) as { code?: string };
      expect(error.code).to.equal('COMMAND');
      expect(Number(await lock.lockAndGetToken(30_000, undefined, 7))).to.be.greaterThan(Number(first));
    } finally {
      await redis.call('ACL', 'SETUSER', 'default', '+del');
    }
    await lock.unlock(7);
    expect(await redis.exists(lock.name)).to.equal(0);
  });

  it('a hold taken by force from its thread, and a leftover of the heir of a hand-over', async () => {
    const first = await lock.lockAndGetToken(-1, undefined, 7);
    await lock.forceUnlock();
    const second = await lock.lockAndGetToken(-1, undefined, 7);
    expect(Number(second)).to.be.greaterThan(Number(first));
    const heir = lock.lockAndGetToken(-1, undefined, 8);
    await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${lock.name}}`))[1] === 1);
    await lock.unlock(7);
    expect(Number(await heir)).to.be.greaterThan(Number(second));
    await lock.unlock(8);
  });

  for (const kind of ['getNonReentrantLock', 'getNonReentrantFairLock'] as const) {
    it(`${kind}: a hold that was lost locally is no re-entry`, async () => {
      const other = redisson[kind](lock.name);
      await other.lock(-1, undefined, 7);
      await loseLocally();
      await other.lock(-1, undefined, 7);
      const error = (await other.tryLock({ threadId: 7 }).catch((reason: unknown) => reason)) as { code?: string };
      expect(error.code).to.equal('ILLEGAL_MONITOR_STATE');
      await other.unlock(7);
      expect(await redis.exists(lock.name)).to.equal(0);
    });
  }

  it('getLock, getReadWriteLock: two holds that were lost locally, taken again once, are one hold', async () => {
    const pair = redisson.getReadWriteLock(lock.name);
    for (const other of [redisson.getLock(lock.name), pair.readLock(), pair.writeLock()]) {
      await other.lock(-1, undefined, 7);
      await other.lock(-1, undefined, 7);
      await loseLocally();
      await other.lock(-1, undefined, 7);
      await other.isLocked();
      expect((await redis.hvals(lock.name)).filter((value) => /\d/.test(value))).to.deep.equal(['1']);
      await other.unlock(7);
      expect(await redis.exists(lock.name)).to.equal(0);
      await redis.del(...(await redis.keys(`*${lock.name}*rwlock_timeout*`)), 'none');
    }
  });
});
