// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redisson, RLock } from '../../../lib';
import { sleep, trackClient, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

const MS = 1_000;

// A client with one caller has nobody to hand the lock on to, and asks for it again at once after its unlock.
describe('A3: clients whose callers loop let each other in', function () {
  this.timeout(30_000);

  /** Callers of each client take turns until the time is up. @returns how many turns each client had */
  async function turnsOf(
    contenders: readonly { callers: number; lock: (client: Redisson, name: string) => RLock }[],
    insideMs: number,
  ): Promise<number[]> {
    const redis = bareClient();
    const name = uniqueName('turns');
    trackClient({ close: () => redis.del(name) });
    const until = performance.now() + MS;
    return Promise.all(
      contenders.map(async ({ callers, lock: lockOf }) => {
        const lock = lockOf(newClient(), name);
        let turns = 0;
        const loop = async (thread: number): Promise<void> => {
          while (performance.now() < until) {
            await lock.lock(-1, undefined, thread);
            await (insideMs === 0 ? Promise.resolve() : sleep(insideMs));
            turns++;
            await lock.unlock(thread);
          }
        };
        await Promise.all(Array.from({ length: callers }, (_, thread) => loop(thread + 1)));
        return turns;
      }),
    );
  }

  function expectShares(turns: number[]): void {
    const fair = turns.reduce((sum, one) => sum + one) / turns.length;
    expect(Math.min(...turns), `of ${turns.join(', ')}`).to.be.at.least(fair / 10);
  }

  const plain = (client: Redisson, name: string): RLock => client.getLock(name);
  const read = (client: Redisson, name: string): RLock => client.getReadWriteLock(name).readLock();
  const write = (client: Redisson, name: string): RLock => client.getReadWriteLock(name).writeLock();

  for (const insideMs of [0, 1, 5]) {
    for (const callers of [
      [1, 1],
      [1, 1, 1],
      [1, 8],
    ]) {
      it(`plain lock, callers of each client: ${callers.join(', ')}; ${insideMs} ms inside`, async () => {
        expectShares(
          await turnsOf(
            callers.map((count) => ({ callers: count, lock: plain })),
            insideMs,
          ),
        );
      });
    }

    it(`one writer and one reader; ${insideMs} ms inside`, async () => {
      expectShares(
        await turnsOf(
          [
            { callers: 1, lock: write },
            { callers: 1, lock: read },
          ],
          insideMs,
        ),
      );
    });
  }
});
