import { expect } from 'chai';
import type { Redis } from 'ioredis';
import {
  PermitNotFoundError,
  PrefixNameMapper,
  type Redisson,
  type RPermitExpirableSemaphore,
  TimeUnit,
} from '../../../lib';
import { semaphoreSuite, type SemaphoreUnderTest } from '../../contracts/semaphoreContract';
import { monitor, monotonicNow, redisUrl, sleep, sleepUntil, uniqueName } from '../../support';
import { bareClient, Inside, newClient, rejection, untilListening } from './support';

const ID = /^[0-9a-f]{32}$/;

function underTest(client: Redisson, name: string): SemaphoreUnderTest {
  const semaphore = client.getPermitExpirableSemaphore(name);
  return {
    trySetPermits: (permits) => semaphore.trySetPermits(permits),
    acquire: (permits = 1, signal) => semaphore.acquireMany(permits, undefined, undefined, { signal }),
    tryAcquire: async (permits = 1, waitMs, signal) => {
      const ids = await semaphore.tryAcquireMany(permits, waitMs, undefined, undefined, { signal });
      return permits !== 0 && ids.length === 0 ? undefined : ids;
    },
    release: (taken) => semaphore.releaseMany(taken as string[]),
    addPermits: (permits) => semaphore.addPermits(permits),
    availablePermits: () => semaphore.availablePermits(),
    delete: () => semaphore.delete(),
  };
}

describe('PermitExpirableSemaphore', () => {
  semaphoreSuite(underTest);

  let client: Redisson;
  let redis: Redis;
  let name: string;
  let semaphore: RPermitExpirableSemaphore;

  beforeEach(() => {
    client = newClient();
    redis = bareClient();
    name = uniqueName('permits');
    semaphore = client.getPermitExpirableSemaphore(name);
  });

  afterEach(async () => {
    await redis.del(name, `{${name}}:timeout`);
  });

  /** Resolves when so many permits are available. */
  async function untilAvailable(permits: number): Promise<void> {
    await sleepUntil(async () => (await semaphore.availablePermits()) === permits);
  }

  it('has the name it was given', () => {
    expect(semaphore.name).to.equal(name);
    expect(semaphore.getName()).to.equal(name);
  });

  it('keeps ids as 16 raw bytes in Redis, and shows them as 32 hex digits', async () => {
    await semaphore.trySetPermits(2);
    const id = await semaphore.acquire(60, TimeUnit.SECONDS);
    expect(id).to.match(ID);
    const [member, score] = (await redis.zrangeBuffer(`{${name}}:timeout`, 0, -1, 'WITHSCORES')) as [Buffer, Buffer];
    expect(member.toString('hex')).to.equal(id);
    expect(Number(score)).to.be.within(Date.now() + 50_000, Date.now() + 60_000);
    const eternal = await semaphore.acquire();
    expect(await redis.call('ZSCORE', `{${name}}:timeout`, Buffer.from(eternal, 'hex'))).to.equal('922337203685477');
    await semaphore.release(id.toUpperCase());
  });

  it('PE-02 testUpdateLeaseTime: a permit gets a new lease while it is out', async () => {
    await semaphore.trySetPermits(1);
    expect(await semaphore.updateLeaseTime('1234', 100)).to.equal(false);
    const id = await semaphore.acquire();
    expect(await semaphore.updateLeaseTime(id, 0.1, TimeUnit.SECONDS)).to.equal(true);
    await sleep(130);
    expect(await semaphore.updateLeaseTime(id, 100)).to.equal(false);
    const second = (await semaphore.tryAcquire(100, 100))!;
    expect(await semaphore.updateLeaseTime(second, 400)).to.equal(true);
    await sleep(200);
    expect(await semaphore.availablePermits()).to.equal(0);
    await untilAvailable(1);
    expect(await semaphore.updateLeaseTime(second, 100)).to.equal(false);
  });

  it('PE-03 testNotExistent: a semaphore that is not there has no permits', async () => {
    expect(await semaphore.availablePermits()).to.equal(0);
    expect(await semaphore.getPermits()).to.equal(0);
    expect(await semaphore.acquiredPermits()).to.equal(0);
    expect(await redis.exists(name)).to.equal(0);
  });

  for (const [title, method, counts] of [
    ['PE-04 testAvailablePermits: expired permits are available again', 'availablePermits', [2, 1, 0, 2]],
    ['PE-05 testAcquiredPermits: expired permits are not out any more', 'acquiredPermits', [0, 1, 2, 0]],
    ['PE-06 testGetPermits: the total never changes', 'getPermits', [2, 2, 2, 2]],
  ] as const) {
    it(title, async () => {
      await semaphore.trySetPermits(2);
      expect(await semaphore[method]()).to.equal(counts[0]);
      expect(await semaphore.tryAcquire(50, 250)).to.match(ID);
      expect(await semaphore[method]()).to.equal(counts[1]);
      expect(await semaphore.tryAcquire(50, 250)).to.match(ID);
      expect(await semaphore.tryAcquire(20, 250)).to.equal(null);
      expect(await semaphore[method]()).to.equal(counts[2]);
      await sleep(260);
      expect(await semaphore.tryAcquire(50, 100)).to.match(ID);
      await sleep(110);
      expect(await semaphore[method]()).to.equal(counts[3]);
    });
  }

  it('PE-08 testExpire: a waiter gets in when a permit expires, and the expired one cannot be released', async () => {
    await semaphore.trySetPermits(1);
    const startedAt = monotonicNow();
    const id = await semaphore.acquire(300);
    const watch = await monitor(redisUrl());
    const other = newClient().getPermitExpirableSemaphore(name);
    const second = await other.acquire();
    expect(monotonicNow() - startedAt).to.be.within(290, 1_500);
    // First attempt, the one after subscribing, the one at the expiry: nobody polls.
    expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(3, 5);
    watch.stop();
    await other.release(second);
    expect(await semaphore.tryRelease(id)).to.equal(false);
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('PE-09 testExpireTryAcquire: the same for a timed acquisition', async () => {
    await semaphore.trySetPermits(1);
    const id = (await semaphore.tryAcquire(100, 0.25, TimeUnit.SECONDS))!;
    const startedAt = monotonicNow();
    const second = (await semaphore.tryAcquire(5_000))!;
    expect(monotonicNow() - startedAt).to.be.within(200, 1_500);
    await semaphore.release(second);
    expect(await semaphore.tryRelease(id)).to.equal(false);
  });

  it('PE-10 testTrySetPermits: the number is set once', async () => {
    expect(await semaphore.trySetPermits(10)).to.equal(true);
    expect(await semaphore.availablePermits()).to.equal(10);
    expect(await semaphore.trySetPermits(15)).to.equal(false);
    expect(await semaphore.availablePermits()).to.equal(10);
  });

  it('PE-12 testAddPermits: permits are added and taken away, below zero too', async () => {
    await semaphore.trySetPermits(10);
    for (const [change, available] of [
      [5, 15],
      [-10, 5],
      [-10, -5],
      [0, -5],
    ] as const) {
      await semaphore.addPermits(change);
      expect(await semaphore.availablePermits()).to.equal(available);
    }
  });

  it('sets the total, taken permits counted, and wakes waiters by it', async () => {
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire();
    const waiting = semaphore.acquire();
    await untilListening(redis, `redisson_sc:{${name}}`);
    await newClient().getPermitExpirableSemaphore(name).setPermits(3);
    const second = await waiting;
    expect(await semaphore.availablePermits()).to.equal(1);
    await semaphore.setPermits(1);
    expect(await semaphore.availablePermits()).to.equal(-1);
    await semaphore.releaseMany([id, second]);
    expect(await semaphore.availablePermits()).to.equal(1);
    expect(await rejection(semaphore.setPermits(-1))).to.be.instanceOf(RangeError);
    expect(await semaphore.getPermits()).to.equal(1);
  });

  it('PE-13 testBlockingAcquire: a permit may be released by somebody else, who has its id', async () => {
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire();
    expect(id).to.have.lengthOf(32);
    const releasing = sleep(100).then(() => newClient().getPermitExpirableSemaphore(name).release(id));
    expect(await semaphore.availablePermits()).to.equal(0);
    await semaphore.acquire();
    await releasing;
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect(await semaphore.availablePermits()).to.equal(0);
  });

  it('PE-14 testBlockingAcquireMany: several permits are acquired and released together', async () => {
    await semaphore.trySetPermits(10);
    const ids = await semaphore.acquireMany(6);
    expect(new Set(ids).size).to.equal(6);
    expect(await semaphore.availablePermits()).to.equal(4);
    await semaphore.releaseMany(ids);
    expect(await semaphore.availablePermits()).to.equal(10);
  });

  it('PE-15 testTryAcquire: a timed waiter gets the permit that is released', async () => {
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire();
    expect(await semaphore.tryAcquire()).to.equal(null);
    const startedAt = monotonicNow();
    const releasing = sleep(100).then(() => semaphore.release(id));
    expect(await semaphore.tryAcquire(5, undefined, TimeUnit.SECONDS)).to.match(ID);
    expect(monotonicNow() - startedAt).to.be.within(90, 1_500);
    expect(await semaphore.availablePermits()).to.equal(0);
    await releasing;
  });

  it('PE-16 testTryAcquireMany: as many as are asked for, or none', async () => {
    await semaphore.trySetPermits(10);
    expect(await semaphore.tryAcquireMany(4)).to.have.lengthOf(4);
    expect(await semaphore.tryAcquireMany(5)).to.have.lengthOf(5);
    expect(await semaphore.tryAcquireMany(2)).to.deep.equal([]);
    expect(await semaphore.availablePermits()).to.equal(1);
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
    const id = (await semaphore.tryAcquire(100, 100))!;
    await sleep(110);
    expect(await semaphore.tryRelease(id)).to.equal(false);
    expect(await redis.get(name)).to.equal('1');
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('PE-19 testConcurrency_SingleInstance: one permit, 50 flows, one inside', async () => {
    await semaphore.trySetPermits(1);
    const inside = new Inside();
    await Promise.all(Array.from({ length: 50 }, () => section(client, inside)));
    expect(inside).to.include({ runs: 50, most: 1 });
  }).timeout(30_000);

  it('PE-20 testConcurrencyLoop_MultiInstance: one permit, 8 clients, 15 times each', async () => {
    await semaphore.trySetPermits(1);
    const inside = new Inside();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const own = newClient();
        for (let i = 0; i < 15; i++) await section(own, inside);
      }),
    );
    expect(inside).to.include({ runs: 120, most: 1 });
  }).timeout(30_000);

  async function section(one: Redisson, inside: Inside): Promise<void> {
    const own = one.getPermitExpirableSemaphore(name);
    const id = await own.acquire();
    await inside.run();
    await own.release(id);
  }

  it('PE-21 testAcquire: a free permit with a lease is there at once', async () => {
    await semaphore.trySetPermits(1);
    const startedAt = monotonicNow();
    expect(await semaphore.acquire(5, TimeUnit.SECONDS)).to.match(ID);
    expect(monotonicNow() - startedAt).to.be.below(1_000);
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

  it('PE-23 testAcquireAsyncMany: free permits are there at once', async () => {
    await semaphore.trySetPermits(10);
    const startedAt = monotonicNow();
    expect(await semaphore.acquireMany(6)).to.have.lengthOf(6);
    expect(monotonicNow() - startedAt).to.be.below(1_000);
    expect(await semaphore.availablePermits()).to.equal(4);
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
    expect(await semaphore.acquireMany(6, 100)).to.have.lengthOf(6);
    expect(await semaphore.availablePermits()).to.equal(4);
    await sleep(150);
    await semaphore.acquire(150);
    expect(await semaphore.availablePermits()).to.equal(9);
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

  it('QUIRK tryAcquire: is null or [] where another waits for an expiry, and [] for no permits', async () => {
    await semaphore.trySetPermits(1);
    await semaphore.acquire(1_000);
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect(await semaphore.tryAcquireMany(1)).to.deep.equal([]);
    expect(await semaphore.tryAcquireMany(2, 30)).to.deep.equal([]);
    expect(await semaphore.acquireMany(0)).to.deep.equal([]);
    expect(await semaphore.tryAcquireMany(0, 1_000)).to.deep.equal([]);
  });

  it('PE-28 testGetLeaseTime: what is left of a lease', async () => {
    await semaphore.trySetPermits(1);
    expect(await rejection(semaphore.getLeaseTime('1234'))).to.be.instanceOf(PermitNotFoundError);
    expect(await rejection(semaphore.getLeaseTime('0'.repeat(32)))).to.be.instanceOf(PermitNotFoundError);
    const eternal = await semaphore.acquire();
    expect(await semaphore.getLeaseTime(eternal)).to.equal(-1);
    await semaphore.release(eternal);
    const id = await semaphore.acquire(300);
    await sleep(30);
    expect(await semaphore.getLeaseTime(id)).to.be.within(1, 271);
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

  it('PE-29 testConcurrencyMultiPermits: two flows take both permits, one after the other', async () => {
    await semaphore.trySetPermits(2);
    const flow = async (): Promise<number> => {
      const ids = await semaphore.tryAcquireMany(2, 2, undefined, TimeUnit.SECONDS);
      await sleep(100);
      return semaphore.tryReleaseMany(ids);
    };
    expect(await Promise.all([flow(), flow()])).to.deep.equal([2, 2]);
    expect(await semaphore.availablePermits()).to.equal(2);
  });

  it('lets a big and a small request in by one message that is less than the permits there are', async () => {
    await semaphore.trySetPermits(5);
    const ids = await semaphore.acquireMany(3);
    const big = semaphore.acquireMany(5);
    const small = semaphore.acquireMany(3);
    await untilListening(redis, `redisson_sc:{${name}}`);
    await sleep(30);
    await newClient().getPermitExpirableSemaphore(name).releaseMany(ids);
    const first = await Promise.race([big, small]);
    await semaphore.releaseMany(first);
    const all = await Promise.all([big, small]);
    expect(all.map((one) => one.length)).to.deep.equal([5, 3]);
  });

  it('deletes the permits too', async () => {
    await semaphore.trySetPermits(2);
    const id = await semaphore.acquire();
    expect(await semaphore.delete()).to.equal(true);
    expect(await semaphore.delete()).to.equal(false);
    expect(await redis.exists(name, `{${name}}:timeout`)).to.equal(0);
    expect(await semaphore.tryRelease(id)).to.equal(false);
  });

  it('works for names with braces, colons, spaces and unicode, and under a name mapper', async () => {
    const mapped = newClient({ nameMapper: new PrefixNameMapper('app:') });
    for (const raw of [`{${name}}`, `a{b}c:${name}`, `x{y ${name}`, `клю ч:${name}`, `}${name}`]) {
      for (const [one, key] of [
        [client, raw],
        [mapped, `app:${raw}`],
      ] as const) {
        const own = one.getPermitExpirableSemaphore(raw);
        await own.trySetPermits(1);
        const id = await own.acquire();
        const waiting = own.acquire();
        await sleep(20);
        await own.release(id);
        await waiting;
        expect(await redis.get(key)).to.equal('0');
        expect(await own.delete()).to.equal(true);
        expect(await redis.keys(`*${name}*`)).to.deep.equal([]);
      }
    }
  });
});
