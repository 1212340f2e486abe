// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Redisson, type RSemaphore, TimeUnit } from '../../../lib';
import { semaphoreSuite } from '../../contracts/semaphoreContract';
import { monotonicNow, sleep, sleepUntil } from '../../support';
import { Inside, newClient, oddNames, openStage, rejection } from './support';
import { plainSemaphore } from './underTest';

describe('Semaphore', () => {
  semaphoreSuite(plainSemaphore);

  let client: Redisson;
  let redis: Redis;
  let name: string;
  let semaphore: RSemaphore;

  beforeEach(() => {
    ({ client, redis, name } = openStage('semaphore'));
    semaphore = client.getSemaphore(name);
  });

  /** Releases one permit after so many ms; awaited by the test, so that its errors count. */
  async function releaseAfter(...times: number[]): Promise<void> {
    let before = 0;
    for (const ms of times) {
      await sleep(ms - before);
      before = ms;
      await client.getSemaphore(name).release();
    }
  }

  it('has the name it was given', () => {
    expect(semaphore.name).to.equal(name);
    expect(semaphore.getName()).to.equal(name);
  });

  it('SE-02 testZero: zero permits are acquired and released at once', async () => {
    expect(await semaphore.tryAcquire(0, 10, TimeUnit.MINUTES)).to.equal(true);
    await semaphore.acquire(0);
    await semaphore.release(0);
    expect(await semaphore.releaseIfExists(0)).to.equal(false);
    await semaphore.addPermits(0);
    expect(await semaphore.availablePermits()).to.equal(0);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('SE-03 testAcquireWithoutSetPermits: what was released can be acquired', async () => {
    await semaphore.release();
    await semaphore.release();
    await semaphore.acquire(2);
    expect(await semaphore.availablePermits()).to.equal(0);
  });

  it('SE-04 testTrySetPermits: the number is set once; with a ttl it goes again', async () => {
    expect(await semaphore.trySetPermits(10)).to.equal(true);
    expect(await semaphore.availablePermits()).to.equal(10);
    expect(await semaphore.trySetPermits(15)).to.equal(false);
    expect(await semaphore.availablePermits()).to.equal(10);
    expect(await semaphore.delete()).to.equal(true);
    expect(await semaphore.delete()).to.equal(false);
    expect(await semaphore.trySetPermits(1, 0.2, TimeUnit.SECONDS)).to.equal(true);
    expect(await semaphore.availablePermits()).to.equal(1);
    expect(await redis.pttl(name)).to.be.within(1, 200);
    await sleepUntil(async () => (await redis.exists(name)) === 0);
    expect(await semaphore.availablePermits()).to.equal(0);
  });

  it('refuses a ttl that is not positive', async () => {
    for (const ttl of [0, -1, NaN])
      expect(await rejection(semaphore.trySetPermits(1, ttl))).to.be.instanceOf(RangeError);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('SE-05 testAddPermits: permits are added to what is there', async () => {
    await semaphore.trySetPermits(10);
    await semaphore.acquire(10);
    expect(await semaphore.availablePermits()).to.equal(0);
    await semaphore.addPermits(4);
    expect(await semaphore.availablePermits()).to.equal(4);
    await semaphore.release(10);
    expect(await semaphore.availablePermits()).to.equal(14);
    await semaphore.acquire(5);
    expect(await semaphore.availablePermits()).to.equal(9);
    await semaphore.addPermits(-10);
    expect(await semaphore.availablePermits()).to.equal(-1);
    expect(await semaphore.tryAcquire()).to.equal(false);
  });

  it('SE-07 testBlockingAcquire: a waiter gets the permit that is released', async () => {
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const releasing = releaseAfter(100);
    expect(await semaphore.availablePermits()).to.equal(0);
    await semaphore.acquire();
    expect(await semaphore.tryAcquire()).to.equal(false);
    expect(await semaphore.availablePermits()).to.equal(0);
    await releasing;
  });

  it('SE-08 testBlockingNAcquire: a waiter that is woken too early waits on', async () => {
    await semaphore.trySetPermits(5);
    await semaphore.acquire(3);
    expect(await semaphore.availablePermits()).to.equal(2);
    const releasing = releaseAfter(50, 100);
    await semaphore.acquire(4);
    expect(await semaphore.availablePermits()).to.equal(0);
    await releasing;
  });

  it('SE-09 testTryNAcquire: a timed waiter gets in with the second release', async () => {
    await semaphore.trySetPermits(5);
    expect(await semaphore.tryAcquire(3)).to.equal(true);
    expect(await semaphore.tryAcquire(4)).to.equal(false);
    const startedAt = monotonicNow();
    const releasing = releaseAfter(50, 100);
    expect(await semaphore.tryAcquire(4, 2, TimeUnit.SECONDS)).to.equal(true);
    expect(monotonicNow() - startedAt).to.be.within(90, 1_990);
    expect(await semaphore.availablePermits()).to.equal(0);
    await releasing;
  });

  it('SE-10 testReleaseWithoutPermits: a release creates the semaphore', async () => {
    await semaphore.release();
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('SE-11 testDrainPermits: all permits are taken at once', async () => {
    expect(await semaphore.drainPermits()).to.equal(0);
    await semaphore.trySetPermits(10);
    await semaphore.acquire(3);
    expect(await semaphore.drainPermits()).to.equal(7);
    expect(await semaphore.availablePermits()).to.equal(0);
  });

  it('SE-12 testReleaseAcquire: permits come and go', async () => {
    await semaphore.trySetPermits(10);
    await semaphore.acquire();
    expect(await semaphore.availablePermits()).to.equal(9);
    await semaphore.release();
    expect(await semaphore.availablePermits()).to.equal(10);
    await semaphore.acquire(5);
    expect(await semaphore.availablePermits()).to.equal(5);
    await semaphore.release(5);
    expect(await semaphore.availablePermits()).to.equal(10);
  });

  it('SE-13 testReleaseIfExists: nothing is created by it', async () => {
    await semaphore.trySetPermits(10);
    await semaphore.acquire();
    expect(await semaphore.releaseIfExists(1)).to.equal(true);
    expect(await semaphore.availablePermits()).to.equal(10);
    await semaphore.delete();
    expect(await semaphore.releaseIfExists()).to.equal(false);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('SE-14 testConcurrency_SingleInstance: one permit, 15 flows, one inside', async () => {
    await semaphore.trySetPermits(1);
    const inside = new Inside();
    await Promise.all(Array.from({ length: 15 }, () => section(client, inside)));
    expect(inside).to.include({ runs: 15, most: 1 });
  });

  it('SE-16 testConcurrencyLoop_MultiInstance: one permit, 8 clients, 20 times each', async () => {
    await semaphore.trySetPermits(1);
    const inside = new Inside();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const own = newClient();
        for (let i = 0; i < 20; i++) await section(own, inside);
      }),
    );
    expect(inside).to.include({ runs: 160, most: 1 });
  }).timeout(30_000);

  it('SE-17 testConcurrency_MultiInstance_1_permits: one permit, 20 clients, once each', async () => {
    await semaphore.trySetPermits(1);
    const inside = new Inside();
    await Promise.all(Array.from({ length: 20 }, () => section(newClient(), inside)));
    expect(inside).to.include({ runs: 20, most: 1 });
  }).timeout(30_000);

  async function section(one: Redisson, inside: Inside): Promise<void> {
    const own = one.getSemaphore(name);
    await own.acquire();
    await inside.run();
    await own.release();
  }

  it('refuses to release a negative number', async () => {
    for (const permits of [-1, 0.5]) {
      expect(await rejection(semaphore.release(permits))).to.be.instanceOf(RangeError);
      expect(await rejection(semaphore.releaseIfExists(permits))).to.be.instanceOf(RangeError);
    }
    expect(await redis.exists(name)).to.equal(0);
  });

  it('refuses options that are none', async () => {
    await semaphore.trySetPermits(1);
    expect(await rejection(semaphore.acquire(1, 'soon' as never))).to.have.property('code', 'CONFIG');
    expect(await rejection(semaphore.acquire(1, { signal: 'soon' as never }))).to.have.property('code', 'CONFIG');
    await semaphore.acquire(1, 7);
    await semaphore.release();
    await semaphore.acquire(1, { threadId: 7 });
  });

  it('does not poll once a semaphore was deleted, and wakes when there is one again', async () => {
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiting = semaphore.acquire();
    await sleep(50);
    await semaphore.delete();
    expect(await semaphore.trySetPermits(1)).to.equal(true);
    await waiting;
  });

  it('works for names with braces, colons, spaces and unicode, and under a name mapper', async () => {
    for (const { client: one, raw, key } of oddNames(client, name)) {
      const own = one.getSemaphore(raw);
      const waiting = own.acquire();
      await sleep(20);
      await own.release();
      await waiting;
      expect(await redis.get(key)).to.equal('0');
      await own.delete();
    }
  });
});
