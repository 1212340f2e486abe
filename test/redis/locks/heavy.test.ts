// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redisson } from '../../../lib';
import { sleepUntil, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

const OWNERS = 5;
const LOOPS = 60;

/** RedissonLockHeavyTest, with the assertions it lacks: locks, strings and semaphores of many names at once. */
describe('heavy use', function () {
  this.timeout(30_000);

  async function walk(
    client: Redisson,
    prefix: string,
    take: (name: string, owner: number) => Promise<boolean>,
  ): Promise<number> {
    const redis = bareClient();
    let sections = 0;
    await Promise.all(
      Array.from({ length: OWNERS }, async (_, owner) => {
        for (let j = 0; j < LOOPS; j++) {
          const name = `${prefix}-lock-${j}`;
          if (!(await take(name, owner))) continue;
          sections += 1;
          await redis.set(`${prefix}-bucket-${j}`, owner, 'PX', 30_000);
          const semaphore = client.getSemaphore(`${prefix}-semaphore-${j}`);
          await semaphore.release();
          await semaphore.acquire();
          await client.getLock(name).unlock(owner);
        }
      }),
    );
    for (let j = 0; j < LOOPS; j++) {
      const left = await redis.get(`${prefix}-semaphore-${j}`);
      expect(left === null || left === '0', `semaphore ${j}: ${left}`).to.equal(true);
    }
    await sleepUntil(async () => ((await redis.pubsub('CHANNELS', `*${prefix}*`)) as string[]).length === 0);
    expect(await redis.keys(`*${prefix}-lock-*`)).to.deep.equal([]);
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    return sections;
  }

  it('LH-01: owners that walk the same locks one after the other all arrive, and leave nothing', async () => {
    const client = newClient();
    const sections = await walk(client, uniqueName('heavy'), async (name, owner) => {
      await client.getLock(name).lock(-1, undefined, owner);
      return true;
    });
    expect(sections).to.equal(OWNERS * LOOPS);
  });

  it('LH-02: waits too short to subscribe in leave no subscription and no lock', async () => {
    const client = newClient();
    const sections = await walk(client, uniqueName('heavy'), (name, owner) =>
      client.getLock(name).tryLock(Math.floor(Math.random() * 10), -1, undefined, owner),
    );
    expect(sections).to.be.within(LOOPS, OWNERS * LOOPS);
  });
});
