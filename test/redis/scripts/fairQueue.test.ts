// Ids in titles: test/README.md
import { expect } from 'chai';
import { FairBench } from './FairBench';
import { ownerOf, useBench } from './ScriptBench';

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
      await fair.expectQueued(fair.acquire('C'), 500);
      await fair.expectQueued(fair.acquire('D'), 500);
      expect(await bench().redis.exists(bench().name)).to.equal(0);
    });

    it('is told by whoever finds the lock free, and only the head is', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await bench().redis.del(bench().name);
      await fair.expectQueued(fair.acquire('C'), 500);
      expect(await fair.told()).to.deep.equal(['B']);
      await bench().listen(`*{${bench().name}}:C`);
      await fair.expectQueued(fair.acquire('C'), 500);
      // C would but find the same again, and be told again
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('lets a head that comes in its time have the lock', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      await fair.acquire('C');
      fair.now += 600;
      await fair.acquire('C');
      fair.now += 2_399;
      await fair.expectAcquired(fair.acquire('B'));
    });

    it('has claims that expire: no client may be left to delete them', async () => {
      await fair.acquire('A');
      await fair.acquireAll('B', 'C');
      await fair.release('A');
      const look: (() => Promise<unknown>)[] = [
        () => fair.acquire('C'),
        () => fair.tryAcquire('D'),
        () => fair.check(0),
      ];
      for (const one of look) {
        await bench().redis.del(fair.claims);
        await one();
        expect(await bench().redis.pttl(fair.claims)).to.be.within(1, 10_000);
      }
    });

    it('that is dead is dropped by the check, which tells the one behind it', async () => {
      fair.wait = 100;
      await fair.acquireAll('A', 'B');
      fair.wait = 60_000;
      await fair.acquire('C');
      await bench().redis.del(bench().name);
      fair.now += 30_150;
      await bench().listen(`*{${bench().name}}:C:*`);
      await fair.check(0);
      expect(await bench().redis.lrange(fair.queue, 0, -1)).to.deep.equal([ownerOf('C')]);
      expect(await bench().messages()).to.have.lengthOf(1);
    });

    it('heals a head that has no score, which would block the queue for ever', async () => {
      await bench().redis.rpush(fair.queue, 'gone');
      await fair.expectQueued(fair.acquire('B'), 500);
      fair.now += 500;
      await fair.expectQueued(fair.acquire('B'), 2_500);
      fair.now += 2_501;
      await fair.expectAcquired(fair.acquire('B'));
      await fair.expectQueue({});
    });

    it('drops dead heads, one after the other, and leaves the scores of the others alone', async () => {
      fair.wait = 100;
      await fair.acquireAll('A', 'B', 'C');
      fair.now += 30_150;
      await fair.expectQueued(fair.acquire('D'), 29_100);
      await fair.expectQueue({ C: 50, D: 30_100 });
    });
  });

  describe('A2: heads that do not come', () => {
    /** They queue up, and the lock is given back. */
    async function queueUp(...owners: string[]): Promise<void> {
      fair.wait = 300_000;
      await fair.acquire('holder');
      for (const owner of owners) await fair.acquire(owner);
      await fair.release('holder');
      await bench().messages();
    }
    it('have 3 s together, however many, from the first one who notices', async () => {
      const dead = Array.from({ length: 30 }, (_, i) => `dead${i}`);
      await queueUp(...dead, 'L', 'M');
      await fair.expectQueued(fair.acquire('L'), 500);
      expect(await fair.told()).to.deep.equal(['dead0']);
      fair.now += 500;
      await fair.expectQueued(fair.acquire('L'), 2_500 + 725);
      expect(await fair.told(), 'each once, and nobody behind L').to.deep.equal(dead);
      fair.now += 3_226;
      await fair.expectAcquired(fair.acquire('L'));
      expect(await fair.order()).to.deep.equal(['M']);
    });

    it('are called once, whoever asks how often', async () => {
      await queueUp('F', 'L', 'M');
      await fair.acquire('L');
      fair.now += 500;
      await fair.acquire('M');
      expect(await fair.told()).to.deep.equal(['F', 'F', 'L']);
      for (const owner of ['L', 'M', 'L']) await fair.acquire(owner);
      await fair.tryAcquire('T');
      await fair.check(0);
      expect(await fair.told()).to.deep.equal([]);
    });

    it('and a waiter that answers the call keeps its place, as do those behind it, answered or not', async () => {
      await queueUp('F', 'A', 'G', 'B', 'C');
      await fair.acquire('C');
      fair.now += 500;
      await fair.acquire('C');
      fair.now += 10;
      for (const owner of ['B', 'A']) await fair.acquire(owner);
      expect(await fair.told()).to.deep.equal(['F', 'F', 'A', 'G', 'B']);
      fair.now += 2_600;
      // F's claim has ended. B and C are behind A, which is there.
      for (const owner of ['C', 'B']) expect(await fair.acquire(owner)).to.include({ acquired: false });
      expect(await fair.tryAcquire('T')).to.include({ acquired: false });
      await fair.expectAcquired(fair.acquire('A'));
      // G may be a waiter of Java, who cannot answer: no claim of it runs while somebody has the lock.
      fair.now += 20_000;
      await bench().redis.pexpire(bench().name, 30_000);
      await fair.acquire('C');
      expect(await fair.order()).to.deep.equal(['G', 'B', 'C']);
    });

    it('a waiter of Java behind them gets in while it is the head, told by the call', async () => {
      await queueUp('F', 'J:1', 'L');
      await fair.acquire('L');
      fair.now += 500;
      await fair.expectQueued(fair.acquire('L'), 2_500);
      fair.now += 2_550;
      // It has tried on since it was told, and is in as soon as somebody of ours has dropped F.
      await fair.acquire('L');
      expect(await fair.order()).to.deep.equal(['J:1', 'L']);
      await fair.expectAcquired(fair.tryAcquire('J:1'));
    });

    it('waiters of Java behind them each get their turn as the head, late as anybody of ours may come', async () => {
      await queueUp('F', 'J:1', 'K:1', 'L');
      await fair.acquire('L');
      fair.now += 500;
      await fair.acquire('L');
      fair.now += 2_900;
      await fair.told();
      await fair.expectQueued(fair.acquire('L'), 100);
      expect(await fair.told()).to.deep.equal(['J:1']);
      expect(await fair.order()).to.deep.equal(['J:1', 'K:1', 'L']);
      fair.now += 101;
      await fair.expectQueued(fair.acquire('L'), 100);
      expect(await fair.told()).to.deep.equal(['K:1']);
      fair.now += 101;
      await fair.expectAcquired(fair.acquire('L'));
    });

    it('when Java has got in, no claim counts any more: those behind it have their time again', async () => {
      await queueUp('F', 'J:1', 'K:1', 'L');
      await fair.acquire('L');
      fair.now += 500;
      await fair.acquire('L');
      await fair.expectClaims({ F: [2_500, 2], 'J:1': [2_600, 1], 'K:1': [2_700, 1] });
      const { redis } = bench();
      // As Java acquires: the head goes, everybody moves up by its wait.
      await redis.lpop(fair.queue, 2);
      await redis.zrem(fair.timeouts, ownerOf('F'), 'J:1');
      for (const owner of ['K:1', 'L']) await redis.zincrby(fair.timeouts, -300_000, ownerOf(owner));
      await fair.expectClaims({});
      await redis.hset(bench().name, 'J:1', 1);
      await redis.pexpire(bench().name, 30_000);
      fair.now += 20_000;
      await fair.acquire('L');
      expect(await fair.order()).to.deep.equal(['K:1', 'L']);
      for (const owner of ['K:1', 'L']) expect((await fair.scoreOf(owner)) - fair.now, owner).to.be.above(30_000);
      expect(await redis.exists(fair.claims), 'they are deleted by the first of ours that comes').to.equal(0);
    });

    it('a waiter of Java that came behind a probed one and died costs as much again, not its whole wait', async () => {
      await queueUp('F', 'G');
      await fair.tryAcquire('T');
      fair.now += 500;
      await fair.tryAcquire('T');
      const { redis } = bench();
      // As Java queues: its score is that of the one ahead and its own wait.
      await redis.rpush(fair.queue, 'J:1');
      await redis.zadd(fair.timeouts, (await fair.scoreOf('G')) + 300_000, 'J:1');
      await fair.acquire('L');
      fair.now += 2_601;
      await fair.expectQueued(fair.acquire('L'), 500);
      fair.now += 500;
      await fair.expectQueued(fair.acquire('L'), 2_500);
      fair.now += 2_501;
      await fair.expectAcquired(fair.acquire('L'));
    });

    it('a score that Java set with a fraction, or beyond all clocks, is a score like any other', async () => {
      await queueUp('F', 'G');
      await bench().redis.zadd(fair.timeouts, fair.now + 1_000.5, ownerOf('F'), 1e15, ownerOf('G'));
      await fair.expectTtl(fair.tryAcquire('T'), 500);
      await fair.expectClaims({ F: [3_000, 0] });
      fair.now += 1_001;
      await fair.expectTtl(fair.tryAcquire('T'), 500);
      expect(await fair.order()).to.deep.equal(['G']);
      await fair.expectClaims({ G: [3_000, 0] });
    });

    it('C6: who queues behind a claim is placed by the score, not by the claim', async () => {
      await queueUp('F');
      await fair.tryAcquire('T');
      fair.wait = 1_000;
      await fair.acquire('L');
      await fair.expectQueue({ F: 330_000, L: 331_000 });
    });

    it('end for single attempts alone, too, which queue nowhere', async () => {
      await queueUp('F', 'G');
      await fair.expectTtl(fair.tryAcquire('T'), 500);
      fair.now += 500;
      await fair.expectTtl(fair.tryAcquire('T'), 2_600);
      fair.now += 2_601;
      await fair.expectAcquired(fair.tryAcquire('T'));
      await fair.expectQueue({});
    });

    it('are looked for by the one who gave the lock back, while all others sleep', async () => {
      await queueUp('F', 'G', 'L');
      expect(await fair.check(300)).to.be.closeTo(200, 1);
      expect(await fair.told()).to.deep.equal(['F']);
      fair.now += 200;
      expect(await fair.check(0)).to.be.closeTo(2_700, 1);
      expect(await fair.told()).to.deep.equal(['F', 'G', 'L']);
      await fair.acquire('L');
      fair.now += 2_601;
      await fair.expectAcquired(fair.acquire('L'));
      expect(await fair.check(0), 'held').to.equal(0);
      await fair.release('L');
      expect(await fair.check(0), 'nobody waits').to.equal(0);
    });
  });

  describe('a patient waiter', () => {
    it('that comes back moves its score and those behind it, so that it is not purged, nor are they', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      // the holder goes on; 34 s later both scores would pass soon
      fair.now += 34_000;
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
      await fair.expectQueued(fair.acquire('C'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
    });

    it('keeps its place even when it comes after its score has passed', async () => {
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      fair.now += 100_000;
      await fair.expectQueued(fair.acquire('B'), 30_000);
      await fair.expectQueue({ B: 35_000, C: 40_000 });
    });

    it('keeps its place where it has seen a long lease, and those ahead of it take shorter ones', async () => {
      fair.lease = 1_000;
      await fair.acquire('A');
      await fair.acquire('B');
      await fair.acquire('C');
      await fair.release('A');
      fair.lease = 30_000;
      await fair.expectAcquired(fair.acquire('B'));
      const reply = await fair.acquire('D');
      const { ttl } = reply as { ttl: number };
      await fair.release('B');
      Object.assign(fair, { lease: 1_000, slept: 1_000 });
      await fair.expectAcquired(fair.acquire('C'));
      // C is renewed. D sleeps as long as it was told, and another one comes just before it wakes.
      await bench().redis.pexpire(bench().name, 60_000);
      fair.now += ttl - 1;
      await fair.acquire('E');
      expect(await fair.order()).to.deep.equal(['D', 'E']);
    });

    it('is told to come back before its score passes', async () => {
      for (const wait of [100, 1_000, 5_000, 300_000]) {
        const { redis } = bench();
        await redis.del(bench().name, fair.queue, fair.timeouts);
        fair.wait = wait;
        await fair.acquire('A');
        await fair.acquireWhile(1_000, 'B');
        for (let round = 0; round < 5; round++) {
          const reply = await fair.acquireWhile(1_000, 'B');
          if (reply.acquired) throw new Error('B got in');
          const left = (await fair.scoreOf('B')) - fair.now;
          expect(left - reply.ttl, `wait ${wait}`).to.be.at.least(Math.min(999, left / 2 - 1));
          fair.now += reply.ttl;
        }
        expect(await fair.order()).to.deep.equal(['B']);
      }
    });

    it('gets in in its turn however long the holder goes on, by its own attempts alone', async () => {
      fair.wait = 1_500;
      const startedAt = fair.now;
      await fair.acquire('A');
      const owners = ['B', 'C', 'D'];
      const entered: string[] = [];
      const due = new Map(owners.map((owner) => [owner, startedAt]));
      /** The next one comes when it was told to, a little late, as timers are. */
      const comeBack = async (before = Infinity): Promise<boolean> => {
        const [owner, at] = [...due].reduce((one, other) => (other[1] < one[1] ? other : one));
        if (at > before) return false;
        fair.now = at;
        // The holder has a lease of 300 ms, and renews it every 100 ms.
        const reply = await (before < Infinity
          ? fair.acquireWhile(300 - ((at - startedAt) % 100), owner)
          : fair.acquire(owner));
        if (!reply.acquired) due.set(owner, at + reply.ttl + 20);
        else {
          due.delete(owner);
          entered.push(owner);
          await fair.release(owner);
        }
        return due.size > 0;
      };
      // the last one's score would have passed after 4.8 s
      while (await comeBack(startedAt + 5_200));
      expect(await fair.order()).to.deep.equal(owners);
      await fair.release('A');
      while (await comeBack());
      expect(entered).to.deep.equal(owners);
    });

    it('is not purged by one behind it that comes at the same moment, when the one before it has got in', async () => {
      Object.assign(fair, { wait: 1_500, lease: 300 });
      await fair.acquireAll('A', 'B', 'C', 'D');
      // the holder went on for a while, but not for half a wait
      fair.now += 600;
      await fair.release('A');
      await fair.expectQueued(fair.acquire('C'), 500);
      await fair.expectQueued(fair.acquire('D'), 500);
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
      const score = await fair.scoreOf('B');
      fair.now += 2_000;
      await fair.acquire('B');
      expect(await fair.scoreOf('B')).to.equal(score);
    });

    describe('C6: behind waiters that may be of Java', () => {
      /** As Java subtracts its wait from the scores behind it, whatever it has added. */
      async function javaGoes(leaver: string, waitMs: number, behind: readonly string[]): Promise<void> {
        const { redis } = bench();
        await redis.lrem(fair.queue, 0, leaver);
        await redis.zrem(fair.timeouts, leaver);
        for (const owner of behind) await redis.zincrby(fair.timeouts, -waitMs, ownerOf(owner));
      }

      it('keeps 300 s more for each, and looks again as if it had not', async () => {
        await fair.acquire('A');
        await fair.acquire('J:1');
        await fair.acquire('K:1');
        await fair.acquire('L');
        await fair.expectQueue({ 'J:1': 35_000, 'K:1': 335_000, L: 635_000 });
        await fair.expectQueued(fair.acquire('L'), 30_000);
        fair.lease = 300_000;
        await bench().redis.pexpire(bench().name, 300_000);
        await fair.expectQueued(fair.acquire('L'), 300_000);
        await fair.expectQueue({ 'J:1': 35_000, 'K:1': 335_000, L: 905_000 });
      });

      it('stays in the queue, although Java takes 300 s off for 5 s that it had put on', async () => {
        await fair.acquire('A');
        await fair.acquire('J:1');
        await fair.acquire('L');
        await javaGoes('J:1', 300_000, ['L']);
        await fair.expectQueue({ L: 35_000 });
        fair.now += 30_000;
        expect(await fair.tryAcquire('T')).to.include({ acquired: false });
        expect(await fair.order()).to.deep.equal(['L']);
      });

      it('counts nobody of its own client, and nobody whose thread id only this package makes', async () => {
        await fair.acquire('A');
        await fair.acquire('uuid:7');
        await fair.acquire('other');
        await fair.acquire('uuid:8');
        await fair.expectQueue({ 'uuid:7': 35_000, other: 335_000, 'uuid:8': 340_000 });
      });
    });

    it('behind a dead one is not lifted by it', async () => {
      await fair.acquireAll('A', 'dead', 'C');
      fair.now += 34_000;
      await fair.acquire('C');
      await fair.expectQueue({ dead: 1_000, C: 35_000 });
      fair.now += 1_300;
      await fair.acquire('C');
      expect(await fair.order()).to.deep.equal(['C']);
    });
  });

  describe('conformance', () => {
    it('FL-05 testAcquireFailedTimeoutDrift_Descrete', async () => {
      await fair.expectAcquired(fair.acquire('I'));
      await fair.expectQueued(fair.acquire('W1'), 30_000);
      for (const owner of ['W2', 'W3', 'W4']) await fair.expectQueued(fair.acquire(owner), 30_000);
      await fair.expectQueue({ W1: 35_000, W2: 40_000, W3: 45_000, W4: 50_000 });
      await fair.abandon('W2', 5_000);
      for (const owner of ['W1', 'W3', 'W4']) await fair.expectQueued(fair.acquire(owner), 30_000);
      await fair.expectQueue({ W1: 35_000, W3: 40_000, W4: 45_000 });
      expect(await fair.release('I')).to.include({ kind: 'released' });
      await fair.expectAcquired(fair.acquire('W1'));
      for (const owner of ['W3', 'W4']) await fair.expectQueued(fair.acquire(owner), 30_000);
      await fair.expectQueue({ W3: 35_000, W4: 40_000 });
    });

    it('FL-06 testLockAcquiredBooleanTimeoutDrift_Descrete', async () => {
      await fair.expectAcquired(fair.tryAcquire('I'));
      expect(await fair.tryAcquire('W1')).to.include({ acquired: false });
      expect(await fair.tryAcquire('W2')).to.include({ acquired: false });
      expect(await fair.release('I')).to.include({ kind: 'released' });
      await fair.expectAcquired(fair.tryAcquire('W1'));
      for (const owner of ['W3', 'W2', 'W3']) expect(await fair.tryAcquire(owner)).to.include({ acquired: false });
      await fair.expectQueue({});
      // The lease ends.
      await bench().redis.del(bench().name);
      await fair.expectAcquired(fair.tryAcquire('W3'));
      await fair.expectQueue({});
    });

    it('FL-07 testLockAcquiredTimeoutDrift_Descrete', async () => {
      fair.lease = 300_000;
      await fair.expectAcquired(fair.acquire('I'));
      await fair.expectQueued(fair.acquire('W1'), 300_000);
      await fair.expectQueued(fair.acquire('W2'), 300_000);
      expect(await fair.release('I')).to.include({ kind: 'released' });
      await fair.expectAcquired(fair.acquire('W1'));
      await fair.expectQueued(fair.acquire('W3'), 300_000);
      await fair.expectQueued(fair.acquire('W2'), 300_000);
      await fair.expectQueued(fair.acquire('W3'), 300_000);
    });

    it('FL-08 testAbandonedTimeoutDrift_Descrete', async () => {
      fair.wait = 100;
      await fair.expectAcquired(fair.acquire('I'));
      for (const owner of ['W1', 'W2', 'W3']) expect(await fair.acquire(owner)).to.include({ acquired: false });
      // The lease ends, and then all of them are late.
      await bench().redis.del(bench().name);
      fair.now += 30_300;
      await fair.expectAcquired(fair.acquire('W3'));
      await fair.expectQueue({});
    });
  });

  it('G-15: a server whose clock is set by 10 s may cost a place in the queue, never the exclusion', async () => {
    const right = fair.now;
    await fair.expectAcquired(fair.acquire('A'));
    await fair.expectQueued(fair.acquire('B'), 30_000);
    for (const skew of [10_000, -10_000]) {
      fair.now = right + skew;
      expect(await fair.acquire('C')).to.include({ acquired: false });
      expect(await fair.tryAcquire('C')).to.include({ acquired: false });
      expect(await fair.holders()).to.deep.equal({ A: '1' });
    }
    fair.now = right;
    expect(await fair.release('A')).to.include({ kind: 'released' });
    expect(await fair.acquire('C')).to.include({ acquired: false });
    await fair.expectAcquired(fair.acquire('B'));
  });
});
