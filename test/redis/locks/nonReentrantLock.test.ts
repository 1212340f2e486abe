// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { IllegalMonitorStateError, type Redisson, type RLock } from '../../../lib';
import { client, connection, listening, within } from '../../faults/scene';
import { monotonicNow, redisUrl, sleep, TcpProxy, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';
import { FairQueue } from './fairQueue';

interface Kind {
  readonly title: string;
  /** Of a contender that waits, and of a holder that asks again. */
  readonly ids: readonly [string, string];
  of(client: Redisson, name: string): RLock;
}

const KINDS: readonly Kind[] = [
  {
    title: 'non-reentrant lock',
    ids: ['NR-01', 'NR-02'],
    of: (client, name) => client.getNonReentrantLock(name),
  },
  {
    title: 'non-reentrant fair lock',
    ids: ['NF-01', 'NF-02'],
    of: (client, name) => client.getNonReentrantFairLock(name),
  },
];

for (const { title, ids, of } of KINDS) {
  describe(title, () => {
    let name: string;
    let redis: Redis;
    let one: Redisson;
    let lock: RLock;

    beforeEach(() => {
      name = uniqueName('nonReentrant');
      redis = connection();
      one = client(redisUrl());
      lock = of(one, name);
    });

    afterEach(() =>
      redis.del(
        name,
        `redisson_lock_queue:{${name}}`,
        `redisson_lock_timeout:{${name}}`,
        `redisson_lock_claim:{${name}}`,
      ),
    );

    it(`${ids[0]}: another owner waits and gets it by the release`, async () => {
      await lock.lock();
      let entered = false;
      const waiting = of(client(redisUrl()), name).withLock(() => {
        entered = true;
      });
      await listening(redis, name);
      await sleep(100);
      expect(entered).to.equal(false);
      await lock.unlock();
      await within(2_000, 'the other one', waiting);
      expect(entered).to.equal(true);
      expect(await lock.isLocked()).to.equal(false);
    });

    it(`${ids[1]}: the holder that asks again is refused at once, whatever it calls, and keeps its one hold`, async () => {
      const warnings: Error[] = [];
      const listener = (warning: Error): void => void warnings.push(warning);
      process.on('warning', listener);
      await lock.lock();
      const startedAt = monotonicNow();
      const calls = [
        () => lock.lock(),
        () => lock.tryLock(),
        () => lock.tryLock(10_000),
        () => lock.tryAcquire(),
        () => lock.lockInterruptibly(1_000),
      ];
      for (const call of calls) {
        const error = await rejection(call());
        expect(error).to.be.instanceOf(IllegalMonitorStateError);
        expect(error.message).to.match(
          new RegExp(`^Lock '${name}' is non-reentrant and is already held by thread \\d+$`),
        );
      }
      expect(monotonicNow() - startedAt).to.be.below(2_000);
      expect(await lock.isHeldByCurrentThread()).to.equal(true);
      expect(await lock.getHoldCount()).to.equal(1);
      expect(await new FairQueue(redis, name).isEmpty()).to.equal(true);
      await lock.unlock();
      expect(await lock.isLocked()).to.equal(false);
      process.off('warning', listener);
      expect(warnings).to.deep.equal([]);
    });

    it(`${ids[1]}: so is acquire within the callback of withLock, and others may wait meanwhile`, async () => {
      await lock.withLock(async (hold) => {
        const waiting = of(client(redisUrl()), name).tryLock(5_000);
        await listening(redis, name);
        expect(await rejection(lock.acquire())).to.be.instanceOf(IllegalMonitorStateError);
        expect(await rejection(lock.tryAcquireHold({ threadId: hold.threadId }))).to.be.instanceOf(
          IllegalMonitorStateError,
        );
        expect(hold.isHeld).to.equal(true);
        await hold.unlock();
        expect(await within(2_000, 'the waiter', waiting)).to.equal(true);
      });
    });

    it('can be taken again once the lease has ended', async () => {
      await lock.lock(100, undefined, 1);
      await sleep(200);
      await lock.lock(-1, undefined, 1);
      await lock.unlock(1);
      expect(await redis.exists(name)).to.equal(0);
    });

    it('an acquisition that is sent twice is no re-entry', async () => {
      const proxy = trackClient(await TcpProxy.start(redisUrl()));
      const far = of(client(proxy.url), name);
      await far.lock();
      await far.unlock();
      const lost = proxy.swallowNextReply({ command: 'EVALSHA', then: 'cut' });
      const taking = far.lock();
      await lost;
      await within(5_000, 'the acquisition', taking);
      expect(await far.getHoldCount()).to.equal(1);
      await far.unlock();
      expect(await redis.exists(name)).to.equal(0);
    });

    it('a waiter whose attempt got no answer takes what that attempt brought', async () => {
      const proxy = trackClient(await TcpProxy.start(redisUrl()));
      const far = of(client(proxy.url, { timeout: 300 }), name);
      await lock.lock();
      const waiting = far.lock();
      await listening(redis, name);
      await sleep(50);
      // Its next attempt succeeds, but its answer never comes.
      const lost = proxy.swallowNextReply({ command: 'EVALSHA', then: 'hang' });
      await lock.unlock();
      await lost;
      await within(8_000, 'the waiter', waiting);
      expect(await far.getHoldCount()).to.equal(1);
      await far.unlock();
      expect(await redis.exists(name)).to.equal(0);
    });
  });
}
