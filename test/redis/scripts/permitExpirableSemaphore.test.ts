// Ids in titles: test/README.md
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { PermitBench, ids, twoIds } from './PermitBench';
import { useBench } from './ScriptBench';

describe('permit-expirable semaphore scripts', () => {
  const bench = useBench();
  let sem: PermitBench;
  beforeEach(() => {
    sem = new PermitBench(bench());
  });

  const key = (one: Buffer) => one.toString('latin1');

  describe('acquire', () => {
    it('takes a permit per id; members are the 16 raw bytes', async () => {
      await sem.set(3);
      const [one, two] = [Buffer.from('00ff10802a0d0a27225c7b7d0a00ffc3', 'hex'), randomBytes(16)];
      await sem.messages();
      expect(await sem.acquire([one, two])).to.deep.equal({ acquired: true });
      expect(await bench().contents()).to.deep.equal({
        x: '1',
        '{x}:timeout': { [key(one)]: String(sem.now + 30_000), [key(two)]: String(sem.now + 30_000) },
      });
      const members = await bench().redis.zrangeBuffer(sem.permits, '0', '-1');
      expect(members.map((member) => member.length)).to.deep.equal([16, 16]);
      expect(await bench().redis.pttl(sem.permits)).to.equal(-1);
      expect(await sem.messages()).to.deep.equal([]);
    });

    it('has a fixed score for a permit without lease', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      await sem.acquire([one], -1);
      expect(await bench().contents()).to.deep.equal({ x: '0', '{x}:timeout': { [key(one)]: '922337203685477' } });
    });

    it('has the same score for a lease that is too long for a clock', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      await sem.acquire([one], Number.MAX_SAFE_INTEGER);
      expect(await bench().contents()).to.deep.equal({ x: '0', '{x}:timeout': { [key(one)]: '922337203685477' } });
    });

    it('is repeated without a second permit, and completes what is missing', async () => {
      await sem.set(5);
      const three = ids(3);
      await sem.acquire(three);
      expect(await sem.acquire(three)).to.deep.equal({ acquired: true });
      expect(await sem.available()).to.equal(2);
      await sem.release(three[0]!);
      expect(await sem.acquire(three)).to.deep.equal({ acquired: true });
      expect(await sem.available()).to.equal(2);
      expect(await sem.taken()).to.equal(3);
    });

    it('C3: gives back old permits first, and tells others of them where it takes none', async () => {
      await sem.set(2);
      const [one, two, three] = [ids(1), ids(1), ids(2)];
      await sem.acquire(one);
      await sem.acquire(two);
      await sem.messages();
      expect(await sem.acquire(three, 30_000, one)).to.deep.equal({ acquired: false, ttl: 30_000 });
      expect([await sem.available(), await sem.messages()]).to.deep.equal([1, ['1']]);
      expect(await sem.acquire(three, 30_000, two)).to.deep.equal({ acquired: true });
      expect([await sem.available(), await sem.taken(), await sem.messages()]).to.deep.equal([0, 2, []]);
    });

    it('takes all or none, and says when the next permit expires', async () => {
      await sem.set(3);
      await sem.acquire(ids(1), 5_000);
      await sem.acquire(ids(1), 7_000);
      expect(await sem.acquire(ids(2))).to.deep.equal({ acquired: false, ttl: 5_000 });
      expect(await sem.available()).to.equal(1);
    });

    it('says -1 where no permit will ever expire, or there is no semaphore', async () => {
      expect(await sem.acquire(ids(1))).to.deep.equal({ acquired: false, ttl: -1 });
      expect(await bench().contents()).to.deep.equal({});
      await sem.set(1);
      await sem.acquire(ids(1), -1);
      expect(await sem.acquire(ids(1))).to.deep.equal({ acquired: false, ttl: -1 });
    });

    it('puts expired permits back, at most as many as it wants', async () => {
      await sem.set(3);
      await sem.acquire(ids(3), 100);
      sem.now += 101;
      await sem.messages();
      const one = ids(1);
      expect(await sem.acquire(one)).to.deep.equal({ acquired: true });
      expect(await bench().redis.get(bench().name)).to.equal('0');
      expect(await bench().redis.zcard(sem.permits)).to.equal(3);
      expect(await sem.messages()).to.deep.equal(['1']);
    });

    it('asks to be tried again at once where debts eat what expired', async () => {
      await sem.set(2);
      await sem.acquire(ids(2), 100);
      await sem.add(-1);
      sem.now += 101;
      expect(await sem.acquire(ids(1))).to.deep.equal({ acquired: false, ttl: 1 });
      expect(await sem.acquire(ids(1))).to.deep.equal({ acquired: true });
    });

    it('gives the permits the time limit of the semaphore', async () => {
      await sem.set(1);
      await bench().redis.pexpire(bench().name, 20_000);
      await sem.acquire(ids(1));
      expect(await bench().redis.pttl(sem.permits)).to.be.within(19_000, 20_000);
    });
  });

  describe('release', () => {
    it('gives one permit back; the message is the balance', async () => {
      await sem.set(2);
      const [one, two] = twoIds();
      await sem.acquire([one, two]);
      await sem.messages();
      expect(await sem.release(one)).to.equal(1);
      expect(await sem.release(two)).to.equal(1);
      expect(await bench().contents()).to.deep.equal({ x: '2' });
      expect(await sem.messages()).to.deep.equal(['1', '2']);
    });

    it('PE-18: gives an expired permit back, and says that it was too late', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      await sem.acquire([one], 100);
      sem.now += 101;
      expect(await sem.release(one)).to.equal(-1);
      expect(await bench().contents()).to.deep.equal({ x: '1' });
    });

    it('PE-17: knows no permit that is not there, unless it is a repeat', async () => {
      await sem.set(1);
      const one = randomBytes(16);
      expect(await sem.release(one)).to.equal(0);
      await sem.acquire([one]);
      await sem.release(one);
      await sem.messages();
      expect(await sem.release(one, true)).to.equal(1);
      expect(await sem.release(one)).to.equal(0);
      expect(await bench().contents()).to.deep.equal({ x: '1' });
      expect(await sem.messages()).to.deep.equal([]);
    });

    it('PE-22: gives several back; the message is their number', async () => {
      await sem.set(10);
      const six = ids(6);
      await sem.acquire(six);
      await sem.messages();
      expect(await sem.releaseMany(six.slice(0, 4))).to.equal(4);
      expect(await sem.available()).to.equal(8);
      expect(await sem.releaseMany(six.slice(4))).to.equal(2);
      expect(await bench().contents()).to.deep.equal({ x: '10' });
      expect(await sem.messages()).to.deep.equal(['4', '2']);
      expect(await sem.releaseMany(six)).to.equal(0);
      expect(await sem.releaseMany(six, true)).to.equal(6);
      expect(await bench().contents()).to.deep.equal({ x: '10' });
      expect(await sem.messages()).to.deep.equal([]);
    });

    it('gives none back where one is missing or expired, and purges nothing then', async () => {
      await sem.set(4);
      const [one, late] = twoIds();
      await sem.acquire([one]);
      await sem.acquire([late], 100);
      sem.now += 101;
      await sem.messages();
      const before = await bench().dump();
      expect(await sem.releaseMany([one, late])).to.equal(0);
      expect(await sem.releaseMany([one, randomBytes(16)])).to.equal(0);
      expect(await sem.releaseMany([one, randomBytes(16)], true)).to.equal(0);
      expect(await bench().dump()).to.deep.equal(before);
      expect(await sem.messages()).to.deep.equal([]);
    });

    it('puts expired permits of others back along the way', async () => {
      await sem.set(2);
      await sem.acquire(ids(1), 100);
      const one = randomBytes(16);
      await sem.acquire([one]);
      sem.now += 101;
      await sem.messages();
      expect(await sem.releaseMany([one])).to.equal(1);
      expect(await bench().contents()).to.deep.equal({ x: '2' });
      expect(await sem.messages()).to.deep.equal(['1', '1']);
    });

    it('G-10: counts an id that is named twice once', async () => {
      await sem.set(2);
      const one = randomBytes(16);
      await sem.acquire([one]);
      expect(await sem.releaseMany([one, one])).to.equal(1);
      expect(await bench().contents()).to.deep.equal({ x: '2' });
    });
  });

  it('tells one waiter when a permit will expire sooner than the first of them was to, by more than 1 s', async () => {
    const [one, two] = twoIds();
    await sem.set(2);
    await sem.acquire([one], 30_000);
    await sem.acquire([two], -1);
    await bench().messages();
    expect(await sem.updateLease(one, 29_500)).to.equal(true);
    expect(await sem.updateLease(two, 29_000)).to.equal(true);
    expect(await sem.updateLease(one, 60_000)).to.equal(true);
    expect(await bench().messages()).to.deep.equal([]);
    expect(await sem.updateLease(one, 5_000)).to.equal(true);
    expect(await sem.updateLease(one, 5_000)).to.equal(true);
    expect(await bench().messages()).to.deep.equal(['redisson_sc:{x} 1']);
  });

  it('renews permits that are there, never shortens a lease, and only looks for a lease of 0', async () => {
    await sem.set(3);
    const [one, two, three] = ids(3) as [Buffer, Buffer, Buffer];
    await sem.acquire([one], 1_000);
    await sem.acquire([two], 60_000);
    expect(await sem.renew([one, two, three], 0)).to.deep.equal([true, true, false]);
    expect([await sem.lease(one), await sem.lease(two)]).to.deep.equal([1_000, 60_000]);
    expect(await sem.renew([one, two, three], 30_000)).to.deep.equal([true, true, false]);
    expect([await sem.lease(one), await sem.lease(two)]).to.deep.equal([30_000, 60_000]);
    sem.now += 30_001;
    expect(await sem.renew([one, two], 30_000)).to.deep.equal([false, true]);
    expect(await sem.available()).to.equal(2);
    await bench().redis.del(sem.permits);
    await bench().redis.hset(sem.permits, 'a', '1');
    expect(await sem.renew([two], 30_000)).to.deep.equal([false]);
  });

  it('is deleted with its permits, without a message', async () => {
    expect(await sem.remove()).to.equal(false);
    await sem.set(1);
    await sem.acquire(ids(1));
    await sem.messages();
    expect(await sem.remove()).to.equal(true);
    expect(await bench().contents()).to.deep.equal({});
    expect(await sem.messages()).to.deep.equal([]);
  });

  it('reports text that is no number before anything is written', async () => {
    const [live, expired] = twoIds();
    await bench().redis.set(bench().name, 'text');
    await bench().redis.zadd(sem.permits, sem.now + 1_000, live, sem.now - 1, expired);
    const before = await bench().dump();
    const attempts = [
      () => sem.acquire([live]),
      () => sem.release(live),
      () => sem.releaseMany([live]),
      () => sem.available(),
      () => sem.total(),
      () => sem.taken(),
      () => sem.lease(live),
      () => sem.updateLease(live, 1),
      () => sem.setTotal(1),
      () => sem.add(1),
    ];
    for (const attempt of attempts) {
      const error: unknown = await attempt().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error, attempt.toString())
        .to.have.property('message')
        .that.matches(/not an integer/);
    }
    expect(await bench().dump()).to.deep.equal(before);
  });
});
