import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Redisson } from '../../../lib';
import { LONG_LEASE_MS, within } from '../../faults/scene';
import { sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

/** A waiter that is told gets in within this; one that is not comes when the lease ends. */
const SOON_MS = 6_000;

// Redisson gives the fair locks of both names one queue, in which an owner has one place.
describe('fair locks of the names x and {x}: an owner that wants both', () => {
  let redis: Redis;
  let owner: Redisson;
  let other: Redisson;
  let bare: string;
  let braced: string;

  beforeEach(() => {
    redis = bareClient();
    bare = uniqueName('fairNames');
    braced = `{${bare}}`;
    const keys = ['lock_queue', 'lock_timeout'].map((key) => `redisson_${key}:{${bare}}`);
    trackClient({ close: () => redis.del(bare, braced, ...keys) });
    owner = newClient();
    other = newClient();
  });

  const queued = (): Promise<number> => redis.llen(`redisson_lock_queue:{${bare}}`);

  const scripts = async (): Promise<number> => {
    const stats = (await redis.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
    return [...stats].reduce((sum, [, calls]) => sum + Number(calls), 0);
  };

  for (const [wanted, beside] of [
    ['x', '{x}'],
    ['{x}', 'x'],
  ]) {
    const namesOf = (): [string, string] => (wanted === 'x' ? [bare, braced] : [braced, bare]);

    /** Until it sleeps: it attempts once before it listens, and once behind that. */
    async function asleep(wait: () => Promise<void>): Promise<Promise<void>[]> {
      const before = await scripts();
      const waiting = wait();
      waiting.catch(() => undefined);
      await sleepUntil(async () => (await scripts()) >= before + 2);
      return [waiting];
    }

    async function isWoken(name: string, wait: Promise<void>): Promise<void> {
      // It is back in the queue by now, or was never out of it; nobody but an unlock tells it before the lease ends.
      await sleepUntil(async () => (await queued()) === 1, { timeout: SOON_MS, message: 'in the queue' });
      await other.getFairLock(name).unlock(1);
      await within(SOON_MS, `woken for ${wanted}`, wait);
      expect(await redis.hkeys(name)).to.deep.equal([`${owner.getId()}:1`]);
    }

    it(`is woken for ${wanted} after it has got ${beside} meanwhile`, async () => {
      const [name, sibling] = namesOf();
      await other.getFairLock(name).lock(LONG_LEASE_MS, undefined, 1);
      const [wait] = await asleep(() => owner.getFairLock(name).lock(LONG_LEASE_MS, undefined, 1));
      expect(await owner.getFairLock(sibling).tryLock({ threadId: 1 })).to.equal(true);
      await isWoken(name, wait!);
    });

    it(`is woken for ${wanted} after it has stopped waiting for ${beside}`, async () => {
      const [name, sibling] = namesOf();
      await other.getFairLock(name).lock(LONG_LEASE_MS, undefined, 1);
      await other.getFairLock(sibling).lock(LONG_LEASE_MS, undefined, 1);
      const [wait] = await asleep(() => owner.getFairLock(name).lock(LONG_LEASE_MS, undefined, 1));
      const late = owner.getFairLock(sibling).lock(-1, undefined, { threadId: 1, signal: AbortSignal.timeout(300) });
      await late.then(
        () => expect.fail('got it'),
        (error: Error) => expect(error.name).to.equal('TimeoutError'),
      );
      await isWoken(name, wait!);
    });
  }
});
