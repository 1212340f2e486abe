import { expect } from 'chai';
import type { Redisson } from '../../../lib';
import type { SemaphoreFactory } from '../../contracts/SemaphoreUnderTest';
import { sleep, sleepUntil, uniqueName } from '../../support';
import { bareClient, listeners, newClient } from './support';
import { leasedSemaphore, plainSemaphore } from './underTest';

const PERMITS = 6;
const FLOWS = 40;

/** A small generator of numbers that are the same in every run of a seed. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * sides);
  };
}

/** Big and small requests, of three clients, some of which give up or are aborted at any moment. */
describe('Semaphores in a storm', () => {
  for (const [kind, make] of [
    ['plain', plainSemaphore],
    ['with leases', leasedSemaphore],
  ] as [string, SemaphoreFactory][]) {
    it(`${kind}: never too many inside, nobody forgotten, nothing lost`, async () => {
      const name = uniqueName('storm');
      const redis = bareClient();
      const clients: Redisson[] = [newClient(), newClient(), newClient()];
      const roll = dice(7);
      await make(clients[0]!, name).trySetPermits(PERMITS);
      let inside = 0;
      let acquired = 0;
      const flow = async (i: number): Promise<void> => {
        const semaphore = make(clients[i % 3]!, name);
        for (let round = 0; round < 6; round++) {
          const permits = 1 + roll(PERMITS);
          const limit = roll(3);
          const controller = new AbortController();
          if (limit === 1) setTimeout(() => controller.abort(new Error('no longer')), roll(60));
          const acquiring =
            limit === 0
              ? semaphore.acquire(permits)
              : limit === 1
                ? semaphore.acquire(permits, controller.signal).catch(() => undefined)
                : semaphore.tryAcquire(permits, roll(80));
          const taken = await acquiring;
          if (taken === undefined) continue;
          acquired += 1;
          inside += permits;
          expect(inside).to.be.at.most(PERMITS);
          await sleep(roll(4));
          inside -= permits;
          await semaphore.release(taken);
        }
      };
      await Promise.all(Array.from({ length: FLOWS }, (_, i) => flow(i)));
      expect(acquired).to.be.greaterThan(FLOWS);
      const permits = make(clients[0]!, name);
      await sleepUntil(async () => (await permits.availablePermits()) === PERMITS);
      await sleepUntil(async () => (await listeners(redis, `redisson_sc:{${name}}`)) === 0);
      await permits.delete();
    }).timeout(60_000);
  }
});
