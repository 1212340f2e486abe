import { expect } from 'chai';
import { CommandError, ConfigError, LockTimeoutError } from '../../lib';
import { monitor, redisUrl } from '../support';
import { Inside, newClient, rejection, untilListening } from '../redis/synchronizers/support';
import { useSemaphoreStage } from './SemaphoreStage';
import type { SemaphoreFactory } from './SemaphoreUnderTest';
import { semaphoreWaitSuite } from './semaphoreWaitContract';
import { monotonicNow, onServer, sleep } from './world';

/** What holds for both kinds of semaphore. */
export function semaphoreSuite(make: SemaphoreFactory): void {
  const stage = useSemaphoreStage(make);

  describe('acquiring', () => {
    onServer('takes what is there in one command, and leaves the rest', async () => {
      const { semaphore } = stage();
      await semaphore.trySetPermits(3);
      const watch = await monitor(redisUrl());
      const taken = await semaphore.acquire(2);
      expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(1, 2);
      watch.stop();
      expect(await semaphore.availablePermits()).to.equal(1);
      expect(await semaphore.tryAcquire(2)).to.equal(undefined);
      await semaphore.release(taken);
      expect(await semaphore.availablePermits()).to.equal(3);
    });

    it('lets at most so many in at once', async () => {
      const { client, name, semaphore } = stage();
      await semaphore.trySetPermits(3);
      const inside = new Inside();
      await Promise.all(
        Array.from({ length: 30 }, async () => {
          const taken = await make(client, name).acquire();
          await inside.run();
          await semaphore.release(taken);
        }),
      );
      expect(inside.most).to.equal(3);
      expect(await semaphore.availablePermits()).to.equal(3);
    });

    onServer('is woken by a release of another client, with one attempt and without polling', async () => {
      const { redis, name, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const other = make(newClient(), name);
      const taken = await other.acquire();
      const waiting = semaphore.acquire();
      await untilListening(redis, channel);
      await sleep(100);
      const watch = await monitor(redisUrl());
      await sleep(150);
      expect(await watch.sent()).to.deep.equal([]);
      const releasedAt = monotonicNow();
      await other.release(taken);
      await waiting;
      expect(monotonicNow() - releasedAt).to.be.below(1_000);
      expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(2, 3);
      watch.stop();
      await untilListening(redis, channel, 0);
    });

    it('wakes as many waiters by one message as there are permits then', async () => {
      const { redis, name, semaphore, channel } = stage();
      const waiting = [1, 2, 3].map(() => semaphore.acquire());
      await untilListening(redis, channel);
      await sleep(50);
      await make(newClient(), name).trySetPermits(3);
      await Promise.all(waiting);
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('wakes the waiters of several clients', async () => {
      const { client, redis, name, semaphore, channel } = stage();
      const waiting = [client, newClient(), newClient()].map((one) => make(one, name).acquire());
      await untilListening(redis, channel, 3);
      await sleep(50);
      await semaphore.trySetPermits(3);
      await Promise.all(waiting);
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('lets one in per permit, also where a message comes while the woken one attempts', async () => {
      const { redis, name, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const waiting = [1, 2, 3].map(() => semaphore.acquire());
      await untilListening(redis, channel);
      await sleep(50);
      // As a Java client tells of what it adds: the number added. All three come before the first attempt is answered.
      await Promise.all([1, 2, 3].flatMap(() => [redis.incrby(name, 1), redis.publish(channel, '1')]));
      await Promise.all(waiting);
      expect(await semaphore.availablePermits()).to.equal(0);
      await semaphore.release(taken);
    });

    it('hands a wake-up that is not enough for a big request to a small one behind it', async () => {
      const { redis, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const big = semaphore.acquire(3);
      await untilListening(redis, channel);
      await sleep(30);
      const small = semaphore.acquire();
      await sleep(30);
      await semaphore.release(taken);
      await small;
      await semaphore.addPermits(3);
      await big;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('does not let a small request wait for a big one before it', async () => {
      const { redis, name, semaphore, channel } = stage();
      const big = semaphore.acquire(5);
      await untilListening(redis, channel);
      await sleep(30);
      const small = [semaphore.acquire(2), semaphore.acquire(1)];
      await sleep(30);
      await make(newClient(), name).trySetPermits(3);
      await Promise.all(small);
      expect(await semaphore.availablePermits()).to.equal(0);
      await semaphore.addPermits(5);
      await big;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('lets a big request in when enough has gathered, whoever tried in between', async () => {
      const { redis, semaphore, channel } = stage();
      await semaphore.trySetPermits(5);
      const taken = await Promise.all([1, 2, 3, 4, 5].map(() => semaphore.acquire()));
      const big = semaphore.acquire(5);
      await untilListening(redis, channel);
      for (const one of taken) {
        await sleep(10);
        await semaphore.release(one);
      }
      await big;
      expect(await semaphore.availablePermits()).to.equal(0);
    });
  });

  describe('withPermits', () => {
    it('runs the work with permits, and releases them whatever happens', async () => {
      const { semaphore } = stage();
      await semaphore.trySetPermits(3);
      const inside = new Inside();
      await Promise.all(Array.from({ length: 10 }, () => semaphore.withPermits(1, () => inside.run())));
      expect(inside.most).to.equal(3);
      expect(await semaphore.withPermits(2, () => semaphore.availablePermits())).to.equal(1);
      const failure = new Error('no');
      expect(await rejection(semaphore.withPermits(3, () => Promise.reject(failure)))).to.equal(failure);
      expect(await semaphore.availablePermits()).to.equal(3);
    });

    it('rejects with LockTimeoutError when they are not there in time, and with the reason of an abort', async () => {
      const { semaphore, redis, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      let ran = 0;
      const work = (): number => (ran += 1);
      const error = await rejection(semaphore.withPermits(1, work, { waitTime: 500 }));
      expect(error).to.be.instanceOf(LockTimeoutError);
      expect(error).to.include({ reason: 'held', waitTime: 500 });
      expect(error.message).to.match(
        /^1 permit of semaphore '.*' was not acquired within 500 ms: too few are free\. Others hold/,
      );
      expect(await rejection(semaphore.withPermits(1, work, { waitTime: -1 }))).to.be.instanceOf(LockTimeoutError);
      const aborting = new AbortController();
      const waiting = semaphore.withPermits(1, work, { signal: aborting.signal });
      await untilListening(redis, channel);
      aborting.abort(new Error('enough'));
      expect(await rejection(waiting)).to.have.property('message', 'enough');
      expect(ran).to.equal(0);
      await semaphore.release(taken);
      await untilListening(redis, channel, 0);
      expect(await semaphore.withPermits(1, work, { waitTime: 20_000 })).to.equal(1);
    });

    it('refuses bad input at the call', async () => {
      const { semaphore } = stage();
      await semaphore.trySetPermits(1);
      for (const permits of [-1, 1.5, NaN, '1', null] as number[]) {
        expect(await rejection(semaphore.withPermits(permits, () => 1))).to.be.instanceOf(RangeError);
      }
      // C17: the last two have no options at all.
      for (const options of [5, { wait: 5 }, { permits: 1 }, { leaseTime: 5 }, [], new Map()] as object[]) {
        expect(await rejection(semaphore.withPermits(1, () => 1, options))).to.be.instanceOf(ConfigError);
      }
      expect(await rejection(semaphore.withPermits(1, 5 as never))).to.be.instanceOf(TypeError);
      expect(await rejection(semaphore.withPermits(1, () => 1, { unit: 'SECONDS' as never }))).to.be.instanceOf(
        TypeError,
      );
      expect(await semaphore.withPermits(0, () => 'none')).to.equal('none');
      expect(await semaphore.availablePermits()).to.equal(1);
    });
  });

  describe('bad input', () => {
    onServer('refuses negative and non-integer numbers, and changes nothing', async () => {
      const { semaphore } = stage();
      await semaphore.trySetPermits(2);
      const watch = await monitor(redisUrl());
      for (const permits of [-1, 1.5, NaN, Infinity, 2 ** 60, '1', null] as number[]) {
        expect(await rejection(semaphore.acquire(permits))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.tryAcquire(permits))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.tryAcquire(permits, 10))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.trySetPermits(permits))).to.be.instanceOf(RangeError);
      }
      for (const permits of [1.5, NaN, Infinity, '1'] as number[]) {
        expect(await rejection(semaphore.addPermits(permits))).to.be.instanceOf(RangeError);
      }
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
    });

    onServer('acquires no permits without asking Redis', async () => {
      const { redis, name, semaphore } = stage();
      const watch = await monitor(redisUrl());
      const nothing = await semaphore.acquire(0);
      expect(await semaphore.tryAcquire(0)).to.deep.equal(nothing);
      expect(await semaphore.tryAcquire(0, 1_000)).to.deep.equal(nothing);
      await semaphore.release(nothing);
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
      expect(await redis.exists(name)).to.equal(0);
    });

    it('refuses a key of another type, says so, and touches nothing', async () => {
      const { redis, name, semaphore, channel } = stage();
      await redis.hset(name, 'a', '1');
      for (const call of [semaphore.acquire(), semaphore.tryAcquire(1, 50), semaphore.availablePermits()]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(CommandError);
        expect((error.cause as Error).message).to.include('WRONGTYPE');
      }
      for (const call of [semaphore.trySetPermits(1), semaphore.addPermits(1), semaphore.delete()]) {
        expect(await rejection(call)).to.be.instanceOf(CommandError);
      }
      expect(await redis.hgetall(name)).to.deep.equal({ a: '1' });
      await untilListening(redis, channel, 0);
    });
  });

  semaphoreWaitSuite(make, stage);
}
