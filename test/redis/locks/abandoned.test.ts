// Ids in titles: test/README.md
import { expect } from 'chai';
import { LockLostError, Redisson, type LockHold } from '../../../lib';
import { collect } from '../../support/collect';
import { redisUrl, sleep, sleepUntil, trackClient, uniqueName } from '../../support';

/** No lease here is longer, by far. */
const EXPIRED = { timeout: 12_000 };

/**
 * Collects until the condition holds. Not all the time: nothing else would run where many tests have left their
 * garbage.
 */
function collecting(condition: () => boolean): Promise<unknown> {
  return sleepUntil(
    () => {
      collect();
      return condition();
    },
    { ...EXPIRED, interval: 100, message: condition.toString() },
  );
}

describe('a hold of acquire() whose object is dropped', function () {
  this.timeout(25_000);

  it('C16: warns once, with its name, and is renewed no longer, its end is a loss; one that is kept is, and sections are', async () => {
    // A collection is slow where many tests have run: no renewal of what is kept may be missed for it.
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 5_000 }));
    const warnings: (Error & { code?: string })[] = [];
    const lost: string[] = [];
    client.onLockLost(({ name }) => lost.push(name));
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    const names = [uniqueName(), uniqueName()];
    const dropped: WeakRef<LockHold>[] = [];
    // In a function of its own, so that no variable keeps them.
    const drop = async (): Promise<void> => {
      for (const name of names) {
        const hold = await client.getLock(name).acquire();
        void hold.signal;
        dropped.push(new WeakRef(hold));
      }
    };
    await drop();
    const kept = await client.getLock(uniqueName()).acquire();
    await client.getLock(uniqueName()).lock(-1, undefined, 1);
    try {
      await client.getLock(uniqueName()).withLock(async () => {
        await collecting(() => dropped.every((ref) => ref.deref() === undefined) && warnings.length > 0);
        for (const name of names) await sleepUntil(async () => !(await client.getLock(name).isLocked()), EXPIRED);
        await sleepUntil(() => lost.length >= names.length, EXPIRED);
      });
      expect(kept.isHeld).to.equal(true);
      await kept.unlock();
      await sleep(0);
    } finally {
      process.off('warning', heard);
    }
    expect(warnings.map(({ code }) => code)).to.deep.equal(['IOREDISSON_ABANDONED_HOLD']);
    expect(names.some((name) => warnings[0]!.message.includes(`'${name}'`))).to.equal(true);
    expect(lost.sort()).to.deep.equal(names.sort());
  });

  it('its signal aborts when the lease ends, although only the signal was kept: of a lock and of permits', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 5_000 }));
    const other = trackClient(Redisson.create(redisUrl()));
    const semaphore = client.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    const name = uniqueName();
    let heard = '';
    const drop = async (): Promise<AbortSignal[]> => {
      const hold = await client.getLock(name).acquire();
      hold.signal.addEventListener('abort', () => (heard = name));
      return [hold.signal, (await semaphore.acquireHold()).signal];
    };
    const signals = await drop();
    const next = other.getLock(name).acquire();
    await collecting(() => signals.every(({ aborted }) => aborted));
    expect(heard).to.equal(name);
    for (const { reason } of signals) {
      expect(reason).to.be.instanceOf(LockLostError);
      expect((reason as Error).message).to.match(/its object was dropped without a release/);
    }
    await (await next).unlock();
  });

  it('a drain does not wait for it', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 20_000 }));
    let dropped: WeakRef<LockHold> | undefined;
    const warned = new Promise((resolve) => process.once('warning', resolve));
    const drop = async (): Promise<void> => {
      dropped = new WeakRef(await client.getLock(uniqueName()).acquire());
    };
    await drop();
    await collecting(() => dropped!.deref() === undefined);
    await warned;
    const startedAt = performance.now();
    await client.shutdown({ drain: 15_000 });
    expect(performance.now() - startedAt).to.be.below(10_000);
  });

  it('C16: is kept where unlock() of the lock reaches it: in a thread, in a section, and by the threadId that was given', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 4_500 }));
    const other = trackClient(Redisson.create(redisUrl()));
    const locks = Array.from({ length: 3 }, () => client.getLock(uniqueName()));
    let taken = 0;
    // A collection is slow where many tests have run: three of them, and then longer than a lease.
    const collected = (async () => {
      await sleepUntil(() => taken === locks.length);
      for (let i = 0; i < 3; i++) {
        await sleep(20);
        collect();
      }
      await sleep(5_500);
    })();
    const outlive = async (index: number): Promise<void> => {
      taken++;
      await collected;
      expect(await other.getLock(locks[index]!.name).tryLock()).to.equal(false);
    };
    await Promise.all([
      client.runInThread(async () => {
        await locks[0]!.acquire();
        await outlive(0);
        await locks[0]!.unlock();
      }),
      client.getLock(uniqueName()).withLock(async () => {
        await locks[1]!.tryAcquireHold();
        await outlive(1);
        await locks[1]!.unlock();
      }),
      (async () => {
        await locks[2]!.acquire({ threadId: 7 });
        await outlive(2);
        await locks[2]!.unlock(7);
      })(),
    ]);
  });

  describe('in a scope that has ended', () => {
    type Around = (client: Redisson, fn: () => Promise<void>) => Promise<void>;
    const scopes: Record<string, Around> = {
      'a thread': (client, fn) => client.runInThread(fn),
      'a section': (client, fn) => client.getLock(uniqueName()).withLock(fn),
      'a section in a section of a thread': (client, fn) =>
        client.runInThread(() => client.getLock(uniqueName()).withLock(() => scopes['a section']!(client, fn))),
    };

    for (const [title, around] of Object.entries(scopes)) {
      it(`of ${title} is renewed no longer, with a warning`, async () => {
        const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 1_500 }));
        const lock = client.getLock(uniqueName());
        const warned = new Promise<Error & { code?: string }>((resolve) => process.once('warning', resolve));
        await around(client, async () => {
          await lock.acquire();
        });
        let code: string | undefined;
        void warned.then((warning) => (code = warning.code));
        await collecting(() => code !== undefined);
        expect(code).to.equal('IOREDISSON_ABANDONED_HOLD');
        await sleepUntil(async () => !(await lock.isLocked()), EXPIRED);
      });
    }

    it('is kept while work goes on in it, which can release it', async () => {
      const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 1_500 }));
      const locks = [client.getLock(uniqueName()), client.getLock(uniqueName())];
      let ended = false;
      const works: Promise<void>[] = [];
      const work = async (index: number): Promise<void> => {
        await locks[index]!.acquire();
        await sleepUntil(() => ended);
        await locks[index]!.unlock();
      };
      await client.runInThread(async () => {
        works.push(work(0));
        await client.getLock(uniqueName()).withLock(async () => {
          works.push(work(1));
          await sleepUntil(() => locks[1]!.isLocked());
        });
      });
      for (let i = 0; i < 5; i++) {
        collect();
        await sleep(700);
      }
      for (const lock of locks) expect(await lock.isLocked(), lock.name).to.equal(true);
      ended = true;
      await Promise.all(works);
      for (const lock of locks) expect(await lock.isLocked(), lock.name).to.equal(false);
    });
  });

  it('C16: permits of acquireHold() are named as what they are', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 4_000 }));
    const semaphore = client.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(2);
    const warnings: (Error & { code?: string })[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    try {
      const drop = async (): Promise<unknown> => (await semaphore.acquireHold({ permits: 2 })).ids;
      await drop();
      await collecting(() => warnings.length > 0);
    } finally {
      process.off('warning', heard);
    }
    expect(warnings[0]).to.include({ code: 'IOREDISSON_ABANDONED_HOLD' });
    expect(warnings[0]!.message).to.contain(`permits of semaphore '${semaphore.name}', taken by acquireHold()`);
    expect(warnings[0]!.message).to.contain('without release()');
    await sleepUntil(async () => (await semaphore.availablePermits()) === 2, EXPIRED);
  });
});
