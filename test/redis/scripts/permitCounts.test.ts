// Ids in titles: test/README.md
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { PermitBench, ids, twoIds } from './PermitBench';
import { useBench } from './ScriptBench';

describe('permit-expirable semaphore scripts: leases and counts', () => {
  const bench = useBench();
  let sem: PermitBench;
  beforeEach(() => {
    sem = new PermitBench(bench());
  });

  describe('lease', () => {
    it('PE-28: tells what is left of it', async () => {
      await sem.set(3);
      const [some, none] = twoIds();
      expect(await sem.lease(some)).to.equal(null);
      await sem.acquire([some], 1_100);
      await sem.acquire([none], -1);
      sem.now += 100;
      expect(await sem.lease(some)).to.equal(1_000);
      expect(await sem.lease(none)).to.equal(-1);
      sem.now += 1_001;
      expect(await sem.lease(some)).to.equal(null);
      expect(await sem.available()).to.equal(2);
    });

    it('PE-02: is changed while the permit is there', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      expect(await sem.updateLease(one, 1_000)).to.equal(false);
      await sem.acquire([one], -1);
      expect(await sem.updateLease(one, 1_000)).to.equal(true);
      expect(await sem.updateLease(one, 1_000)).to.equal(true);
      expect(await sem.lease(one)).to.equal(1_000);
      expect(await sem.updateLease(one, -1)).to.equal(true);
      expect(await sem.lease(one)).to.equal(-1);
      await sem.updateLease(one, 1_000);
      sem.now += 1_001;
      expect(await sem.updateLease(one, 1_000)).to.equal(false);
      expect(await sem.available()).to.equal(1);
    });

    it('is never shorter than asked: it began up to 1 ms later than the clock says, which is rounded down', async () => {
      await sem.set(3);
      const [one, two] = twoIds();
      const three = ids(3);
      await sem.acquire([one, two], 5);
      sem.now += 5;
      expect(await sem.acquire(three), 'acquire').to.deep.equal({ acquired: false, ttl: 1 });
      expect(await sem.available(), 'counts').to.equal(1);
      expect(await sem.renew([one, two], 0), 'renewal').to.deep.equal([true, true]);
      expect(await sem.lease(one), 'what is left').to.equal(0);
      expect(await sem.release(one), 'release').to.equal(1);
      expect(await sem.releaseMany([two]), 'release of several').to.equal(1);
      await sem.acquire([one, two], 5);
      sem.now += 6;
      expect(await sem.acquire(three), 'afterwards').to.deep.equal({ acquired: true });
    });
  });

  describe('a lease of 0', () => {
    it('is over at once, also in the millisecond in which it was set', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      await sem.acquire([one], -1);
      expect(await sem.updateLease(one, 0)).to.equal(true);
      expect(await sem.available(), 'after updateLeaseTime').to.equal(1);
      await sem.acquire([one], 0);
      expect(await sem.available(), 'after acquire').to.equal(1);
    });
  });

  describe('counts', () => {
    it('PE-04, PE-05, PE-06: put expired permits back, and tell of it', async () => {
      const counts = async () => [await sem.available(), await sem.taken(), await sem.total()];
      expect(await counts()).to.deep.equal([0, 0, 0]);
      await sem.set(2);
      await sem.acquire(ids(1), 1_000);
      await sem.acquire(ids(1), 2_000);
      expect(await counts()).to.deep.equal([0, 2, 2]);
      await sem.messages();
      sem.now += 1_001;
      expect(await counts()).to.deep.equal([1, 1, 2]);
      sem.now += 1_000;
      expect(await sem.total()).to.equal(2);
      expect(await sem.messages()).to.deep.equal(['1', '2']);
      expect(await bench().contents()).to.deep.equal({ x: '2' });
    });

    it('put 5000 expired permits back at once', async () => {
      await sem.set(5_000);
      expect(await sem.acquire(ids(5_000), 100)).to.deep.equal({ acquired: true });
      sem.now += 101;
      await sem.messages();
      expect(await sem.available()).to.equal(5_000);
      expect(await bench().contents()).to.deep.equal({ x: '5000' });
      expect(await sem.messages()).to.deep.equal(['5000']);
    });

    it('give 5000 permits back at once, and take them from as many expired ones', async () => {
      await sem.set(5_000);
      const many = ids(5_000);
      await sem.acquire(many);
      expect(await sem.releaseMany(many)).to.equal(5_000);
      await sem.acquire(many, 100);
      sem.now += 101;
      expect(await sem.acquire(ids(5_000))).to.deep.equal({ acquired: true });
    });

    it('are set to a total, once', async () => {
      expect(await sem.setTotal(3)).to.equal(true);
      await sem.acquire(ids(2));
      expect(await sem.setTotal(5)).to.equal(true);
      expect(await sem.setTotal(5)).to.equal(false);
      expect([await sem.available(), await sem.total()]).to.deep.equal([3, 5]);
      expect(await sem.setTotal(1)).to.equal(true);
      expect([await sem.available(), await sem.total()]).to.deep.equal([-1, 1]);
      expect(await sem.messages()).to.deep.equal(['3', '5', '1']);
    });

    it('PE-12: are changed, and only more is told, as a difference', async () => {
      await sem.set(10);
      await bench().redis.pexpire(bench().name, 20_000);
      await sem.messages();
      expect(await sem.add(5)).to.equal(15);
      expect(await bench().redis.pttl(bench().name)).to.equal(-1);
      expect(await sem.add(-10)).to.equal(5);
      expect(await sem.add(-10)).to.equal(-5);
      expect(await sem.messages()).to.deep.equal(['5']);
    });
  });
});
