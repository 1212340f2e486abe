// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { PrefixNameMapper } from '../../../lib/config/NameMapper';
import type { Redisson } from '../../../lib';
import { client, within } from '../../faults/scene';
import { monitor, redisUrl, sleep, sleepUntil, trackClient } from '../../support';
import { Inside } from '../synchronizers/support';
import { FairQueue, openFairScene } from './fairQueue';

describe('fair lock: the order', () => {
  let name: string;
  let redis: Redis;
  let queue: FairQueue;
  let one: Redisson;

  beforeEach(() => {
    ({ name, redis, queue, one } = openFairScene());
  });

  it('FL-26: waiters of several clients enter in the order of asking', async () => {
    const clients = [one, client(redisUrl()), client(redisUrl())];
    const holder = one.getFairLock(name);
    await holder.lock();
    const entered: number[] = [];
    const waiting: Promise<void>[] = [];
    for (let i = 0; i < 9; i++) {
      const lock = clients[i % 3]!.getFairLock(name);
      waiting.push(
        lock.lock(-1, undefined, i).then(async () => {
          entered.push(i);
          await sleep(2);
          await lock.unlock(i);
        }),
      );
      await queue.untilLength(i + 1);
    }
    await holder.unlock();
    await within(5_000, 'all waiters enter', Promise.all(waiting));
    expect(entered).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await queue.isEmpty()).to.equal(true);
  });

  it('FL-02: a hundred waiters of one client all enter, one at a time, each woken by a message', async () => {
    const inside = new Inside();
    const lock = one.getFairLock(name);
    await within(
      8_000,
      'a hundred waiters enter',
      Promise.all(Array.from({ length: 100 }, () => lock.withLock(() => inside.run(1)))),
    );
    expect(inside.runs).to.equal(100);
    expect(inside.most).to.equal(1);
    expect(await queue.isEmpty()).to.equal(true);
  });

  it('FL-27: every key is made of the mapped name', async () => {
    const mapped = client(redisUrl(), { nameMapper: new PrefixNameMapper('test::') });
    const lock = mapped.getFairLock(name);
    const rival = mapped.getFairLock(name);
    expect(await lock.isLocked()).to.equal(false);
    await lock.lock();
    expect(await redis.exists(`test::${name}`)).to.equal(1);
    const waiting = rival.lock();
    await new FairQueue(redis, `test::${name}`).untilLength(1);
    await lock.unlock();
    await within(2_000, 'the waiter enters', waiting);
    expect(await rival.isHeldByCurrentThread()).to.equal(true);
    await rival.unlock();
    expect(await lock.isLocked()).to.equal(false);
  });

  it('a single attempt never queues, and passes nobody who does', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    expect(await lock.tryLock({ threadId: 2 })).to.equal(false);
    expect(await lock.tryLock(0, -1, undefined, 2)).to.equal(false);
    expect(await lock.tryAcquire(-1, undefined, 2)).to.be.within(1, 30_000);
    expect(await lock.tryAcquireHold({ threadId: 2 })).to.equal(null);
    expect(await queue.isEmpty()).to.equal(true);

    await queue.addDead('somebody:1', 60_000);
    await lock.unlock(1);
    expect(await lock.tryLock({ threadId: 2 })).to.equal(false);
    expect(await queue.owners()).to.deep.equal(['somebody:1']);
    await redis.del(...['queue', 'timeout', 'claim'].map((part) => `redisson_lock_${part}:{${name}}`));
  });

  it('the holder re-enters while others wait', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const waiting = lock.lock(-1, undefined, 2);
    await queue.untilLength(1);
    expect(await lock.tryLock(100, -1, undefined, 1)).to.equal(true);
    await lock.unlock(1);
    await lock.unlock(1);
    await within(2_000, 'the waiter enters', waiting);
    await lock.unlock(2);
  });

  it('whoever is the only one takes and gives it with one command each', async () => {
    const lock = one.getFairLock(name);
    await lock.lock();
    await lock.unlock();
    const watch = trackClient(await monitor(redisUrl()));
    await lock.lock();
    await lock.unlock();
    expect(await watch.sentNames()).to.deep.equal(['evalsha', 'evalsha']);
  });

  it('waiters send nothing while nothing happens', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const waiting = Array.from({ length: 5 }, (_, i) => lock.lock(-1, undefined, i + 2));
    await queue.untilLength(5);
    await sleepUntil(async () => {
      const channels = (await redis.pubsub('CHANNELS', `*${name}*`)) as string[];
      return channels.length === 5;
    });
    await sleep(100);
    const watch = trackClient(await monitor(redisUrl()));
    await sleep(300);
    expect(await watch.sentNames()).to.deep.equal([]);
    const unlocking = (async () => {
      for (let threadId = 1; threadId <= 6; threadId++) {
        if (threadId > 1) await waiting[threadId - 2];
        await lock.unlock(threadId);
      }
    })();
    await within(3_000, 'all enter', unlocking);
    // An unlock and one attempt each: nobody else is woken.
    const scripts = (await watch.sent()).filter(({ name }) => name === 'evalsha' || name === 'eval');
    expect(scripts).to.have.length.within(11, 12);
  });
});
