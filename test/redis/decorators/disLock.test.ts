import { expect } from 'chai';
import { ConfigError, DisLock, LockLostError, LockTimeoutError, type Redisson } from '../../../lib';
import { monitor, monotonicNow, redisUrl, sleep, sleepUntil, uniqueName } from '../../support';
import { bareClient, Inside, newClient, rejection } from '../synchronizers/support';

describe('@DisLock', () => {
  let client: Redisson;
  let name: string;

  beforeEach(() => {
    client = newClient();
    name = uniqueName();
    DisLock.use(client);
  });

  afterEach(async () => {
    DisLock.use(undefined);
  });

  it('runs calls of one key one after the other, over all instances and clients', async () => {
    const inside = new Inside();
    class Job {
      @DisLock({ key: name })
      async run(): Promise<void> {
        await inside.run(2);
      }
    }
    class Other {
      @DisLock({ key: () => name, client: newClient() })
      async run(): Promise<void> {
        await inside.run(2);
      }
    }
    const jobs = [new Job(), new Job(), new Other()];
    await Promise.all(Array.from({ length: 21 }, (_, i) => jobs[i % 3]!.run()));
    expect(inside).to.include({ runs: 21, most: 1 });
    expect(await client.getLock(name).isLocked()).to.equal(false);
  });

  it('runs calls of different keys at the same time', async () => {
    const inside = new Inside();
    class Job {
      @DisLock({ key: (id: string, n: number) => `${name}:${id}:${n}` })
      async run(_id: string, _n: number): Promise<void> {
        await inside.run(30);
      }
    }
    const job = new Job();
    await Promise.all([job.run('a', 1), job.run('a', 2), job.run('b', 1)]);
    expect(inside.most).to.equal(3);
  });

  it('passes this, the arguments and the value through, and keeps the name of the method', async () => {
    class Account {
      #balance = 5;
      @DisLock({ key: name })
      async add(amount: number, ...more: number[]): Promise<number> {
        this.#balance += [amount, ...more].reduce((sum, one) => sum + one);
        return this.#balance;
      }
    }
    const account = new Account();
    expect(await account.add(1, 2, 3)).to.equal(11);
    expect(account.add.name).to.equal('add');
  });

  it('passes errors through, thrown at once too, and releases the lock', async () => {
    const reason = new Error('no');
    class Job {
      @DisLock({ key: name })
      async fails(): Promise<void> {
        throw reason;
      }
      @DisLock({ key: name })
      throws(): Promise<void> {
        throw reason;
      }
    }
    expect(await rejection(new Job().fails())).to.equal(reason);
    expect(await rejection(new Job().throws())).to.equal(reason);
    expect(await client.getLock(name).isLocked()).to.equal(false);
  });

  it('decorates static and private methods', async () => {
    class Job {
      @DisLock({ key: name })
      static async held(): Promise<boolean> {
        return client.getLock(name).isHeldByCurrentThread();
      }
      @DisLock({ key: name })
      async #held(): Promise<boolean> {
        return client.getLock(name).isHeldByCurrentThread();
      }
      @DisLock({ key: name })
      static async #own(): Promise<string> {
        return this.name;
      }
      held(): Promise<boolean> {
        return this.#held();
      }
      static own(): Promise<string> {
        return this.#own();
      }
    }
    expect(await Job.held()).to.equal(true);
    expect(await new Job().held()).to.equal(true);
    expect(await Job.own()).to.equal('Job');
  });

  it('re-enters: decorated methods of one key may call each other', async () => {
    class Tree {
      @DisLock({ key: name, waitTime: 1_000 })
      async depth(n: number): Promise<number> {
        expect(await client.getLock(name).getHoldCount()).to.equal(3 - n + 1);
        return n === 0 ? 0 : 1 + (await this.depth(n - 1));
      }
    }
    expect(await new Tree().depth(3)).to.equal(3);
    expect(await client.getLock(name).isLocked()).to.equal(false);
  });

  it('waits no longer than waitTime, and does not run the method then', async () => {
    let runs = 0;
    class Job {
      @DisLock({ key: name, waitTime: 100 })
      async waits(): Promise<void> {
        runs += 1;
      }
      @DisLock({ key: name, waitTime: 0 })
      async tries(): Promise<void> {
        runs += 1;
      }
    }
    const job = new Job();
    await client.getLock(name).withLock(async () => {
      await client.runInThread(async () => {
        const startedAt = monotonicNow();
        expect(await rejection(job.tries())).to.be.instanceOf(LockTimeoutError);
        expect(monotonicNow() - startedAt).to.be.below(90);
        const error = await rejection(job.waits());
        expect(error).to.be.instanceOf(LockTimeoutError).with.property('message').that.includes(name);
        expect(monotonicNow() - startedAt).to.be.within(99, 2_000);
      });
    });
    expect(runs).to.equal(0);
    await job.tries();
    await job.waits();
    expect(runs).to.equal(2);
  });

  it('renews the lock of a method that takes longer than lockWatchdogTimeout', async () => {
    class Job {
      @DisLock({ key: name, lockWatchdogTimeout: 150 })
      async run(): Promise<number> {
        await sleep(500);
        return client.getLock(name).remainTimeToLive();
      }
    }
    expect(await new Job().run()).to.be.within(1, 150);
    expect(await client.getLock(name).isLocked()).to.equal(false);
  });

  it('gives the lock up after maxRenewTimes, and tells it', async () => {
    const lost: string[] = [];
    client.onLockLost((event) => lost.push(event.name));
    let free = false;
    class Job {
      @DisLock({ key: name, lockWatchdogTimeout: 120, maxRenewTimes: 2 })
      async run(): Promise<void> {
        await sleepUntil(async () => !(await client.getLock(name).isLocked()));
        free = true;
      }
    }
    const error = await rejection(new Job().run());
    expect(error).to.be.instanceOf(LockLostError).with.property('message').that.includes('maxRenewTimes');
    expect(free).to.equal(true);
    expect(lost).to.deep.equal([name]);
  });

  it('does not renew a lock with expire, and tells when the method outlived it', async () => {
    const watch = await monitor(redisUrl());
    class Job {
      @DisLock({ key: name, expire: 200 })
      async run(ms: number): Promise<string> {
        expect(await client.getLock(name).remainTimeToLive()).to.be.within(1, 200);
        await sleep(ms);
        return 'done';
      }
    }
    expect(await new Job().run(5)).to.equal('done');
    expect(await client.getLock(name).isLocked()).to.equal(false);
    expect(await rejection(new Job().run(300))).to.be.instanceOf(LockLostError);
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
        @DisLock({ key: name, lockWatchdogTimeout: 400, ifExpireWhenFinish: false, waitTime: 0 })
        async run(): Promise<string> {
          runs += 1;
          return 'done';
        }
      }
      expect(await new Job().run()).to.equal('done');
      const left = await redis.pttl(name);
      expect(left).to.be.within(200, 400);
      expect(await rejection(new Job().run())).to.be.instanceOf(LockTimeoutError);
      // Past the next renewal: none came.
      await sleep(200);
      expect(await redis.pttl(name)).to.be.below(left - 150);
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
        @DisLock({ key: name, expire: 300, ifExpireWhenFinish: false, waitTime: 5_000 })
        async run(): Promise<void> {
          await sleep(20);
        }
      }
      const startedAt = monotonicNow();
      await new Job().run();
      expect(await redis.pttl(name)).to.be.within(1, 285);
      await new Job().run();
      expect(monotonicNow() - startedAt).to.be.within(300, 3_000);
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
        @DisLock({ key: name, lockWatchdogTimeout: 2_000, ifExpireWhenFinish: false })
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
        expect(await redis.pttl(name)).to.be.within(1, 2_000);
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

  describe('the client', () => {
    it('is looked up at each call: the own one first, then the one of DisLock.use', async () => {
      class Job {
        @DisLock({ key: name })
        async run(): Promise<void> {
          await sleep(1);
        }
      }
      DisLock.use(undefined);
      expect(await rejection(new Job().run()))
        .to.be.instanceOf(ConfigError)
        .with.property('message')
        .that.includes('DisLock.use');
      DisLock.use(newClient());
      await new Job().run();
    });

    it('may be shut down: then calls reject', async () => {
      class Job {
        @DisLock({ key: name })
        async run(): Promise<void> {
          await sleep(1);
        }
      }
      await client.shutdown();
      expect(await rejection(new Job().run())).to.have.property('code', 'SHUTDOWN');
    });
  });

  it('rejects when the key of a call is no name, or cannot be made', async () => {
    class Job {
      @DisLock({ key: (id: string) => id })
      async run(_id: string): Promise<void> {
        await sleep(1);
      }
      @DisLock({ key: (order: { readonly id: string }) => order.id })
      async save(_order: { readonly id: string }): Promise<void> {
        await sleep(1);
      }
    }
    for (const bad of ['', undefined, 5]) {
      expect(await rejection(new Job().run(bad as never))).to.be.instanceOf(ConfigError);
    }
    expect(await rejection(new Job().save(undefined as never))).to.be.instanceOf(TypeError);
  });
});
