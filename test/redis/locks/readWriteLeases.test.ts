// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { IllegalMonitorStateError, LockLostError, type Redisson, type RReadWriteLock } from '../../../lib';
import { client, connection, listening, openScene, within } from '../../faults/scene';
import { monotonicNow, redisUrl, risen, sleep, sleepUntil, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

/** A renewal every third of it is in time, also on a machine that stands still for two seconds. */
const WATCHDOG_MS = 4_500;
/** The same of a lease that ends within a test. */
const LEASE_MS = 3_000;
/** Somebody who is woken, or whose turn it is, gets in sooner, also on such a machine. */
const SOON_MS = 5_000;

describe('read/write lock: leases', () => {
  let name: string;
  let redis: Redis;
  let one: Redisson;
  let rw: RReadWriteLock;
  let rival: RReadWriteLock;

  beforeEach(() => {
    name = uniqueName('rw');
    redis = connection();
    one = client(redisUrl(), { lockWatchdogTimeout: WATCHDOG_MS });
    rw = one.getReadWriteLock(name);
    rival = client(redisUrl()).getReadWriteLock(name);
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  /**
   * Resolves when the watchdog has renewed the lock, and the own keys of every reader: each lives longer than before.
   */
  async function untilRenewed(): Promise<void> {
    const keys = await redis.keys(`*${name}*`);
    const leastTtl = async (): Promise<number> => Math.min(...(await Promise.all(keys.map((key) => redis.pttl(key)))));
    await sleepUntil(risen(leastTtl), { timeout: 10_000, interval: 20, message: 'a renewal' });
  }

  it('RW-01: the lock lives as long as the longest reader, and its last unlock wakes the writer', async () => {
    await rw.readLock().lock(20_000, undefined, 1);
    await rw.readLock().lock(LEASE_MS, undefined, 2);
    const writing = rival.writeLock().lock(10_000);
    await listening(redis, name);
    await rw.readLock().unlock(2);
    expect(await redis.pttl(name)).to.be.above(10_000);
    await sleep(LEASE_MS);
    expect(await rival.writeLock().isHeldByCurrentThread()).to.equal(false);
    await rw.readLock().unlock(1);
    // Long before the lease of the first reader ends.
    await within(SOON_MS, 'the writer enters', writing);
    await rival.writeLock().unlock();
  });

  it('RW-03: the watchdog keeps the own keys of every reader, so that none is pushed out by another one', async () => {
    const threads = [1, 2, 3, 4, 5];
    await Promise.all(threads.map((threadId) => rw.readLock().lock(-1, undefined, threadId)));
    await untilRenewed();
    for (const threadId of threads) {
      await rw.readLock().unlock(threadId);
      expect(await redis.exists(name)).to.equal(threadId === 5 ? 0 : 1);
    }
    expect(await redis.keys(`*${name}*`)).to.deep.equal([]);
  });

  it('RW-05: the lease of a write re-entry comes on top of what is left', async () => {
    expect(await rw.writeLock().tryLock(10_000, 60_000, undefined, 1)).to.equal(true);
    expect(await rw.writeLock().tryLock(10_000, 20_000, undefined, 1)).to.equal(true);
    expect(await redis.pttl(name)).to.be.within(70_000, 80_000);
    expect(await rival.writeLock().tryLock(100, 1_000)).to.equal(false);
    await rw.writeLock().unlock(1);
    expect(await redis.pttl(name)).to.be.within(50_000, 60_000);
    await rw.writeLock().unlock(1);
  });

  it('RW-07: readers who wait for a writer that never unlocks get in by its ttl', async () => {
    expect(await rival.writeLock().tryLock(10_000, 500)).to.equal(true);
    const reading = [1, 2].map((threadId) => rw.readLock().lock(-1, undefined, threadId));
    await within(SOON_MS, 'both readers', Promise.all(reading));
    await rw.readLock().unlock(1);
    await rw.readLock().unlock(2);
  });

  it('RW-09: after the inner unlock a reader has what its outer hold has left, then a writer gets in', async () => {
    const read = rw.readLock();
    expect(await read.tryLock(10_000, LEASE_MS, undefined, 1)).to.equal(true);
    await sleep(600);
    expect(await read.tryLock(10_000, 20_000, undefined, 1)).to.equal(true);
    await read.unlock(1);
    expect(await redis.pttl(name)).to.be.within(1, LEASE_MS - 600);
    await sleepUntil(async () => (await redis.exists(name)) === 0);
    expect(await rw.writeLock().tryLock()).to.equal(true);
    await rw.writeLock().unlock();
  });

  it('a hold that is given back out of turn leaves the other one its own lease, not more and not less', async () => {
    const read = rw.readLock();
    const short = await read.acquire({ leaseTime: LEASE_MS, threadId: 1 });
    const long = await read.acquire({ leaseTime: 20_000, threadId: 1 });
    await short.unlock();
    expect(await redis.pttl(name)).to.be.above(10_000);
    await sleep(LEASE_MS);
    expect(long.isHeld).to.equal(true);
    expect(await read.getHoldCount()).to.equal(0);
    expect(await read.isHeldByThread(1)).to.equal(true);

    const inner = await read.acquire({ leaseTime: LEASE_MS, threadId: 1 });
    await long.unlock();
    expect(await redis.pttl(name)).to.be.within(1, LEASE_MS);
    await sleepUntil(() => inner.signal.aborted, { timeout: 10_000 });
    expect(inner.signal.reason).to.be.instanceOf(LockLostError);
    expect(await rival.writeLock().tryLock(SOON_MS)).to.equal(true);
    await rival.writeLock().unlock();
  });

  it('RW-17: who reads beside a lease that ends needs not wait, and the unlock of the live one works', async () => {
    await rw.readLock().lock(300, undefined, 1);
    await rw.readLock().lock(-1, undefined, 2);
    await sleep(400);
    await rw.readLock().unlock(2);
    expect(await rejection(rw.readLock().unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('RW-18: a write lock ends with its lease, and its unlock is then an error', async () => {
    const startedAt = monotonicNow();
    await rw.writeLock().lock(400);
    await within(SOON_MS, 'the next one enters', rival.writeLock().lock());
    expect(monotonicNow() - startedAt).to.be.at.least(390);
    await rival.writeLock().unlock();
    expect(await rejection(rw.writeLock().unlock())).to.be.instanceOf(IllegalMonitorStateError);
  });

  it('the halves of one thread are renewed independently', async () => {
    await rw.writeLock().lock();
    await rw.readLock().lock();
    await rw.readLock().unlock();
    await untilRenewed();
    expect(await rw.writeLock().isHeldByCurrentThread()).to.equal(true);
    await rw.readLock().lock();
    await rw.writeLock().unlock();
    await untilRenewed();
    expect(await rw.readLock().isHeldByCurrentThread()).to.equal(true);
    await rw.readLock().unlock();
    await sleep(300);
    expect(await redis.keys(`*${name}*`)).to.deep.equal([]);
  });

  it('RW-19 RW-32: the dead die: readers and writers whose client is gone are not kept by the living', async () => {
    const { proxy } = await openScene();
    // Longer than it takes until the living one renews: that must not keep them.
    const dying = client(proxy.url, { lockWatchdogTimeout: 3_000 });
    for (const threadId of [1, 2]) {
      await dying.getReadWriteLock(name).readLock().lock(-1, undefined, threadId);
      await dying.getReadWriteLock(name).readLock().lock(-1, undefined, threadId);
    }
    await rw.readLock().lock();
    proxy.refuse();
    proxy.cut();
    await sleepUntil(async () => (await redis.keys(`{${name}}:${dying.getId()}:*`)).length === 0);
    await rw.readLock().unlock();
    expect(await rival.writeLock().tryLock()).to.equal(true);
    await rival.writeLock().unlock();
  });
});
