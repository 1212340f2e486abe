// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Redisson, RReadWriteLock } from '../../../lib';
import { risen, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

// Redisson gives the read holds of a thread on x and on {x} the same keys; they are holds on two locks all the same.
describe('A1: one thread reads x and {x}', () => {
  let redis: Redis;
  let one: Redisson;
  let two: Redisson;
  let bare: string;

  beforeEach(() => {
    redis = bareClient();
    bare = uniqueName('reads');
    trackClient({
      close: async () => redis.del(bare, `{${bare}}`, ...(await redis.keys(`{${bare}}:*`))),
    });
    one = newClient();
    two = newClient();
  });

  /** Another reader comes and goes; then a writer of another client may not come in. */
  async function expectKeptFromWriters(held: string): Promise<void> {
    const passing = two.getReadWriteLock(held).readLock();
    await passing.lock(-1, undefined, 7);
    await passing.unlock(7);
    const writer = two.getReadWriteLock(held).writeLock();
    expect(await writer.tryLock(0, -1, undefined, 8), 'a writer came in').to.equal(false);
    expect(await one.getReadWriteLock(held).readLock().isHeldByThread?.(1)).to.equal(true);
  }

  for (const order of ['x, then {x}', '{x}, then x']) {
    describe(order, () => {
      let first: RReadWriteLock;
      let second: RReadWriteLock;
      let names: [string, string];

      beforeEach(() => {
        names = order.startsWith('x') ? [bare, `{${bare}}`] : [`{${bare}}`, bare];
        first = one.getReadWriteLock(names[0]);
        second = one.getReadWriteLock(names[1]);
      });

      it('unlocks one: the other keeps writers out when the next reader leaves', async () => {
        await first.readLock().lock(-1, undefined, 1);
        await second.readLock().lock(-1, undefined, 1);
        await first.readLock().unlock(1);
        await expectKeptFromWriters(names[1]);
        await second.readLock().unlock(1);
        expect(await redis.keys(`*${bare}*`), 'nothing is left').to.deep.equal([]);
      });

      it('unlocks one hold of two: the other lock keeps its two', async () => {
        await first.readLock().lock(-1, undefined, 1);
        for (let i = 0; i < 2; i++) await second.readLock().lock(-1, undefined, 1);
        await first.readLock().unlock(1);
        await expectKeptFromWriters(names[1]);
        await second.readLock().unlock(1);
        await expectKeptFromWriters(names[1]);
        await second.readLock().unlock(1);
        expect(await redis.keys(`*${bare}*`), 'nothing is left').to.deep.equal([]);
      });

      it('a short lease of one does not shorten the other', async () => {
        await first.readLock().lock(-1, undefined, 1);
        await second.readLock().lock(300, undefined, 1);
        await sleep(350);
        await expectKeptFromWriters(names[0]);
      });

      it('a lease that is cut when holds are given back does not shorten the other', async () => {
        await first.readLock().lock(30_000, undefined, 1);
        await second.readLock().lock(400, undefined, 1);
        await second.readLock().lock(-1, undefined, 1);
        await second.readLock().unlock(1);
        await sleep(450);
        await expectKeptFromWriters(names[0]);
      });

      it('a downgrade keeps the read hold', async () => {
        await first.readLock().lock(-1, undefined, 1);
        await second.writeLock().lock(-1, undefined, 1);
        await second.readLock().lock(-1, undefined, 1);
        await first.readLock().unlock(1);
        await second.writeLock().unlock(1);
        await expectKeptFromWriters(names[1]);
      });

      it('the watchdog keeps the other', async () => {
        // Every third of it, also on a machine that stands still for two seconds.
        const quick = newClient({ lockWatchdogTimeout: 4_500 });
        const [a, b] = names.map((name) => quick.getReadWriteLock(name).readLock());
        await a!.lock(-1, undefined, 1);
        await b!.lock(-1, undefined, 1);
        await a!.unlock(1);
        const keys = await redis.keys(`*${bare}*`);
        const leastTtl = async () => Math.min(...(await Promise.all(keys.map((key) => redis.pttl(key)))));
        const message = 'the lock and the key of its reader are renewed';
        await sleepUntil(risen(leastTtl), { interval: 20, message });
        const passing = two.getReadWriteLock(names[1]).readLock();
        await passing.lock(-1, undefined, 7);
        await passing.unlock(7);
        expect(await two.getReadWriteLock(names[1]).writeLock().tryLock(0, -1, undefined, 8)).to.equal(false);
        expect(await b!.isHeldByThread?.(1)).to.equal(true);
      });

      it('two clients do not touch each other, whatever the thread', async () => {
        await first.readLock().lock(-1, undefined, 1);
        await two.getReadWriteLock(names[1]).readLock().lock(-1, undefined, 1);
        await two.getReadWriteLock(names[1]).readLock().unlock(1);
        await expectKeptFromWriters(names[0]);
      });
    });
  }
});
