// Ids in titles: test/README.md
import { expect } from 'chai';
import { LEFT_FREE_LOCK } from '../../../lib/kinds/fair';
import { FairBench } from './FairBench';
import { ownerOf, useBench } from './ScriptBench';

describe('fair lock scripts', () => {
  const bench = useBench();
  let fair: FairBench;
  beforeEach(() => {
    fair = new FairBench(bench());
  });
  const pttl = () => bench().redis.pttl(bench().name);

  describe('acquire', () => {
    it('takes a free lock nobody waits for: no queue, no message', async () => {
      await fair.expectAcquired(fair.acquire('A'));
      expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
      expect(await pttl()).to.be.within(...bench().left(30_000));
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('queues behind the holder, and once only', async () => {
      await fair.acquire('A');
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000 });
      expect(await bench().redis.pttl(fair.queue)).to.equal(-1);
      expect(await bench().redis.pttl(fair.timeouts)).to.equal(-1);
    });

    it('has the scores of the protocol for the default wait', async () => {
      fair.wait = 300_000;
      await fair.acquire('A');
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueued(fair.acquire('C'), 30_000);
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 330_000, C: 630_000 });
    });

    it('looks again when the lease ends, also where it joins once more: those ahead may leave without a message', async () => {
      fair.wait = 300_000;
      await fair.acquire('A');
      await fair.acquire('java');
      fair.slept = 6_000;
      await fair.expectQueued(fair.acquire('C'), 30_000);
      await fair.abandon('java', 300_000);
      await fair.expectQueue({ C: 330_000 });
    });

    it('is repeated without a second hold, a second place, or a second shift of the others', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectAcquired(fair.acquire('B'));
      await fair.expectQueue({ C: 35_000 });
      await fair.expectAcquired(fair.acquire('B'));
      expect(await fair.holders()).to.deep.equal({ B: '1' });
      await fair.expectQueue({ C: 35_000 });
    });

    it('re-enters past the queue, counts what was lost, and never cuts the life of the lock', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      fair.lease = 100;
      await fair.expectAcquired(fair.acquire('A', 2));
      await fair.expectAcquired(fair.acquire('A', 2));
      expect(await fair.acquire('A', 7)).to.deep.equal({ acquired: true, holds: 3 });
      expect(await pttl()).to.be.within(...bench().left(30_000));
      await fair.expectQueue({ B: 35_000 });
    });

    it('waits without limit of the lock for one that does not expire', async () => {
      await bench().redis.hset(bench().name, 'A', 1);
      await fair.acquire('B');
      await fair.expectQueue({ B: 5_000 });
      await fair.expectQueued(fair.acquire('B'), 4_000);
    });
  });

  describe('a waiter that gets in', () => {
    /** B has slept for 30 s at most, comes in with a lease of its own, and C is behind. */
    async function enter(lease: number): Promise<string[]> {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.told();
      Object.assign(fair, { slept: 30_000, lease });
      await fair.expectAcquired(fair.acquire('B'));
      return fair.told();
    }

    it('tells the next one when it has the lock for less time than that one may sleep for', async () => {
      expect(await enter(5_000)).to.deep.equal(['C']);
      await fair.expectQueued(fair.acquire('C'), 5_000);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('tells nobody when it has it for as long, or for less by no more than 1 s', async () => {
      expect(await enter(29_000)).to.deep.equal([]);
    });
  });

  describe('acquire, one-shot', () => {
    it('never queues, and answers the pttl', async () => {
      await fair.expectAcquired(fair.tryAcquire('A'));
      await fair.expectTtl(fair.tryAcquire('B'), 30_000);
      await fair.expectQueue({});
    });

    it('does not pass who waits for a free lock, but reminds it', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await bench().redis.del(bench().name);
      await fair.expectTtl(fair.tryAcquire('C'), 500);
      expect(await fair.told()).to.deep.equal(['B']);
      expect(await bench().redis.exists(bench().name)).to.equal(0);
      // B has 3 s from now on, whoever asks, and those who never queue get in then
      await fair.expectQueue({ B: 35_000 });
      await fair.expectClaims({ B: [3_000, 0] });
      expect(await bench().redis.pttl(fair.claims)).to.be.within(...bench().left(10_000));
      fair.now += 3_001;
      await fair.expectAcquired(fair.tryAcquire('C'));
      expect(await bench().contents()).to.deep.equal({ x: { C: '1' } });
    });

    it('shifts the others only when it leaves the queue', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectAcquired(fair.tryAcquire('B'));
      await fair.expectQueue({ C: 35_000 });
      await fair.expectAcquired(fair.tryAcquire('B'));
      await fair.expectAcquired(fair.tryAcquire('B', 2));
      await fair.expectQueue({ C: 35_000 });
      expect(await fair.holders()).to.deep.equal({ B: '2' });
    });
  });

  describe('release', () => {
    it('tells the head only, on its own channel', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      expect(await fair.release('A', 0)).to.deep.equal({ kind: 'released', receivers: 1, queued: 2 });
      expect(await fair.told()).to.deep.equal(['B']);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
      expect(await bench().redis.exists(bench().name)).to.equal(0);
    });

    it('tells the next one as well where nobody listens for the head', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.acquire('D');
      await bench().listen(`*{${bench().name}}:C:*`);
      expect(await fair.release('A', 0)).to.deep.equal({ kind: 'released', receivers: 1, queued: 3 });
      expect(await fair.told()).to.deep.equal(['C']);
    });

    it('tells nobody while holds are left, and nobody where nobody waits', async () => {
      await fair.acquire('A');
      await fair.acquire('A', 2);
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await pttl()).to.be.within(...bench().left(5_000));
      expect(await fair.release('A')).to.deep.equal({ kind: 'released', receivers: 0, queued: 0 });
      expect(await bench().messages()).to.deep.equal([]);
      expect(await bench().contents()).to.deep.equal({});
    });

    it('tells the head, once, when what is left lives less long by more than 1 s', async () => {
      await fair.acquire('A');
      await fair.acquire('A', 2);
      await fair.acquire('B');
      await fair.acquire('C');
      expect(await fair.release('A', 1, 29_500)).to.deep.equal({ kind: 'kept' });
      expect(await bench().messages()).to.deep.equal([]);
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await fair.told()).to.deep.equal(['B']);
    });

    it('sets the lease alone where all holds are left, on the lock only', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      expect(await fair.release('A', 1, 60_000)).to.deep.equal({ kind: 'kept' });
      expect(await pttl()).to.be.within(...bench().left(60_000));
      await fair.expectQueue({ B: 35_000 });
      expect(await bench().redis.pttl(fair.queue)).to.equal(-1);
      expect(await bench().redis.pttl(fair.timeouts)).to.equal(-1);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('G-07: repeated, it leaves the next holder alone', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.release('A', 0);
      await fair.acquire('B');
      await bench().messages();
      expect(await fair.release('A', 0)).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().contents()).to.deep.equal({ x: { B: '1' } });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('of a lock that is gone is no success, but tells the head', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await bench().redis.del(bench().name);
      expect(await fair.release('A')).to.deep.equal({ kind: 'notHeld' });
      expect(await fair.told()).to.deep.equal(['B']);
    });

    it('by somebody else changes nothing', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      expect(await fair.release('B')).to.deep.equal({ kind: 'notHeld' });
      expect(await fair.holders()).to.deep.equal({ A: '1' });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('drops dead heads first', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      fair.now += 36_000;
      await fair.release('A');
      expect(await fair.told()).to.deep.equal(['C']);
    });
  });

  describe('abandon', () => {
    it('G-01: moves those behind up by exactly the wait of the one who leaves, once', async () => {
      await fair.acquire('A');
      for (const owner of ['B', 'C', 'D']) await fair.acquire(owner);
      expect(await fair.abandon('C')).to.equal(1);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      expect(await fair.abandon('C')).to.equal(0);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      await fair.expectQueued(fair.acquire('D'), 30_000);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('passes the turn on when the head of a free lock leaves', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await bench().messages();
      expect(await fair.abandon('B')).to.equal(LEFT_FREE_LOCK);
      expect(await fair.told()).to.deep.equal(['C']);
      await fair.expectAcquired(fair.acquire('C'));
    });

    it('does not count those who came behind a claim as dead: its end was near, and its wait is long', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.release('A');
      fair.wait = 1_000;
      await fair.expectTtl(fair.tryAcquire('X'), 500);
      await fair.acquire('C');
      await fair.acquire('D');
      await fair.expectQueue({ B: 35_000, C: 36_000, D: 37_000 });
      fair.now += 2_000;
      expect(await fair.abandon('B', 5_000)).to.equal(LEFT_FREE_LOCK);
      await fair.expectQueue({ C: 29_000, D: 30_000 });
      await fair.expectClaims({});
      await fair.expectQueued(fair.acquire('E'), 500);
      await fair.expectAcquired(fair.acquire('C'));
    });

    it('leaves to those behind a late one what is left of their own waits', async () => {
      fair.wait = 300_000;
      await fair.acquireAll('A', 'B');
      // B has not come back in its time; C came when it should have gone long since.
      fair.now += 331_000;
      fair.wait = 4_000;
      // At once: what is left of the lease counts.
      const [, , , left] = await Promise.all([
        bench().redis.pexpire(bench().name, 1_000),
        bench().redis.zadd(fair.timeouts, fair.now + 5_000, ownerOf('C')),
        bench().redis.rpush(fair.queue, ownerOf('C')),
        fair.abandon('B', 300_000),
      ]);
      expect(left).to.equal(1);
      expect(await fair.order()).to.deep.equal(['C']);
      // The leases that it was reckoned with had lost a little by then.
      expect((await fair.scoreOf('C')) - fair.now).to.be.closeTo(7_000, 250);
    });

    it('keeps the claims of those behind', async () => {
      await fair.acquire('A');
      for (const owner of ['B', 'C', 'D', 'E']) await fair.acquire(owner);
      await fair.release('A');
      await fair.acquire('E');
      fair.now += 500;
      await fair.acquire('E');
      await fair.expectClaims({ B: [2_500, 2], C: [2_600, 1], D: [2_700, 1] });
      await fair.abandon('C');
      await fair.expectQueue({ B: 34_500, D: 39_500, E: 44_500 });
      await fair.expectClaims({ B: [2_500, 2], D: [2_700, 1] });
    });

    it('leaves no keys behind when the last one leaves', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.abandon('B');
      expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    });
  });

  it('is deleted by force whoever holds it; the queue stays and its head is told', async () => {
    expect(await fair.force()).to.equal(false);
    await fair.acquire('A');
    await fair.acquire('B');
    expect(await fair.force()).to.equal(true);
    expect(await fair.told()).to.deep.equal(['B']);
    await fair.expectQueue({ B: 35_000 });
    expect(await fair.force()).to.equal(false);
    expect(await bench().messages()).to.deep.equal([]);
  });
});
