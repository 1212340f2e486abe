import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CommandError, type RCountDownLatch, type Redisson, ShutdownError, TimeUnit } from '../../lib';
import { monitor, redisUrl } from '../support';
import { newClient, oddNames, openStage, rejection, untilListening } from '../redis/synchronizers/support';
import { monotonicNow, onServer, sleep } from './world';

/** The ids of test/README.md that tests begin with, by what those tests say. */
export type LatchIds = Readonly<Record<string, string>>;

/** What a latch keeps, on a server and in memory. */
export function latchSuite(ids: LatchIds = {}): void {
  const titled = (text: string): string => (ids[text] === undefined ? text : `${ids[text]}: ${text}`);
  let client: Redisson;
  let redis: Redis;
  let name: string;
  let latch: RCountDownLatch;
  const channel = (): string => `redisson_countdownlatch__channel__{${name}}`;

  beforeEach(() => {
    ({ client, redis, name } = openStage('latch'));
    latch = client.getCountDownLatch(name);
  });

  it(titled('a key that holds text is no open latch'), async () => {
    await redis.set(name, 'text');
    const semaphore = client.getSemaphore(name);
    for (const work of [
      latch.getCount(),
      latch.await(100),
      latch.await(),
      latch.countDown(),
      semaphore.availablePermits(),
    ]) {
      const error: unknown = await work.catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(CommandError);
    }
    expect(await redis.get(name)).to.equal('text');
  });

  it('has the name it was given', () => {
    expect(latch.name).to.equal(name);
    expect(latch.getName()).to.equal(name);
  });

  it(titled('opens within the time'), async () => {
    expect(await latch.trySetCount(1)).to.equal(true);
    const counting = sleep(100).then(() => client.getCountDownLatch(name).countDown());
    expect(await latch.getCount()).to.equal(1);
    expect(await latch.await(3, TimeUnit.SECONDS)).to.equal(true);
    await counting;
    expect(await redis.exists(name)).to.equal(0);
  });

  it(titled('does not open within the time'), async () => {
    await latch.trySetCount(1);
    const startedAt = monotonicNow();
    expect(await latch.await(100)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(99, 1_500);
    await untilListening(redis, channel(), 0);
    await latch.countDown();
  });

  it(titled('a latch is deleted'), async () => {
    await latch.trySetCount(1);
    expect(await latch.delete()).to.equal(true);
    expect(await redis.exists(name)).to.equal(0);
  });

  it(titled('there is nothing to delete'), async () => {
    expect(await latch.delete()).to.equal(false);
  });

  it(titled('the count is set once'), async () => {
    expect(await latch.trySetCount(1)).to.equal(true);
    expect(await latch.trySetCount(2)).to.equal(false);
    expect(await latch.getCount()).to.equal(1);
  });

  it(titled('the count of a latch that is not there is zero, and it is open'), async () => {
    expect(await latch.getCount()).to.equal(0);
    expect(await latch.await()).to.equal(true);
    await latch.countDown();
    expect(await redis.exists(name)).to.equal(0);
  });

  it(titled('every waiter goes when the last one has counted down'), async () => {
    const n = 12;
    await latch.trySetCount(n);
    let counted = 0;
    const waiting = Array.from({ length: n }, async () => {
      const own = client.getCountDownLatch(name);
      expect(await own.await()).to.equal(true);
      expect(counted).to.equal(n);
      expect(await own.getCount()).to.equal(0);
    });
    const counting = Array.from({ length: n }, async () => {
      await sleep(20);
      counted += 1;
      await client.getCountDownLatch(name).countDown();
    });
    await Promise.all([...waiting, ...counting]);
  });

  onServer('lets the waiters of several clients go by one message, each with one look', async () => {
    await latch.trySetCount(1);
    const waiting = [1, 2, 3].map(() => newClient().getCountDownLatch(name).await());
    await untilListening(redis, channel(), 3);
    await sleep(50);
    const watch = await monitor(redisUrl());
    await sleep(100);
    expect(await watch.sent()).to.deep.equal([]);
    await latch.countDown();
    expect(await Promise.all(waiting)).to.deep.equal([true, true, true]);
    expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(4, 5);
    watch.stop();
  });

  it('waits on when it is counted down to more than zero, or set anew', async () => {
    await latch.trySetCount(2);
    const waiting = latch.await();
    await untilListening(redis, channel());
    const other = newClient().getCountDownLatch(name);
    await other.countDown();
    await redis.publish(channel(), '1');
    expect(await Promise.race([waiting, sleep(80)])).to.equal(undefined);
    await other.countDown();
    expect(await waiting).to.equal(true);
  });

  onServer('QUIRK await(0): is true where the count is zero, with one look', async () => {
    const watch = await monitor(redisUrl());
    expect(await latch.await(0)).to.equal(true);
    expect(await latch.await(-1)).to.equal(true);
    await latch.trySetCount(1);
    expect(await latch.await(0)).to.equal(false);
    expect(await watch.sentNames()).to.not.include('subscribe');
    watch.stop();
  });

  it('QUIRK delete: lets the waiters go', async () => {
    await latch.trySetCount(3);
    const waiting = [latch.await(), latch.await(5_000), newClient().getCountDownLatch(name).await()];
    await untilListening(redis, channel(), 2);
    expect(await latch.delete()).to.equal(true);
    expect(await Promise.all(waiting)).to.deep.equal([true, true, true]);
  });

  it('can be used again', async () => {
    for (let round = 0; round < 3; round++) {
      expect(await latch.trySetCount(1)).to.equal(true);
      const waiting = latch.await();
      await untilListening(redis, channel());
      await latch.countDown();
      expect(await waiting).to.equal(true);
    }
  });

  describe('waiting in vain', () => {
    it('rejects with the reason of its signal, before and during the wait, and leaves nothing', async () => {
      await latch.trySetCount(1);
      const reason = new Error('no longer');
      expect(await rejection(latch.await(undefined, undefined, { signal: AbortSignal.abort(reason) }))).to.equal(
        reason,
      );
      const controller = new AbortController();
      const waiting = rejection(latch.await(undefined, undefined, { signal: controller.signal }));
      await untilListening(redis, channel());
      controller.abort(reason);
      expect(await waiting).to.equal(reason);
      await untilListening(redis, channel(), 0);
    });

    it('rejects at shutdown', async () => {
      await latch.trySetCount(1);
      const waiting = [rejection(latch.await()), rejection(latch.await(60_000))];
      await untilListening(redis, channel());
      await client.shutdown();
      for (const error of await Promise.all(waiting)) expect(error).to.be.instanceOf(ShutdownError);
    });
  });

  describe('bad input', () => {
    it('refuses counts that are none', async () => {
      for (const count of [-1, 0.5, NaN, '3', undefined] as number[]) {
        expect(await rejection(latch.trySetCount(count))).to.be.instanceOf(RangeError);
      }
      expect(await rejection(latch.await(NaN))).to.be.instanceOf(RangeError);
      expect(await redis.exists(name)).to.equal(0);
    });

    it('takes a count of zero: open, but set', async () => {
      expect(await latch.trySetCount(0)).to.equal(true);
      expect(await latch.await()).to.equal(true);
      expect(await latch.trySetCount(1)).to.equal(false);
      await latch.delete();
    });

    it('refuses a key of another type, says so, and touches nothing', async () => {
      await redis.rpush(name, 'a');
      for (const call of [latch.await(), latch.countDown(), latch.getCount(), latch.trySetCount(1), latch.delete()]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(CommandError);
        expect((error.cause as Error).message).to.include('WRONGTYPE');
      }
      expect(await redis.lrange(name, 0, -1)).to.deep.equal(['a']);
    });

    it('works for names with braces, colons, spaces and unicode, and under a name mapper', async () => {
      for (const { client: one, raw, key } of oddNames(client, name)) {
        const own = one.getCountDownLatch(raw);
        await own.trySetCount(1);
        expect(await redis.get(key)).to.equal('1');
        const waiting = own.await();
        await untilListening(redis, `redisson_countdownlatch__channel__{${key}}`);
        await own.countDown();
        expect(await waiting).to.equal(true);
        await untilListening(redis, `redisson_countdownlatch__channel__{${key}}`, 0);
      }
    });
  });
}
