import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RCountDownLatch } from '../../../lib';
import { monotonicNow, redisUrl, RedisServer, sleep, TcpProxy, trackClient } from '../../support';
import { bareClient, newClient, openStage, rejection, untilListening } from './support';

describe('CountDownLatch: waits that fail, and faults', () => {
  let redis: Redis;
  let name: string;
  let latch: RCountDownLatch;
  const channel = (): string => `redisson_countdownlatch__channel__{${name}}`;

  beforeEach(() => {
    const stage = openStage('latch');
    ({ redis, name } = stage);
    latch = stage.client.getCountDownLatch(name);
  });

  describe('waiting in vain', () => {
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
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
      const error = await rejection(far.countDown());
      expect(error).to.include({ code: 'CONNECTION', mayHaveRun: true });
      await lost;
      expect(await far.getCount()).to.equal(1);
      proxy.close();
    });
  });
});
