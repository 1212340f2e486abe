import { expect } from 'chai';
import { ShutdownError } from '../../lib';
import { monitor, redisUrl, RedisServer, TcpProxy, trackClient } from '../support';
import { bareClient, newClient, rejection, untilListening } from '../redis/synchronizers/support';
import type { SemaphoreStage } from './SemaphoreStage';
import type { SemaphoreFactory } from './SemaphoreUnderTest';
import { abortedOnWaking, monotonicNow, onServer, sleep, sleepUntil } from './world';

/** How waits for permits of either kind of semaphore end. */
export function semaphoreWaitSuite(make: SemaphoreFactory, stage: () => SemaphoreStage): void {
  describe('waiting in vain', () => {
    it('gives up when the time is over, not before, and leaves nothing', async () => {
      const { redis, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const startedAt = monotonicNow();
      expect(await semaphore.tryAcquire(2, 150)).to.equal(undefined);
      expect(monotonicNow() - startedAt).to.be.within(149, 5_000);
      await untilListening(redis, channel, 0);
      expect(await semaphore.availablePermits()).to.equal(1);
    });

    onServer('makes one attempt for a wait of zero or less, and does not subscribe', async () => {
      const { semaphore } = stage();
      const watch = await monitor(redisUrl());
      expect(await semaphore.tryAcquire(1, 0)).to.equal(undefined);
      expect(await semaphore.tryAcquire(1, -5)).to.equal(undefined);
      expect(await watch.sentNames()).to.not.include('subscribe');
      watch.stop();
    });

    onServer('rejects with the reason of a signal that aborted before, and sends nothing', async () => {
      const { semaphore } = stage();
      await semaphore.trySetPermits(1);
      const watch = await monitor(redisUrl());
      const reason = new Error('no longer');
      expect(await rejection(semaphore.acquire(1, AbortSignal.abort(reason)))).to.equal(reason);
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
    });

    it('rejects with the reason of a signal that aborts its sleep, and leaves nothing', async () => {
      const { redis, semaphore, channel } = stage();
      const controller = new AbortController();
      const waiting = rejection(semaphore.acquire(1, controller.signal));
      await untilListening(redis, channel);
      const reason = new Error('no longer');
      controller.abort(reason);
      expect(await waiting).to.equal(reason);
      await untilListening(redis, channel, 0);
      await semaphore.trySetPermits(1);
      expect(await semaphore.availablePermits()).to.equal(1);
    });

    onServer('gives back what an attempt brings that an abort met on the wire', async () => {
      const { name, semaphore } = stage();
      await semaphore.trySetPermits(1);
      const proxy = await TcpProxy.start(redisUrl());
      const far = make(newClient({ url: proxy.url }), name);
      expect(await far.availablePermits()).to.equal(1);
      proxy.delay(300, 'down');
      const controller = new AbortController();
      const waiting = rejection(far.acquire(1, controller.signal));
      await sleepUntil(async () => (await semaphore.availablePermits()) === 0, { interval: 1 });
      controller.abort(new Error('no longer'));
      expect((await waiting).message).to.equal('no longer');
      await semaphore.release(await semaphore.acquire());
      expect(await semaphore.availablePermits()).to.equal(1);
      await proxy.pass();
      await far.availablePermits();
      proxy.close();
    });

    onServer('gives back what an attempt brings after its time is over', async () => {
      const { name, semaphore } = stage();
      await semaphore.trySetPermits(1);
      const proxy = await TcpProxy.start(redisUrl());
      const far = make(newClient({ url: proxy.url, timeout: 10_000 }), name);
      await far.availablePermits();
      proxy.delay(3_000, 'down');
      const startedAt = monotonicNow();
      expect(await far.tryAcquire(1, 50)).to.equal(undefined);
      expect(monotonicNow() - startedAt).to.be.below(2_990);
      await semaphore.release(await semaphore.acquire());
      expect(await semaphore.availablePermits()).to.equal(1);
      await proxy.pass();
      await far.availablePermits();
      proxy.close();
    });

    it('hands its wake-up on when the woken one is aborted', async () => {
      const { redis, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const controller = new AbortController();
      const first = semaphore.acquire(1, controller.signal).then(
        (one) => semaphore.release(one),
        () => undefined,
      );
      await untilListening(redis, channel);
      const second = semaphore.acquire();
      await sleep(30);
      await semaphore.release(taken);
      // The release was answered; its message may be there, or the attempt it made under way.
      controller.abort(new Error('no longer'));
      await first;
      await second;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('hands its wake-up on when it is aborted in the moment in which it is woken', async () => {
      const { redis, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const reason = new Error('no longer');
      const { signal, abort } = abortedOnWaking(reason);
      const goes = rejection(semaphore.acquire(1, signal));
      await untilListening(redis, channel);
      const stays = semaphore.acquire();
      await sleep(30);
      abort();
      await semaphore.release(taken);
      expect(await goes).to.equal(reason);
      await stays;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('rejects every waiter at shutdown', async () => {
      const { client, redis, semaphore, channel } = stage();
      const waiting = [1, 2].map((permits) => rejection(semaphore.acquire(permits)));
      await untilListening(redis, channel);
      await client.shutdown();
      for (const error of await Promise.all(waiting)) expect(error).to.be.instanceOf(ShutdownError);
      expect(await rejection(semaphore.acquire())).to.be.instanceOf(ShutdownError);
    });
  });

  describe('faults', () => {
    onServer('waits on when its subscription is killed, and takes what was released in the gap', async () => {
      const { redis, name, semaphore, channel } = stage();
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const waiting = semaphore.acquire();
      await untilListening(redis, channel);
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await make(newClient(), name).release(taken);
      const wokenAt = monotonicNow();
      await waiting;
      expect(monotonicNow() - wokenAt).to.be.below(5_000);
    });

    onServer('waits on over a restart of Redis', async () => {
      const { name, channel } = stage();
      const server = trackClient(await RedisServer.start());
      const own = make(newClient({ url: server.url }), name);
      await own.trySetPermits(1);
      await own.acquire();
      const waiting = own.acquire();
      const observer = bareClient(server.url);
      await untilListening(observer, channel);
      await observer.quit();
      await server.restart();
      const other = make(newClient({ url: server.url }), name);
      expect(await other.trySetPermits(2)).to.equal(true);
      await waiting;
      expect(await other.availablePermits()).to.equal(1);
    });
  });
}
