// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CommandError, type RCountDownLatch, type Redisson, TimeUnit } from '../../../lib';
import { monitor, monotonicNow, redisUrl, sleep } from '../../support';
import { newClient, openStage, untilListening } from './support';

describe('CountDownLatch', () => {
  let client: Redisson;
  let redis: Redis;
  let name: string;
  let latch: RCountDownLatch;
  const channel = (): string => `redisson_countdownlatch__channel__{${name}}`;

  beforeEach(() => {
    ({ client, redis, name } = openStage('latch'));
    latch = client.getCountDownLatch(name);
  });

  it('B11: a key that holds text is no open latch', async () => {
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

  it('CL-01 testAwaitTimeout: opens within the time', async () => {
    expect(await latch.trySetCount(1)).to.equal(true);
    const counting = sleep(100).then(() => client.getCountDownLatch(name).countDown());
    expect(await latch.getCount()).to.equal(1);
    expect(await latch.await(3, TimeUnit.SECONDS)).to.equal(true);
    await counting;
    expect(await redis.exists(name)).to.equal(0);
  });

  it('CL-02 testAwaitTimeoutFail: does not open within the time', async () => {
    await latch.trySetCount(1);
    const startedAt = monotonicNow();
    expect(await latch.await(100)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(99, 1_500);
    await untilListening(redis, channel(), 0);
    await latch.countDown();
  });

  it('CL-05 testDelete: a latch is deleted', async () => {
    await latch.trySetCount(1);
    expect(await latch.delete()).to.equal(true);
    expect(await redis.exists(name)).to.equal(0);
  });

  it('CL-06 testDeleteFailed: there is nothing to delete', async () => {
    expect(await latch.delete()).to.equal(false);
  });

  it('CL-07 testTrySetCount: the count is set once', async () => {
    expect(await latch.trySetCount(1)).to.equal(true);
    expect(await latch.trySetCount(2)).to.equal(false);
    expect(await latch.getCount()).to.equal(1);
  });

  it('CL-08 testCount: the count of a latch that is not there is zero, and it is open', async () => {
    expect(await latch.getCount()).to.equal(0);
    expect(await latch.await()).to.equal(true);
    await latch.countDown();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('CC-01 testSingleCountDownAwait_SingleInstance: every waiter goes when the last one has counted down', async () => {
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

  it('lets the waiters of several clients go by one message, each with one look', async () => {
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

  it('QUIRK await(0): is true where the count is zero, with one look', async () => {
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
});
