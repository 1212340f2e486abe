// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { IllegalMonitorStateError, LockLostError, type Redisson, type RReadWriteLock } from '../../../lib';
import { client, connection, listening, openScene, within } from '../../faults/scene';
import { monotonicNow, redisUrl, sleep, sleepUntil, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

describe('read/write lock: leases', () => {
  let name: string;
  let redis: Redis;
  let one: Redisson;
  let rw: RReadWriteLock;
  let rival: RReadWriteLock;

  beforeEach(() => {
    name = uniqueName('rw');
    redis = connection();
    one = client(redisUrl(), { lockWatchdogTimeout: 600 });
    rw = one.getReadWriteLock(name);
    rival = client(redisUrl()).getReadWriteLock(name);
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  it('RW-01: the lock lives as long as the longest reader, and its last unlock wakes the writer', async () => {
    const startedAt = monotonicNow();
    await rw.readLock().lock(10_000, undefined, 1);
    await rw.readLock().lock(300, undefined, 2);
    const writing = rival.writeLock().lock(10_000);
    await listening(redis, name);
    await rw.readLock().unlock(2);
    expect(await redis.pttl(name)).to.be.above(8_000);
    await sleep(500);
    expect(await rival.writeLock().isHeldByCurrentThread()).to.equal(false);
    await rw.readLock().unlock(1);
    await within(1_000, 'the writer enters', writing);
    expect(monotonicNow() - startedAt).to.be.below(3_000);
    await rival.writeLock().unlock();
  });

  it('RW-03: the watchdog keeps the own keys of every reader, so that none is pushed out by another one', async () => {
    const threads = [1, 2, 3, 4, 5];
    await Promise.all(threads.map((threadId) => rw.readLock().lock(-1, undefined, threadId)));
    await sleep(1_500);
    for (const threadId of threads) {
      await rw.readLock().unlock(threadId);
      expect(await redis.exists(name)).to.equal(threadId === 5 ? 0 : 1);
    }
    expect(await redis.keys(`*${name}*`)).to.deep.equal([]);
  });

  it('RW-05: the lease of a write re-entry comes on top of what is left', async () => {
    expect(await rw.writeLock().tryLock(1_000, 10_000, undefined, 1)).to.equal(true);
    expect(await rw.writeLock().tryLock(1_000, 1_000, undefined, 1)).to.equal(true);
    expect(await redis.pttl(name)).to.be.within(10_001, 11_000);
    expect(await rival.writeLock().tryLock(100, 1_000)).to.equal(false);
    await rw.writeLock().unlock(1);
    expect(await redis.pttl(name)).to.be.within(9_000, 10_000);
    await rw.writeLock().unlock(1);
  });

  it('RW-07: readers who wait for a writer that never unlocks get in by its ttl', async () => {
    expect(await rival.writeLock().tryLock(1_000, 500)).to.equal(true);
    const reading = [1, 2].map((threadId) => rw.readLock().lock(-1, undefined, threadId));
    await within(2_000, 'both readers', Promise.all(reading));
    await rw.readLock().unlock(1);
    await rw.readLock().unlock(2);
  });

  it('RW-09: after the inner unlock a reader has what its outer hold has left, then a writer gets in', async () => {
    const read = rw.readLock();
    expect(await read.tryLock(100, 1_000, undefined, 1)).to.equal(true);
    await sleep(600);
    expect(await read.tryLock(100, 1_000, undefined, 1)).to.equal(true);
    await read.unlock(1);
    expect(await redis.pttl(name)).to.be.within(1, 400);
    await sleep(450);
    expect(await rw.writeLock().tryLock()).to.equal(true);
    await rw.writeLock().unlock();
  });

  it('a hold that is given back out of turn leaves the other one its own lease, not more and not less', async () => {
    const read = rw.readLock();
    const short = await read.acquire({ leaseTime: 400, threadId: 1 });
    const long = await read.acquire({ leaseTime: 5_000, threadId: 1 });
    await short.unlock();
    expect(await redis.pttl(name)).to.be.above(4_000);
    await sleep(500);
    expect(long.isHeld).to.equal(true);
    expect(await read.getHoldCount()).to.equal(0);
    expect(await read.isHeldByThread(1)).to.equal(true);

    const inner = await read.acquire({ leaseTime: 500, threadId: 1 });
    await long.unlock();
    expect(await redis.pttl(name)).to.be.within(1, 500);
    await sleepUntil(() => inner.signal.aborted);
    expect(inner.signal.reason).to.be.instanceOf(LockLostError);
    expect(await rival.writeLock().tryLock(1_000)).to.equal(true);
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
    await rw.writeLock().lock(400);
    const startedAt = monotonicNow();
    await rival.writeLock().lock();
    expect(monotonicNow() - startedAt).to.be.within(250, 2_000);
    await rival.writeLock().unlock();
    expect(await rejection(rw.writeLock().unlock())).to.be.instanceOf(IllegalMonitorStateError);
  });

  it('the halves of one thread are renewed independently', async () => {
    await rw.writeLock().lock();
    await rw.readLock().lock();
    await rw.readLock().unlock();
    await sleep(900);
    expect(await rw.writeLock().isHeldByCurrentThread()).to.equal(true);
    await rw.readLock().lock();
    await rw.writeLock().unlock();
    await sleep(900);
    expect(await rw.readLock().isHeldByCurrentThread()).to.equal(true);
    await rw.readLock().unlock();
    await sleep(300);
    expect(await redis.keys(`*${name}*`)).to.deep.equal([]);
  });

  it('RW-19 RW-32: the dead die: readers and writers whose client is gone are not kept by the living', async () => {
    const { proxy } = await openScene();
    const dying = client(proxy.url, { lockWatchdogTimeout: 600 });
    for (const threadId of [1, 2]) {
      await dying.getReadWriteLock(name).readLock().lock(-1, undefined, threadId);
      await dying.getReadWriteLock(name).readLock().lock(-1, undefined, threadId);
    }
    await rw.readLock().lock();
    proxy.refuse();
    proxy.cut();
    await sleep(1_200);
    expect(await redis.keys(`{${name}}:${dying.getId()}:*`)).to.deep.equal([]);
    await rw.readLock().unlock();
    expect(await rival.writeLock().tryLock(500)).to.equal(true);
    await rival.writeLock().unlock();
  });
});
