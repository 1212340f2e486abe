import { expect } from 'chai';
import type { LockLost } from '../../lib/watchdog/OwnershipTable';
import { RedisServer, sleep, trackClient, uniqueName } from '../support';
import { client, gone, openScene, type Scene, warmUp } from './scene';

describe('an unlock under way', function () {
  this.timeout(30_000);
  let scene: Scene;

  before(async () => {
    const server = trackClient(await RedisServer.start());
    scene = await openScene(server.url);
  });

  /** Rounds after each of which the client looks for the late acquisition soon: its pauses begin with 200 ms. */
  for (const holdMs of [0, 100, 300]) {
    it(`C4: an undo never overtakes it while the server refuses writes (held for ${holdMs} ms)`, async () => {
      const { direct, proxy } = scene;
      const redisson = client(proxy.url);
      const lost: LockLost[] = [];
      redisson.onLockLost((event) => lost.push(event));
      const lock = redisson.getLock(uniqueName('lock'));
      await warmUp(lock);
      const swallowed = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });

      const result = await lock.withLock(async ({ isHeld }) => {
        await swallowed;
        await sleep(holdMs);
        await direct.config('SET', 'min-replicas-to-write', '1');
        setTimeout(() => void direct.config('SET', 'min-replicas-to-write', '0'), 400);
        return isHeld;
      });

      expect(result).to.equal(true);
      expect(lost).to.deep.equal([]);
      await gone(direct, lock.name);
    });
  }

  for (const options of [{ leaseTime: 600 }, { atLeast: 1_000 }]) {
    it(`that is refused until the lease has ended tells of no loss: nobody worked under it (${JSON.stringify(options)})`, async () => {
      const { direct } = scene;
      const redisson = client(scene.url, { lockWatchdogTimeout: 600 });
      const lost: LockLost[] = [];
      redisson.onLockLost((event) => lost.push(event));
      const lock = redisson.getLock(uniqueName('lock'));
      await warmUp(lock);

      const result = await lock.withLock(async () => {
        await direct.config('SET', 'min-replicas-to-write', '1');
        setTimeout(() => void direct.config('SET', 'min-replicas-to-write', '0'), 1_500);
        return 'done';
      }, options);

      expect(result).to.equal('done');
      expect(lost).to.deep.equal([]);
      await gone(direct, lock.name);
    });
  }

  it('a repeat of one carries what is true by then: a lease set beside it stays', async () => {
    const { direct } = scene;
    const redisson = client(scene.url);
    const reads = Array.from({ length: 8 }, () => redisson.getReadWriteLock(uniqueName('lock')).readLock());
    await warmUp(redisson.getLock(uniqueName('lock')));
    const take = { threadId: 1, leaseTime: 3_000 };
    const outer = await Promise.all(reads.map((lock) => lock.acquire(take)));
    const inner = await Promise.all(reads.map((lock) => lock.acquire(take)));
    await direct.config('SET', 'min-replicas-to-write', '1');
    setTimeout(() => void direct.config('SET', 'min-replicas-to-write', '0'), 200);
    const done = reads.map(async (_, i) => {
      await sleep(3 * i);
      const unlock = inner[i]!.unlock();
      await sleep(80);
      await Promise.all([unlock, outer[i]!.extend(60_000)]);
    });
    await Promise.all(done);
    for (const [i, { name }] of reads.entries()) {
      expect(await direct.pttl(name), name).to.be.at.least(outer[i]!.remainingLeaseMs - 5);
      expect(outer[i]!.remainingLeaseMs).to.be.above(50_000);
      await outer[i]!.unlock();
      await gone(direct, name);
    }
  });
});
