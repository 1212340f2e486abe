import { expect } from 'chai';
import type { CommandExecutor } from '../../../lib/connection/pending/CommandExecutor';
import type { Subscriptions } from '../../../lib/waiters/Subscriptions';
import { followKeys } from '../../../lib/watchdog/followKeys';
import type { Ownership } from '../../../lib/watchdog/Ownership';
import type { Watchdog } from '../../../lib/watchdog/Watchdog';
import { laterTurn } from '../../../lib/util/timing';

describe('the keys that Redis reports (trackHolds)', () => {
  it('E9: are looked up: beside thousands of holds nothing but their own holds is looked at', async () => {
    const doubted: string[][] = [];
    let looked = 0;
    const watchdog = {
      doubt: (some: Ownership[]) => doubted.push(some.map(({ owner }) => owner)),
    } as unknown as Watchdog;
    const subscriptions = { awaited: () => new Set(), wakeAll: () => undefined } as unknown as Subscriptions;
    const changes = followKeys(watchdog, subscriptions, {} as CommandExecutor, () => undefined);
    const hold = (name: string, owner: string): Ownership => {
      const ownership = {
        owner,
        get rawName() {
          looked++;
          return name;
        },
      } as Ownership;
      watchdog.follower!.began(ownership);
      return ownership;
    };
    for (let i = 0; i < 5_000; i++) hold(`other ${i}`, 'o');
    await laterTurn();
    doubted.length = looked = 0;
    const first = hold('a', '1');
    hold('a', '2');
    hold('{s}', '3');
    await laterTurn();
    changes.changed(['a', '{s}:timeout', 'unknown']);
    await laterTurn();
    watchdog.follower!.ended(first);
    changes.changed(['a']);
    await laterTurn();
    expect(doubted).to.deep.equal([['1', '2', '3'], ['1', '2', '3'], ['2']]);
    expect(looked).to.be.below(10);
    changes.changed(undefined);
    await laterTurn();
    expect(doubted.at(-1)).to.have.length(5_002);
  });
});
