import { expect } from 'chai';
import { sleep } from '../../support';
import { FairBench } from './FairBench';
import { useBench } from './ScriptBench';

describe('fair lock scripts: the queue', () => {
  const bench = useBench();
  let fair: FairBench;
  beforeEach(() => {
    fair = new FairBench(bench());
  });

  describe('the head of a free lock', () => {
    it('does not pass the head of a free lock, and says when to look again', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.expectTtl(fair.acquire('C'), 3_000);
      await fair.expectTtl(fair.acquire('D'), 3_000);
      expect(await bench().redis.exists(bench().name)).to.equal(0);
    });

    it('is told by whoever finds the lock free, and only the head is', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await bench().redis.del(bench().name);
      await fair.expectTtl(fair.acquire('C'), 3_000);
      expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x}:B 0']);
      await bench().listen(`*{${bench().name}}:C`);
      await fair.expectTtl(fair.acquire('C'), 3_000);
      // C would but find the same again, and be told again
      expect(await bench().messages()).to.deep.equal([]);
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

    it('gets in in its turn however long the holder goes on, by its own attempts alone', async () => {
      // It may come back as late as half a wait before its score passes: room for a machine that is busy.
      fair.wait = 1_500;
      fair.lease = 300;
      fair.now = Date.now();
      await fair.acquire('A');
      const entered: string[] = [];
      const comeBackUntilIn = async (owner: string): Promise<void> => {
        fair.now = Date.now();
        const reply = await fair.acquire(owner);
        if (!reply.acquired) return sleep(reply.ttl).then(() => comeBackUntilIn(owner));
        entered.push(owner);
        await fair.release(owner);
      };
      const owners = ['B', 'C', 'D'];
      const inside = Promise.all(owners.map(comeBackUntilIn));
      // the last one's score would have passed after 4.8 s
      for (let renewal = 0; renewal < 52; renewal++) {
        await bench().redis.pexpire(bench().name, fair.lease);
        await sleep(100);
      }
      expect(await bench().redis.lrange(fair.queue, 0, -1)).to.deep.equal(owners);
      fair.now = Date.now();
      await fair.release('A');
      await inside;
      expect(entered).to.deep.equal(owners);
    });

    it('is not purged by one behind it that comes at the same moment, when the one before it has got in', async () => {
      Object.assign(fair, { wait: 1_500, lease: 300 });
      for (const owner of ['A', 'B', 'C', 'D']) await fair.acquire(owner);
      // the holder went on for a while, but not for half a wait
      fair.now += 600;
      await fair.release('A');
      for (const owner of ['C', 'D']) await fair.expectTtl(fair.acquire(owner), 1_200);
      fair.now += 100;
      await fair.expectAcquired(fair.acquire('B'));
      await fair.expectQueue({ C: 3_300, D: 4_800 });
      // B dies; both come when they were told to, and the last one is the first
      await bench().redis.del(bench().name);
      fair.now += 1_101;
      await fair.acquire('D');
      await fair.expectAcquired(fair.acquire('C'));
      await fair.expectQueue({ D: 3_300 });
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

  it('G-15: a client whose clock is 10 s off may cost a place in the queue, never the exclusion', async () => {
    const right = fair.now;
    await fair.expectAcquired(fair.acquire('A'));
    await fair.expectTtl(fair.acquire('B'), 30_000);
    for (const skew of [10_000, -10_000]) {
      fair.now = right + skew;
      expect(await fair.acquire('C')).to.include({ acquired: false });
      expect(await fair.tryAcquire('C')).to.include({ acquired: false });
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ A: '1' });
    }
    fair.now = right;
    expect(await fair.release('A')).to.include({ kind: 'freed' });
    expect(await fair.acquire('C')).to.include({ acquired: false });
    await fair.expectAcquired(fair.acquire('B'));
  });
});
