import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { LockHold } from '../../lib';
import { allowLeftovers, monitor, redisUrl, RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { holdCounts, LOCK_KINDS } from './kinds';
import { client, connection, LONG_LEASE_MS, openScene, SOON_MS, subscribers, within } from './scene';

const LEASE = { leaseTime: LONG_LEASE_MS };
/** Their waiters ask again and again, and listen to nothing. */
const SILENT = 'spin lock';
/** Is held when most of its three locks are. */
const QUORUM = 'red lock';

for (const kind of LOCK_KINDS) {
  describe(`${kind.title}, under faults`, () => {
    const members = kind.keys('x').length;
    const once = Array.from({ length: members }, () => 1);
    const none = once.map(() => 0);
    let name: string;

    beforeEach(() => {
      name = uniqueName();
      // The counter of the tokens stays, so that they never go back.
      if (kind.fenced) allowLeftovers({ keys: /redisson_lock_token/ });
    });

    async function untilFree(direct: Redis): Promise<void> {
      const free = async (): Promise<boolean> => (await holdCounts(direct, kind, name)).every((count) => count === 0);
      await sleepUntil(free, { timeout: SOON_MS, interval: 20, message: `nobody has the ${kind.title}` });
    }

    /** A red lock takes what is free while the others are still on their way: most of its locks are enough. */
    async function expectEntered(direct: Redis): Promise<void> {
      const counts = await holdCounts(direct, kind, name);
      if (kind.title !== QUORUM) expect(counts).to.deep.equal(once);
      else expect(counts.toSorted().slice(-2)).to.deep.equal([1, 1]);
    }

    it('takes one command per lock and one per unlock', async () => {
      const lock = kind.of(client(redisUrl()), name);
      await (await lock.acquire(LEASE)).unlock();
      const seen = trackClient(await monitor(redisUrl()));
      const hold = await lock.acquire();
      expect(await seen.sentNames()).to.deep.equal(once.map(() => 'evalsha'));
      await seen.clear();
      await hold.unlock();
      expect(await seen.sentNames()).to.deep.equal(once.map(() => 'evalsha'));
    });

    it('has one hold after the reply to an acquisition was lost, and none after its unlock', async () => {
      const { proxy, direct } = await openScene();
      const lock = kind.of(client(proxy.url), name);
      await (await lock.acquire(LEASE)).unlock();
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      const hold = await lock.acquire(LEASE);
      await lost;
      expect(await holdCounts(direct, kind, name)).to.deep.equal(once);
      await hold.unlock();
      await untilFree(direct);
    });

    it('is released once when the reply to the unlock was lost, and leaves the next owner alone', async () => {
      const { proxy, direct, url } = await openScene();
      const lock = kind.of(client(proxy.url), name);
      await (await lock.acquire(LEASE)).unlock();
      const hold = await lock.acquire(LEASE);
      proxy.refuse();
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      const unlocking = hold.unlock();
      await lost;
      // The other members of a multi-lock may be released only when the connection is back.
      const next =
        members === 1 ? await kind.rival(client(url), name).acquire({ ...LEASE, waitTime: SOON_MS }) : undefined;
      await proxy.accept();
      await unlocking;
      if (next !== undefined) {
        expect(await holdCounts(direct, kind, name)).to.deep.equal(once);
        await next.unlock();
      }
      await untilFree(direct);
    });

    it('keeps no waiter that was aborted while its command was on the way', async () => {
      const { proxy, direct } = await openScene();
      const lock = kind.of(client(proxy.url), name);
      await (await lock.acquire(LEASE)).unlock();
      proxy.delay(150, 'up');
      const controller = new AbortController();
      const locking = lock.acquire({ ...LEASE, signal: controller.signal }).catch((error: unknown) => error);
      await sleep(20);
      controller.abort('enough');
      expect(await locking).to.equal('enough');
      await proxy.pass();
      await sleep(200);
      await untilFree(direct);
    });

    it('wakes a waiter whose subscriber was killed and who missed the unlock', async () => {
      const { proxy, direct, url } = await openScene();
      const held = await kind.rival(client(url), name).acquire(LEASE);
      const waiting = kind.of(client(proxy.url), name).acquire(LEASE);
      if (kind.title !== SILENT) await sleepUntil(async () => (await subscribers(direct, name)) > 0);
      proxy.refuse();
      await direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await held.unlock();
      await proxy.accept();
      const hold = await within(SOON_MS, 'the waiter gets in', waiting);
      await expectEntered(direct);
      await hold.unlock();
      await untilFree(direct);
    });

    it('lets a waiter in after a restart without data, and tells the former holder', async () => {
      const server = trackClient(await RedisServer.start());
      const direct = connection(server.url);
      const held = await kind.rival(client(server.url, { lockWatchdogTimeout: 2_100 }), name).acquire();
      const waiting = kind.of(client(server.url), name).acquire(LEASE);
      if (kind.title === SILENT) await sleep(50);
      else await sleepUntil(async () => (await subscribers(direct, name)) > 0);
      await server.restart();
      const hold: LockHold = await within(SOON_MS, 'the waiter gets in', waiting);
      await sleepUntil(() => held.signal.aborted, { timeout: SOON_MS, message: 'the former holder is told' });
      await expectEntered(direct);
      await hold.unlock();
      expect(await holdCounts(direct, kind, name)).to.deep.equal(none);
    });
  });
}
