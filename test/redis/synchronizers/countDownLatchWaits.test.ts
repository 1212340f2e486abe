import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type RCountDownLatch, type Redisson, ShutdownError } from '../../../lib';
import { CommandError } from '../../../lib/errors';
import { monotonicNow, redisUrl, RedisServer, sleep, TcpProxy, trackClient } from '../../support';
import { bareClient, newClient, oddNames, openStage, rejection, untilListening } from './support';

describe('CountDownLatch: waits that fail, and faults', () => {
  let client: Redisson;
  let redis: Redis;
  let name: string;
  let latch: RCountDownLatch;
  const channel = (): string => `redisson_countdownlatch__channel__{${name}}`;

  beforeEach(() => {
    ({ client, redis, name } = openStage('latch'));
    latch = client.getCountDownLatch(name);
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

    it('rejects at once when the abort meets a look on the wire', async () => {
      await latch.trySetCount(1);
      const proxy = await TcpProxy.start(redisUrl());
      const far = newClient({ url: proxy.url }).getCountDownLatch(name);
      await far.getCount();
      proxy.delay(600, 'down');
      const controller = new AbortController();
      const waiting = rejection(far.await(undefined, undefined, { signal: controller.signal }));
      await sleep(20);
      const startedAt = monotonicNow();
      controller.abort(new Error('no longer'));
      expect((await waiting).message).to.equal('no longer');
      expect(monotonicNow() - startedAt).to.be.below(500);
      await proxy.pass();
      await far.getCount();
      proxy.close();
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

  describe('faults', () => {
    it('looks again when its subscription was killed, and sees what happened in the gap', async () => {
      await latch.trySetCount(1);
      const waiting = latch.await();
      await untilListening(redis, channel());
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await newClient().getCountDownLatch(name).countDown();
      expect(await waiting).to.equal(true);
    });

    it('looks again after a restart of Redis: a latch that is lost is open', async () => {
      const server = trackClient(await RedisServer.start());
      const own = newClient({ url: server.url }).getCountDownLatch(name);
      await own.trySetCount(2);
      const waiting = own.await();
      const observer = bareClient(server.url);
      await untilListening(observer, channel());
      await observer.quit();
      await server.restart();
      expect(await waiting).to.equal(true);
    });

    it('tells that a count may have been taken when its answer is lost, and does not count twice', async () => {
      await latch.trySetCount(3);
      const proxy = await TcpProxy.start(redisUrl());
      const far = newClient({ url: proxy.url }).getCountDownLatch(name);
      await far.countDown();
      const lost = proxy.swallowNextReply({ command: 'EVALSHA', then: 'cut' });
      const error = await rejection(far.countDown());
      expect(error).to.include({ code: 'CONNECTION', mayHaveRun: true });
      await lost;
      expect(await far.getCount()).to.equal(1);
      proxy.close();
    });
  });
});
