import { expect } from 'chai';
import { sleep } from '../../support';
import { FairBench } from './FairBench';
import { useBench } from './ScriptBench';

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
      expect(await pttl()).to.be.within(29_000, 30_000);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('queues behind the holder, and once only', async () => {
      await fair.acquire('A');
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000 });
      expect(await bench().redis.pttl(fair.queue)).to.equal(-1);
      expect(await bench().redis.pttl(fair.timeouts)).to.equal(-1);
    });

    it('has the scores of the protocol for the default wait', async () => {
      fair.wait = 300_000;
      await fair.acquire('A');
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectTtl(fair.acquire('C'), 330_000);
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 330_000, C: 630_000 });
    });

    it('is repeated without a second hold, a second place, or a second shift of the others', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectAcquired(fair.acquire('B'));
      await fair.expectQueue({ C: 35_000 });
      await fair.expectAcquired(fair.acquire('B'));
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ B: '1' });
      await fair.expectQueue({ C: 35_000 });
    });

    it('re-enters past the queue, counts what was lost, and never cuts the life of the lock', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      fair.lease = 100;
      await fair.expectAcquired(fair.acquire('A', 2));
      await fair.expectAcquired(fair.acquire('A', 2));
      expect(await fair.acquire('A', 7)).to.deep.equal({ acquired: true, holds: 3 });
      expect(await pttl()).to.be.within(29_000, 30_000);
      await fair.expectQueue({ B: 35_000 });
    });

    it('does not pass the head of a free lock, and says when to look again', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectTtl(fair.acquire('C'), 3_000);
      await fair.expectTtl(fair.acquire('D'), 3_000);
      expect(await bench().redis.exists(bench().name)).to.equal(0);
    });

    it('gives the absent head of a free lock 3 s from the first one who notices, not its whole wait', async () => {
      fair.wait = 300_000;
      await fair.acquire('A');
      await fair.acquire('dead');
      await fair.acquire('dead too');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectTtl(fair.acquire('C'), 3_000);
      fair.now += 1_000;
      await fair.expectTtl(fair.acquire('C'), 2_000);
      fair.now += 2_000;
      await fair.expectTtl(fair.acquire('C'), 3_000);
      fair.now += 3_000;
      await fair.expectAcquired(fair.acquire('C'));
      await fair.expectQueue({});
    });

    it('lets a head that comes in its time have the lock', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.acquire('C');
      fair.now += 2_999;
      await fair.expectAcquired(fair.acquire('B'));
    });

    it('heals a head that has no score, which would block the queue for ever', async () => {
      await bench().redis.rpush(fair.queue, 'ghost');
      await fair.expectTtl(fair.acquire('B'), 3_000);
      fair.now += 3_000;
      await fair.expectAcquired(fair.acquire('B'));
      await fair.expectQueue({});
    });

    it('drops dead heads, one after the other, and leaves the scores of the others alone', async () => {
      fair.wait = 100;
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      fair.now += 30_150;
      await fair.expectTtl(fair.acquire('D'), 30_000);
      await fair.expectQueue({ C: 50, D: 30_100 });
    });

    it('waits without limit of the lock for one that does not expire', async () => {
      await bench().redis.hset(bench().name, 'A', 1);
      await fair.acquire('B');
      await fair.expectQueue({ B: 5_000 });
      await fair.expectTtl(fair.acquire('B'), 4_000);
    });
  });

  describe('a patient waiter', () => {
    it('that comes back moves its score and those behind it, so that it is not purged, nor are they', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      // the holder goes on; 34 s later both scores would pass soon
      fair.now += 34_000;
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
      await fair.expectTtl(fair.acquire('C'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
    });

    it('keeps its place even when it comes after its score has passed', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      fair.now += 100_000;
      await fair.expectTtl(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
    });

    it('is told to come back before its score passes', async () => {
      for (const wait of [100, 1_000, 5_000, 300_000]) {
        const { redis } = bench();
        await redis.del(bench().name, fair.queue, fair.timeouts);
        fair.wait = wait;
        fair.lease = 1_000;
        await fair.acquire('A');
        await fair.acquire('B');
        for (let round = 0; round < 5; round++) {
          const reply = await fair.acquire('B');
          if (reply.acquired) throw new Error('B got in');
          const left = Number(await redis.zscore(fair.timeouts, 'B')) - fair.now;
          expect(left - reply.ttl, `wait ${wait}`).to.be.at.least(Math.min(999, left / 2 - 1));
          fair.now += reply.ttl;
          await redis.pexpire(bench().name, 1_000);
        }
        expect(await redis.lrange(fair.queue, 0, -1)).to.deep.equal(['B']);
      }
    });

    it('does not move its score while the prediction is good', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      const score = await bench().redis.zscore(fair.timeouts, 'B');
      fair.now += 2_000;
      await fair.acquire('B');
      expect(await bench().redis.zscore(fair.timeouts, 'B')).to.equal(score);
    });

    it('behind a dead one is not lifted by it', async () => {
      await fair.acquire('A');
      await fair.acquire('dead');
      await fair.acquire('C');
      fair.now += 34_000;
      await fair.acquire('C');
      await fair.expectQueue({ dead: 1_000, C: 35_000 });
      fair.now += 1_300;
      await fair.acquire('C');
      expect(await bench().redis.lrange(fair.queue, 0, -1)).to.deep.equal(['C']);
    });
  });

  describe('acquire, one-shot', () => {
    it('never queues, and answers the pttl', async () => {
      await fair.expectAcquired(fair.tryAcquire('A'));
      await fair.expectTtl(fair.tryAcquire('B'), 30_000);
      await fair.expectQueue({});
    });

    it('does not pass who waits for a free lock', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.release('A');
      await fair.expectTtl(fair.tryAcquire('C'), 35_000);
      expect(await bench().redis.exists(bench().name)).to.equal(0);
      await fair.expectQueue({ B: 35_000 });
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
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ B: '2' });
    });
  });

  describe('release', () => {
    it('tells the head only, on its own channel', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      expect(await fair.release('A', 0)).to.deep.equal({ kind: 'freed', receivers: 1 });
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:B 0']);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
      expect(await bench().redis.exists(bench().name)).to.equal(0);
    });

    it('tells the next one as well where nobody listens for the head', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.acquire('D');
      await bench().listen(`*{${bench().name}}:C`);
      expect(await fair.release('A', 0)).to.deep.equal({ kind: 'freed', receivers: 1 });
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:C 0']);
    });

    it('tells nobody while holds are left, and nobody where nobody waits', async () => {
      await fair.acquire('A');
      await fair.acquire('A', 2);
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await fair.release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await pttl()).to.be.within(4_000, 5_000);
      expect(await fair.release('A')).to.deep.equal({ kind: 'freed', receivers: 0 });
      expect(await bench().messages()).to.deep.equal([]);
      expect(await bench().contents()).to.deep.equal({});
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
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:B 0']);
    });

    it('by somebody else changes nothing', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      expect(await fair.release('B')).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ A: '1' });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('drops dead heads first', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      fair.now += 36_000;
      await fair.release('A');
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:C 0']);
    });
  });

  describe('abandon', () => {
    it('G-01: moves those behind up by exactly the wait of the one who leaves, once', async () => {
      await fair.acquire('A');
      for (const owner of ['B', 'C', 'D']) await fair.acquire(owner);
      expect(await fair.abandon('C')).to.equal(true);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      expect(await fair.abandon('C')).to.equal(false);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      await fair.expectTtl(fair.acquire('D'), 30_000);
      await fair.expectQueue({ B: 35_000, D: 40_000 });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('passes the turn on when the head of a free lock leaves', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await bench().messages();
      await fair.abandon('B');
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:C 0']);
      await fair.expectAcquired(fair.acquire('C'));
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
    expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:B 0']);
    await fair.expectQueue({ B: 35_000 });
    expect(await fair.force()).to.equal(false);
    expect(await bench().messages()).to.deep.equal([]);
  });

  describe('conformance', () => {
    it('FL-05 testAcquireFailedTimeoutDrift_Descrete', async () => {
      await fair.expectAcquired(fair.acquire('I'));
      await fair.expectTtl(fair.acquire('W1'), 30_000);
      await fair.expectTtl(fair.acquire('W2'), 35_000);
      await fair.expectTtl(fair.acquire('W3'), 40_000);
      await fair.expectTtl(fair.acquire('W4'), 45_000);
      await fair.expectQueue({ W1: 35_000, W2: 40_000, W3: 45_000, W4: 50_000 });
      await fair.abandon('W2', 5_000);
      for (const owner of ['W1', 'W3', 'W4']) await fair.expectTtl(fair.acquire(owner), 30_000);
      await fair.expectQueue({ W1: 35_000, W3: 40_000, W4: 45_000 });
      expect(await fair.release('I')).to.include({ kind: 'freed' });
      await fair.expectAcquired(fair.acquire('W1'));
      for (const owner of ['W3', 'W4']) await fair.expectTtl(fair.acquire(owner), 30_000);
      await fair.expectQueue({ W3: 35_000, W4: 40_000 });
    });

    it('FL-06 testLockAcquiredBooleanTimeoutDrift_Descrete', async () => {
      fair.lease = 500;
      await fair.expectAcquired(fair.tryAcquire('I'));
      expect(await fair.tryAcquire('W1')).to.include({ acquired: false });
      expect(await fair.tryAcquire('W2')).to.include({ acquired: false });
      expect(await fair.release('I')).to.include({ kind: 'freed' });
      await fair.expectAcquired(fair.tryAcquire('W1'));
      for (const owner of ['W3', 'W2', 'W3']) expect(await fair.tryAcquire(owner)).to.include({ acquired: false });
      await fair.expectQueue({});
      await sleep(600);
      await fair.expectAcquired(fair.tryAcquire('W3'));
      await fair.expectQueue({});
    });

    it('FL-07 testLockAcquiredTimeoutDrift_Descrete', async () => {
      fair.lease = 300_000;
      await fair.expectAcquired(fair.acquire('I'));
      await fair.expectTtl(fair.acquire('W1'), 300_000);
      await fair.expectTtl(fair.acquire('W2'), 305_000);
      expect(await fair.release('I')).to.include({ kind: 'freed' });
      await fair.expectAcquired(fair.acquire('W1'));
      await fair.expectTtl(fair.acquire('W3'), 305_000);
      await fair.expectTtl(fair.acquire('W2'), 300_000);
      await fair.expectTtl(fair.acquire('W3'), 300_000);
    });

    it('FL-08 testAbandonedTimeoutDrift_Descrete', async () => {
      fair.lease = 500;
      fair.wait = 100;
      await fair.expectAcquired(fair.acquire('I'));
      await fair.expectTtl(fair.acquire('W1'), 500);
      await fair.expectTtl(fair.acquire('W2'), 600);
      await fair.expectTtl(fair.acquire('W3'), 700);
      await sleep(600);
      fair.now += 800;
      await fair.expectAcquired(fair.acquire('W3'));
      await fair.expectQueue({});
    });
  });
});
