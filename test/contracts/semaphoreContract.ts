import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Redisson, ShutdownError } from '../../lib';
import { CommandError } from '../../lib/errors';
import { monitor, monotonicNow, redisUrl, RedisServer, sleep, TcpProxy, trackClient, uniqueName } from '../support';
import { bareClient, Inside, newClient, rejection, untilListening } from '../redis/synchronizers/support';

/** What was acquired: a number of permits, or their ids. */
export type Taken = number | readonly string[];

/** One semaphore of either kind, as the contract uses it. */
export interface SemaphoreUnderTest {
  trySetPermits(permits: number): Promise<boolean>;
  acquire(permits?: number, signal?: AbortSignal): Promise<Taken>;
  /** `undefined`: not acquired. */
  tryAcquire(permits?: number, waitMs?: number, signal?: AbortSignal): Promise<Taken | undefined>;
  release(taken: Taken): Promise<void>;
  addPermits(permits: number): Promise<void>;
  availablePermits(): Promise<number>;
  delete(): Promise<boolean>;
}

/** Makes the semaphore of a name. */
export type SemaphoreFactory = (client: Redisson, name: string) => SemaphoreUnderTest;

/** What holds for both kinds of semaphore. @param script - how its acquisition is recognised on the wire */
export function semaphoreSuite(make: SemaphoreFactory): void {
  let client: Redisson;
  let redis: Redis;
  let name: string;
  let semaphore: SemaphoreUnderTest;
  const channel = (): string => `redisson_sc:{${name}}`;

  beforeEach(() => {
    client = newClient();
    redis = bareClient();
    name = uniqueName('semaphore');
    semaphore = make(client, name);
  });

  afterEach(async () => {
    await redis.del(name, `{${name}}:timeout`);
  });

  describe('acquiring', () => {
    it('takes what is there in one command, and leaves the rest', async () => {
      await semaphore.trySetPermits(3);
      const watch = await monitor(redisUrl());
      const taken = await semaphore.acquire(2);
      expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(1, 2);
      watch.stop();
      expect(await semaphore.availablePermits()).to.equal(1);
      expect(await semaphore.tryAcquire(2)).to.equal(undefined);
      await semaphore.release(taken);
      expect(await semaphore.availablePermits()).to.equal(3);
    });

    it('lets at most so many in at once', async () => {
      await semaphore.trySetPermits(3);
      const inside = new Inside();
      await Promise.all(
        Array.from({ length: 30 }, async () => {
          const taken = await make(client, name).acquire();
          await inside.run();
          await semaphore.release(taken);
        }),
      );
      expect(inside.most).to.equal(3);
      expect(await semaphore.availablePermits()).to.equal(3);
    });

    it('is woken by a release of another client, with one attempt and without polling', async () => {
      await semaphore.trySetPermits(1);
      const other = make(newClient(), name);
      const taken = await other.acquire();
      const waiting = semaphore.acquire();
      await untilListening(redis, channel());
      await sleep(100);
      const watch = await monitor(redisUrl());
      await sleep(150);
      expect(await watch.sent()).to.deep.equal([]);
      const releasedAt = monotonicNow();
      await other.release(taken);
      await waiting;
      expect(monotonicNow() - releasedAt).to.be.below(1_000);
      expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(2, 3);
      watch.stop();
      await untilListening(redis, channel(), 0);
    });

    it('wakes as many waiters by one message as there are permits then', async () => {
      const waiting = [1, 2, 3].map(() => semaphore.acquire());
      await untilListening(redis, channel());
      await sleep(50);
      await make(newClient(), name).trySetPermits(3);
      await Promise.all(waiting);
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('wakes the waiters of several clients', async () => {
      const waiting = [client, newClient(), newClient()].map((one) => make(one, name).acquire());
      await untilListening(redis, channel(), 3);
      await sleep(50);
      await semaphore.trySetPermits(3);
      await Promise.all(waiting);
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('does not let a small request wait for a big one before it', async () => {
      const big = semaphore.acquire(5);
      await untilListening(redis, channel());
      await sleep(30);
      const small = [semaphore.acquire(2), semaphore.acquire(1)];
      await sleep(30);
      await make(newClient(), name).trySetPermits(3);
      await Promise.all(small);
      expect(await semaphore.availablePermits()).to.equal(0);
      await semaphore.addPermits(5);
      await big;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('lets a big request in when enough has gathered, whoever tried in between', async () => {
      await semaphore.trySetPermits(5);
      const taken = await Promise.all([1, 2, 3, 4, 5].map(() => semaphore.acquire()));
      const big = semaphore.acquire(5);
      await untilListening(redis, channel());
      for (const one of taken) {
        await sleep(10);
        await semaphore.release(one);
      }
      await big;
      expect(await semaphore.availablePermits()).to.equal(0);
    });
  });

  describe('waiting in vain', () => {
    it('gives up when the time is over, not before, and leaves nothing', async () => {
      await semaphore.trySetPermits(1);
      const startedAt = monotonicNow();
      expect(await semaphore.tryAcquire(2, 150)).to.equal(undefined);
      expect(monotonicNow() - startedAt).to.be.within(149, 1_500);
      await untilListening(redis, channel(), 0);
      expect(await semaphore.availablePermits()).to.equal(1);
    });

    it('makes one attempt for a wait of zero or less, and does not subscribe', async () => {
      const watch = await monitor(redisUrl());
      expect(await semaphore.tryAcquire(1, 0)).to.equal(undefined);
      expect(await semaphore.tryAcquire(1, -5)).to.equal(undefined);
      expect(await watch.sentNames()).to.not.include('subscribe');
      watch.stop();
    });

    it('rejects with the reason of a signal that aborted before, and sends nothing', async () => {
      await semaphore.trySetPermits(1);
      const watch = await monitor(redisUrl());
      const reason = new Error('no longer');
      expect(await rejection(semaphore.acquire(1, AbortSignal.abort(reason)))).to.equal(reason);
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
    });

    it('rejects with the reason of a signal that aborts its sleep, and leaves nothing', async () => {
      const controller = new AbortController();
      const waiting = rejection(semaphore.acquire(1, controller.signal));
      await untilListening(redis, channel());
      const reason = new Error('no longer');
      controller.abort(reason);
      expect(await waiting).to.equal(reason);
      await untilListening(redis, channel(), 0);
      await semaphore.trySetPermits(1);
      expect(await semaphore.availablePermits()).to.equal(1);
    });

    it('gives back what an attempt brings that an abort met on the wire', async () => {
      await semaphore.trySetPermits(1);
      const proxy = await TcpProxy.start(redisUrl());
      const far = make(newClient({ url: proxy.url }), name);
      expect(await far.availablePermits()).to.equal(1);
      proxy.delay(60, 'down');
      const controller = new AbortController();
      const waiting = rejection(far.acquire(1, controller.signal));
      await sleep(20);
      expect(await semaphore.availablePermits()).to.equal(0);
      controller.abort(new Error('no longer'));
      expect((await waiting).message).to.equal('no longer');
      await semaphore.release(await semaphore.acquire());
      expect(await semaphore.availablePermits()).to.equal(1);
      await proxy.pass();
      await far.availablePermits();
      proxy.close();
    });

    it('gives back what an attempt brings after its time is over', async () => {
      await semaphore.trySetPermits(1);
      const proxy = await TcpProxy.start(redisUrl());
      const far = make(newClient({ url: proxy.url }), name);
      await far.availablePermits();
      proxy.delay(150, 'down');
      const startedAt = monotonicNow();
      expect(await far.tryAcquire(1, 50)).to.equal(undefined);
      expect(monotonicNow() - startedAt).to.be.below(140);
      await semaphore.release(await semaphore.acquire());
      expect(await semaphore.availablePermits()).to.equal(1);
      await proxy.pass();
      await far.availablePermits();
      proxy.close();
    });

    it('hands its wake-up on when the woken one is aborted', async () => {
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const controller = new AbortController();
      const first = semaphore.acquire(1, controller.signal).then(
        (one) => semaphore.release(one),
        () => undefined,
      );
      await untilListening(redis, channel());
      const second = semaphore.acquire();
      await sleep(30);
      await semaphore.release(taken);
      // The release was answered; its message may be there, or the attempt it made under way.
      controller.abort(new Error('no longer'));
      await first;
      await second;
      expect(await semaphore.availablePermits()).to.equal(0);
    });

    it('rejects every waiter at shutdown', async () => {
      const waiting = [1, 2].map((permits) => rejection(semaphore.acquire(permits)));
      await untilListening(redis, channel());
      await client.shutdown();
      for (const error of await Promise.all(waiting)) expect(error).to.be.instanceOf(ShutdownError);
      expect(await rejection(semaphore.acquire())).to.be.instanceOf(ShutdownError);
    });
  });

  describe('bad input', () => {
    it('refuses negative and non-integer numbers, and changes nothing', async () => {
      await semaphore.trySetPermits(2);
      const watch = await monitor(redisUrl());
      for (const permits of [-1, 1.5, NaN, Infinity, 2 ** 60, '1', null] as number[]) {
        expect(await rejection(semaphore.acquire(permits))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.tryAcquire(permits))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.tryAcquire(permits, 10))).to.be.instanceOf(RangeError);
        expect(await rejection(semaphore.trySetPermits(permits))).to.be.instanceOf(RangeError);
      }
      for (const permits of [1.5, NaN, Infinity, '1'] as number[]) {
        expect(await rejection(semaphore.addPermits(permits))).to.be.instanceOf(RangeError);
      }
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
    });

    it('acquires no permits without asking Redis', async () => {
      const watch = await monitor(redisUrl());
      const nothing = await semaphore.acquire(0);
      expect(await semaphore.tryAcquire(0)).to.deep.equal(nothing);
      expect(await semaphore.tryAcquire(0, 1_000)).to.deep.equal(nothing);
      await semaphore.release(nothing);
      expect(await watch.sent()).to.deep.equal([]);
      watch.stop();
      expect(await redis.exists(name)).to.equal(0);
    });

    it('refuses a key of another type, says so, and touches nothing', async () => {
      await redis.hset(name, 'a', '1');
      for (const call of [semaphore.acquire(), semaphore.tryAcquire(1, 50), semaphore.availablePermits()]) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(CommandError);
        expect((error.cause as Error).message).to.include('WRONGTYPE');
      }
      for (const call of [semaphore.trySetPermits(1), semaphore.addPermits(1), semaphore.delete()]) {
        expect(await rejection(call)).to.be.instanceOf(CommandError);
      }
      expect(await redis.hgetall(name)).to.deep.equal({ a: '1' });
      await untilListening(redis, channel(), 0);
    });
  });

  describe('faults', () => {
    it('waits on when its subscription is killed, and takes what was released in the gap', async () => {
      await semaphore.trySetPermits(1);
      const taken = await semaphore.acquire();
      const waiting = semaphore.acquire();
      await untilListening(redis, channel());
      await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await make(newClient(), name).release(taken);
      const wokenAt = monotonicNow();
      await waiting;
      expect(monotonicNow() - wokenAt).to.be.below(2_500);
    });

    it('waits on over a restart of Redis', async () => {
      const server = trackClient(await RedisServer.start());
      const own = make(newClient({ url: server.url }), name);
      await own.trySetPermits(1);
      await own.acquire();
      const waiting = own.acquire();
      const observer = bareClient(server.url);
      await untilListening(observer, channel());
      await observer.quit();
      await server.restart();
      const other = make(newClient({ url: server.url }), name);
      expect(await other.trySetPermits(2)).to.equal(true);
      await waiting;
      expect(await other.availablePermits()).to.equal(1);
    });
  });
}
