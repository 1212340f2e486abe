import { expect } from 'chai';
import { ConfigError, DisLock, LockLostError, LockTimeoutError, type Redisson } from '../../../lib';
import { monotonicNow, sleep, sleepUntil, turn } from '../../support';
import { Inside, newClient, rejection } from '../synchronizers/support';
import { openDisLock } from './support';

describe('@DisLock', () => {
  let client: Redisson;
  let name: string;

  beforeEach(() => {
    ({ client, name } = openDisLock());
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

  it('D8: a decorated method sees the loss of its lock: currentHold() has the signal', async () => {
    let reason: unknown;
    class Job {
      @DisLock({ key: name })
      async run(): Promise<void> {
        await turn();
        const { signal } = client.currentHold(name)!;
        expect(signal.aborted).to.equal(false);
        await client.getLock(name).forceUnlock();
        reason = signal.reason as unknown;
      }
    }
    expect(await rejection(new Job().run()))
      .to.be.instanceOf(LockLostError)
      .and.equal(reason);
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

  it('skip: the job runs once in a fleet, and those that do not get the lock resolve undefined, as long as atLeast', async () => {
    let runs = 0;
    class Job {
      @DisLock({ key: name, skip: true, atLeast: 400 })
      async run(): Promise<string> {
        await sleep(5);
        return `run ${++runs}`;
      }
    }
    const fleet = [new Job(), new Job(), new Job()];
    const results = await Promise.all(fleet.map((job) => job.run()));
    expect(results.filter((one) => one !== undefined)).to.deep.equal(['run 1']);
    expect(await fleet[0]!.run()).to.equal(undefined);
    await sleepUntil(async () => !(await client.getLock(name).isLocked()));
    expect(await fleet[1]!.run()).to.equal('run 2');
    for (const wrong of [{ atLeast: -1 }, { atLeast: NaN }, { skip: 'yes' }]) {
      expect(() => DisLock({ key: name, ...(wrong as object) })).to.throw();
    }
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
        expect(monotonicNow() - startedAt).to.be.below(1_000);
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
