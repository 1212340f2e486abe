// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError, type Redisson, type RLock } from '../../../lib';
import { client, within } from '../../faults/scene';
import { RedisServer, sleep, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

/** How often a later cycle is repeated, and what is locked. */
const KINDS: Readonly<Record<string, { readonly cycles: number; of(client: Redisson, name: string): RLock }>> = {
  'LR-01: a write lock': { cycles: 2, of: (client, name) => client.getReadWriteLock(name).writeLock() },
  'LR-02: a read lock': { cycles: 1, of: (client, name) => client.getReadWriteLock(name).readLock() },
  'LR-03: a plain lock': { cycles: 1, of: (client, name) => client.getLock(name) },
  'a fair lock': { cycles: 1, of: (client, name) => client.getFairLock(name) },
  'a spin lock': { cycles: 1, of: (client, name) => client.getSpinLock(name) },
};

describe('after Redis came back without its data', () => {
  for (const [title, { cycles, of }] of Object.entries(KINDS)) {
    it(`${title} is gone, and later ones are renewed again`, async () => {
      const server = trackClient(await RedisServer.start());
      const one = client(server.url, { lockWatchdogTimeout: 600, lockWatchdogBatchSize: 50 });
      const name = uniqueName('restart');
      const lost: string[] = [];
      one.onLockLost((event) => lost.push(event.name));
      const first = of(one, name);
      await first.lock(-1, undefined, 1);
      await server.restart();
      await sleep(1_000);
      expect(await within(5_000, 'the unlock', rejection(first.unlock(1)))).to.be.instanceOf(IllegalMonitorStateError);
      expect(lost).to.deep.equal([name]);
      for (let cycle = 0; cycle < cycles; cycle++) {
        const again = of(one, name);
        await again.lock(-1, undefined, 1);
        await sleep(1_000);
        await again.unlock(1);
        await sleep(100);
      }
      expect(await first.isLocked()).to.equal(false);
      expect(lost).to.have.lengthOf(1);
    });
  }
});
