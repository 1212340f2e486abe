import { expect } from 'chai';
import { DisLock, LockLostError, LockTimeoutError, type Redisson } from '../../../lib';
import { monitor, monotonicNow, redisUrl, risen, sleep, sleepUntil } from '../../support';
import { bareClient, rejection } from '../synchronizers/support';
import { openDisLock } from './support';

describe('@DisLock: the life of the lock', () => {
  let client: Redisson;
  let name: string;

  beforeEach(() => {
    ({ client, name } = openDisLock());
  });

  it('renews the lock of a method that takes longer than lockWatchdogTimeout', async () => {
    class Job {
      @DisLock({ key: name, lockWatchdogTimeout: 6_000 })
      async run(): Promise<void> {
        const lock = client.getLock(name);
        expect(await lock.remainTimeToLive()).to.be.within(1, 6_000);
        await sleepUntil(risen(() => lock.remainTimeToLive()));
      }
    }
    await new Job().run();
    expect(await client.getLock(name).isLocked()).to.equal(false);
  });

  it('gives the lock up after maxRenewTimes, and tells it', async () => {
    const lost: string[] = [];
    client.onLockLost((event) => lost.push(event.name));
    const redis = bareClient();
    let left = 0;
    class Job {
      @DisLock({ key: name, lockWatchdogTimeout: 4_500, maxRenewTimes: 1 })
      async run(): Promise<void> {
        await sleepUntil(() => lost.length > 0);
        left = await redis.pttl(name);
      }
    }
    const error = await rejection(new Job().run());
    expect(error).to.be.instanceOf(LockLostError).with.property('message').that.includes('maxRenewTimes');
    // While the method runs it is left to expire, which no second renewal has put off.
    expect(left).to.be.within(1, 3_750);
    expect(lost).to.deep.equal([name]);
  });

  it('does not renew a lock with expire, and tells when the method outlived it', async () => {
    const watch = await monitor(redisUrl());
    const redis = bareClient();
    class Job {
      @DisLock({ key: name, expire: 3_000 })
      async run(ms: number): Promise<string> {
        expect(await redis.pttl(name)).to.be.within(1, 3_000);
        await sleep(ms);
        return 'done';
      }
    }
    expect(await new Job().run(5)).to.equal('done');
    expect(await client.getLock(name).isLocked()).to.equal(false);
    expect(await rejection(new Job().run(3_100))).to.be.instanceOf(LockLostError);
    const scripts = (await watch.sentNames()).filter((one) => one.startsWith('eval'));
    expect(scripts).to.have.length.within(3, 5);
    watch.stop();
  });

  describe('with ifExpireWhenFinish: false', () => {
    it('leaves the lock to run out: renewal stops, nothing is released, nothing is lost', async () => {
      const lost: unknown[] = [];
      client.onLockLost((event) => lost.push(event));
      const redis = bareClient();
      let runs = 0;
      class Job {
        @DisLock({ key: name, lockWatchdogTimeout: 4_500, ifExpireWhenFinish: false, waitTime: 0 })
        async run(): Promise<string> {
          runs += 1;
          return 'done';
        }
      }
      expect(await new Job().run()).to.equal('done');
      const left = await redis.pttl(name);
      expect(left).to.be.within(2_000, 4_500);
      expect(await rejection(new Job().run())).to.be.instanceOf(LockTimeoutError);
      // Past the next renewal: none came.
      await sleep(1_700);
      expect(await redis.pttl(name)).to.be.below(left - 1_650);
      await redis.pexpire(name, 1);
      await sleepUntil(async () => (await redis.exists(name)) === 0);
      await new Job().run();
      expect(runs).to.equal(2);
      await sleep(50);
      expect(lost).to.deep.equal([]);
      await redis.del(name);
    });

    it('leaves a lock with expire as it is', async () => {
      const redis = bareClient();
      class Job {
        @DisLock({ key: name, expire: 3_000, ifExpireWhenFinish: false, waitTime: 10_000 })
        async run(): Promise<void> {
          await sleep(20);
        }
      }
      const startedAt = monotonicNow();
      await new Job().run();
      expect(await redis.pttl(name)).to.be.within(1, 2_985);
      await new Job().run();
      expect(monotonicNow() - startedAt).to.be.within(3_000, 8_000);
      await redis.del(name);
    });

    it('leaves it also when the method fails, and passes the error through', async () => {
      const redis = bareClient();
      class Job {
        @DisLock({ key: name, ifExpireWhenFinish: false })
        async run(): Promise<void> {
          throw new Error('no');
        }
      }
      expect((await rejection(new Job().run())).message).to.equal('no');
      expect(await redis.pttl(name)).to.be.greaterThan(20_000);
      expect(await client.getLock(name).forceUnlock()).to.equal(true);
    });

    it('leaves one of several holds of a thread: the others are released as ever', async () => {
      const redis = bareClient();
      class Job {
        @DisLock({ key: name, lockWatchdogTimeout: 6_000, ifExpireWhenFinish: false })
        async inner(): Promise<void> {
          await sleep(1);
        }
        @DisLock({ key: name })
        async outer(): Promise<void> {
          await this.inner();
          expect(await client.getLock(name).getHoldCount()).to.equal(2);
        }
      }
      await client.runInThread(async () => {
        await new Job().outer();
        expect(await client.getLock(name).getHoldCount()).to.equal(1);
        expect(await redis.pttl(name)).to.be.within(1, 6_000);
        const lock = client.getLock(name);
        await lock.lock();
        await new Job().inner();
        await lock.unlock();
        // What is left are the two that nobody gives back; who insists may.
        expect(await lock.getHoldCount()).to.equal(2);
        await lock.unlock();
        await lock.unlock();
        expect(await lock.isLocked()).to.equal(false);
      });
    });
  });
});
