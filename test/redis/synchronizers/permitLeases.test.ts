// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { PermitNotFoundError, type Redisson, type RPermitExpirableSemaphore, TimeUnit } from '../../../lib';
import { monitor, monotonicNow, redisUrl, sleep, sleepUntil } from '../../support';
import { newClient, openStage, rejection } from './support';

const ID = /^[0-9a-f]{32}$/;

describe('PermitExpirableSemaphore: leases and releases', () => {
  let client: Redisson;
  let redis: Redis;
  let name: string;
  let semaphore: RPermitExpirableSemaphore;

  beforeEach(() => {
    ({ client, redis, name } = openStage('permits'));
    semaphore = client.getPermitExpirableSemaphore(name);
  });

  /** The leases of these permits end. */
  async function expire(...ids: (string | null)[]): Promise<void> {
    for (const id of ids) expect(await semaphore.updateLeaseTime(id!, 1)).to.equal(true);
    await sleep(10);
  }

  /** Resolves when so many permits are available. */
  async function untilAvailable(permits: number): Promise<void> {
    await sleepUntil(async () => (await semaphore.availablePermits()) === permits);
  }

  it('a pool of which one key was lost is mended by trySetPermits and setPermits, as docs/recipes says', async () => {
    for (const lost of [name, `{${name}}:timeout`]) {
      await semaphore.delete();
      await semaphore.trySetPermits(3);
      const ids = await semaphore.acquireMany(3);
      await redis.del(lost);
      await semaphore.trySetPermits(3);
      await semaphore.setPermits(3);
      expect(await semaphore.availablePermits()).to.equal(lost === name ? 0 : 3);
      expect(await semaphore.tryReleaseMany(ids)).to.equal(lost === name ? 3 : 0);
      expect(await semaphore.availablePermits()).to.equal(3);
    }
  });

  it('PE-02 testUpdateLeaseTime: a permit gets a new lease while it is out', async () => {
    await semaphore.trySetPermits(1);
    expect(await semaphore.updateLeaseTime('1234', 100)).to.equal(false);
    const id = await semaphore.acquire();
    expect(await semaphore.updateLeaseTime(id, 0.1, TimeUnit.SECONDS)).to.equal(true);
    await sleep(130);
    expect(await semaphore.updateLeaseTime(id, 100)).to.equal(false);
    const second = (await semaphore.tryAcquire(5_000, 10_000))!;
    expect(await semaphore.updateLeaseTime(second, 60_000)).to.equal(true);
    expect(await semaphore.getLeaseTime(second)).to.be.within(50_000, 60_000);
    expect(await semaphore.updateLeaseTime(second, 100)).to.equal(true);
    await untilAvailable(1);
    expect(await semaphore.updateLeaseTime(second, 100)).to.equal(false);
  });

  for (const [title, method, counts] of [
    ['PE-04 testAvailablePermits: expired permits are available again', 'availablePermits', [2, 1, 0, 2]],
    ['PE-05 testAcquiredPermits: expired permits are not out any more', 'acquiredPermits', [0, 1, 2, 0]],
    ['PE-06 testGetPermits: the total never changes', 'getPermits', [2, 2, 2, 2]],
  ] as const) {
    it(title, async () => {
      await semaphore.trySetPermits(2);
      expect(await semaphore[method]()).to.equal(counts[0]);
      const first = await semaphore.tryAcquire(5_000, 60_000);
      expect(await semaphore[method]()).to.equal(counts[1]);
      const second = await semaphore.tryAcquire(5_000, 60_000);
      expect(await semaphore.tryAcquire(20, 60_000)).to.equal(null);
      expect(await semaphore[method]()).to.equal(counts[2]);
      await expire(first, second);
      expect(await semaphore.tryAcquire(5_000, 100)).to.match(ID);
      await sleep(110);
      expect(await semaphore[method]()).to.equal(counts[3]);
    });
  }

  it('PE-08 testExpire: a waiter gets in when a permit expires, and the expired one cannot be released', async () => {
    await semaphore.trySetPermits(1);
    const startedAt = monotonicNow();
    const id = await semaphore.acquire(2_500);
    const watch = await monitor(redisUrl());
    const other = newClient().getPermitExpirableSemaphore(name);
    const second = await other.acquire();
    expect(monotonicNow() - startedAt).to.be.within(2_490, 7_000);
    // First attempt, the one after subscribing, the one at the expiry: nobody polls.
    expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(3, 5);
    watch.stop();
    await other.release(second);
    expect(await semaphore.tryRelease(id)).to.equal(false);
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('PE-09 testExpireTryAcquire: the same for a timed acquisition', async () => {
    await semaphore.trySetPermits(1);
    const startedAt = monotonicNow();
    const id = (await semaphore.tryAcquire(5, 0.25, TimeUnit.SECONDS))!;
    const second = (await semaphore.tryAcquire(20_000))!;
    expect(monotonicNow() - startedAt).to.be.within(240, 7_000);
    await semaphore.release(second);
    expect(await semaphore.tryRelease(id)).to.equal(false);
  });

  it('PE-17 testReleaseWithoutPermits: an id that is not out is an error that names it', async () => {
    for (const id of ['1234', '0'.repeat(32)]) {
      const error = await rejection(semaphore.release(id));
      expect(error).to.be.instanceOf(PermitNotFoundError).with.property('message').that.includes(id);
      expect(await rejection(semaphore.releaseMany([id]))).to.be.instanceOf(PermitNotFoundError);
      expect(await semaphore.tryRelease(id)).to.equal(false);
      expect(await semaphore.tryReleaseMany([id])).to.equal(0);
    }
    for (const id of [undefined, null, 1234]) {
      expect(await rejection(semaphore.release(id as never))).to.be.instanceOf(TypeError);
      expect(await rejection(semaphore.releaseMany(id as never))).to.be.instanceOf(TypeError);
    }
    expect(await redis.exists(name)).to.equal(0);
  });

  it('PE-18 testReleaseExpired: an expired permit is reported, and comes back all the same', async () => {
    await semaphore.trySetPermits(1);
    const id = (await semaphore.tryAcquire(5_000, 100))!;
    await sleep(110);
    expect(await semaphore.tryRelease(id)).to.equal(false);
    expect(await redis.get(name)).to.equal('1');
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('PE-22 testRelease: parts of what was acquired are released, once', async () => {
    await semaphore.trySetPermits(10);
    const ids = await semaphore.acquireMany(6);
    expect(await semaphore.availablePermits()).to.equal(4);
    await semaphore.releaseMany(ids.slice(0, 4));
    expect(await semaphore.availablePermits()).to.equal(8);
    await semaphore.releaseMany(ids.slice(4));
    expect(await semaphore.availablePermits()).to.equal(10);
    expect(await rejection(semaphore.releaseMany(ids))).to.be.instanceOf(PermitNotFoundError);
    expect(await semaphore.availablePermits()).to.equal(10);
  });

  it('PE-24 testReleaseAsyncMany: the number released is told', async () => {
    await semaphore.trySetPermits(10);
    const ids = await semaphore.acquireMany(6);
    expect(await semaphore.tryReleaseMany(ids.slice(0, 4))).to.equal(4);
    expect(await semaphore.availablePermits()).to.equal(8);
    expect(await semaphore.tryReleaseMany(ids.slice(4))).to.equal(2);
    expect(await semaphore.availablePermits()).to.equal(10);
    expect(await semaphore.tryReleaseMany(ids)).to.equal(0);
    expect(await semaphore.availablePermits()).to.equal(10);
  });

  it('PE-25 testReleaseManyExpiredDoesNotThrow: many expired permits do not hurt an acquisition', async () => {
    await semaphore.trySetPermits(10);
    const ids = await semaphore.acquireMany(6, 60_000);
    expect(ids).to.have.lengthOf(6);
    expect(await semaphore.availablePermits()).to.equal(4);
    await expire(...ids);
    const id = await semaphore.acquire(60_000);
    expect(await semaphore.availablePermits()).to.equal(9);
    await expire(id);
    await untilAvailable(10);
  });

  it('releases all or none of several', async () => {
    await semaphore.trySetPermits(4);
    const ids = await semaphore.acquireMany(2);
    const [expired] = await semaphore.acquireMany(1, 30);
    await sleep(40);
    for (const bad of [expired!, '1234', '0'.repeat(32)]) {
      expect(await semaphore.tryReleaseMany([...ids, bad])).to.equal(0);
      expect(await rejection(semaphore.releaseMany([...ids, bad]))).to.be.instanceOf(PermitNotFoundError);
    }
    expect(await semaphore.acquiredPermits()).to.equal(2);
    await semaphore.releaseMany(ids);
    expect(await semaphore.availablePermits()).to.equal(4);
  });

  it('G-10: a permit that is named twice is released once, without an error', async () => {
    await semaphore.trySetPermits(3);
    const [first, second] = await semaphore.acquireMany(2);
    await semaphore.releaseMany([first!, first!]);
    expect(await semaphore.availablePermits()).to.equal(2);
    expect(await semaphore.tryReleaseMany([second!, second!, second!])).to.equal(1);
    expect(await semaphore.availablePermits()).to.equal(3);
  });

  it('releases nothing without asking Redis', async () => {
    const watch = await monitor(redisUrl());
    await semaphore.releaseMany([]);
    expect(await semaphore.tryReleaseMany([])).to.equal(0);
    await semaphore.addPermits(0);
    expect(await watch.sent()).to.deep.equal([]);
    watch.stop();
  });

  it('PE-28 testGetLeaseTime: what is left of a lease', async () => {
    await semaphore.trySetPermits(1);
    expect(await rejection(semaphore.getLeaseTime('1234'))).to.be.instanceOf(PermitNotFoundError);
    expect(await rejection(semaphore.getLeaseTime('0'.repeat(32)))).to.be.instanceOf(PermitNotFoundError);
    const eternal = await semaphore.acquire();
    expect(await semaphore.getLeaseTime(eternal)).to.equal(-1);
    await semaphore.release(eternal);
    const id = await semaphore.acquire(20_000);
    await sleep(30);
    expect(await semaphore.getLeaseTime(id)).to.be.within(10_000, 19_971);
    await expire(id);
    await untilAvailable(1);
    expect(await rejection(semaphore.getLeaseTime(id))).to.be.instanceOf(PermitNotFoundError);
  });

  it('gives no permit for ever for a lease that is over: only -1 is none', async () => {
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire();
    expect(await semaphore.updateLeaseTime(id, 0)).to.equal(true);
    expect(await semaphore.availablePermits()).to.equal(1);
    await semaphore.acquire(-2);
    expect(await semaphore.availablePermits()).to.equal(1);
    const kept = await semaphore.acquire(-1, TimeUnit.SECONDS);
    expect(await semaphore.getLeaseTime(kept)).to.equal(-1);
    const long = await semaphore.updateLeaseTime(kept, Number.MAX_SAFE_INTEGER);
    expect(long).to.equal(true);
    expect(await semaphore.getLeaseTime(kept)).to.equal(-1);
    expect(await rejection(semaphore.updateLeaseTime(kept, NaN))).to.be.instanceOf(RangeError);
  });
});
