// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Redisson, type RPermitExpirableSemaphore, TimeUnit } from '../../../lib';
import { permitHoldSuite } from '../../contracts/permitHoldContract';
import { semaphoreSuite } from '../../contracts/semaphoreContract';
import { monotonicNow, sleep } from '../../support';
import { Inside, newClient, oddNames, openStage, rejection, untilListening } from './support';
import { leasedSemaphore } from './underTest';

const ID = /^[0-9a-f]{32}$/;

describe('PermitExpirableSemaphore', () => {
  semaphoreSuite(leasedSemaphore);
  describe('permits that are held', () => permitHoldSuite());

  let client: Redisson;
  let redis: Redis;
  let name: string;
  let semaphore: RPermitExpirableSemaphore;

  beforeEach(() => {
    ({ client, redis, name } = openStage('permits'));
    semaphore = client.getPermitExpirableSemaphore(name);
  });

  it('has the name it was given', () => {
    expect(semaphore.name).to.equal(name);
    expect(semaphore.getName()).to.equal(name);
  });

  it('keeps ids as 16 raw bytes in Redis, and shows them as 32 hex digits', async () => {
    await semaphore.trySetPermits(2);
    const id = await semaphore.acquire(60, TimeUnit.SECONDS);
    expect(id).to.match(ID);
    const [member, score] = (await redis.zrangeBuffer(`{${name}}:timeout`, '0', '-1', 'WITHSCORES')) as [
      Buffer,
      Buffer,
    ];
    expect(member.toString('hex')).to.equal(id);
    expect(Number(score)).to.be.within(Date.now() + 50_000, Date.now() + 60_000);
    const eternal = await semaphore.acquire();
    expect(await redis.call('ZSCORE', [`{${name}}:timeout`, Buffer.from(eternal, 'hex')])).to.equal('922337203685477');
    await semaphore.release(id.toUpperCase());
  });

  it('PE-03 testNotExistent: a semaphore that is not there has no permits', async () => {
    expect(await semaphore.availablePermits()).to.equal(0);
    expect(await semaphore.getPermits()).to.equal(0);
    expect(await semaphore.acquiredPermits()).to.equal(0);
    expect(await redis.exists(name)).to.equal(0);
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
    expect(await semaphore.tryAcquire(10, undefined, TimeUnit.SECONDS)).to.match(ID);
    expect(monotonicNow() - startedAt).to.be.within(90, 5_000);
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
    expect(await semaphore.acquire(10, TimeUnit.SECONDS)).to.match(ID);
    expect(monotonicNow() - startedAt).to.be.below(5_000);
  });

  it('PE-23 testAcquireAsyncMany: free permits are there at once', async () => {
    await semaphore.trySetPermits(10);
    const startedAt = monotonicNow();
    expect(await semaphore.acquireMany(6)).to.have.lengthOf(6);
    expect(monotonicNow() - startedAt).to.be.below(5_000);
    expect(await semaphore.availablePermits()).to.equal(4);
  });

  it('QUIRK tryAcquire: is null or [] where another waits for an expiry, and [] for no permits', async () => {
    await semaphore.trySetPermits(1);
    await semaphore.acquire(20_000);
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect(await semaphore.tryAcquireMany(1)).to.deep.equal([]);
    expect(await semaphore.tryAcquireMany(2, 30)).to.deep.equal([]);
    expect(await semaphore.acquireMany(0)).to.deep.equal([]);
    expect(await semaphore.tryAcquireMany(0, 1_000)).to.deep.equal([]);
  });

  it('PE-29 testConcurrencyMultiPermits: two flows take both permits, one after the other', async () => {
    await semaphore.trySetPermits(2);
    const flow = async (): Promise<number> => {
      const ids = await semaphore.tryAcquireMany(2, 8, undefined, TimeUnit.SECONDS);
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
    for (const { client: one, raw, key } of oddNames(client, name)) {
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
  });
});
