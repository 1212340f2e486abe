// Ids in titles: test/README.md
import { expect } from 'chai';
import { client, connection, gone, openScene, type Scene } from '../../faults/scene';
import { LOCK_KINDS } from '../../faults/kinds';
import { monitor, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

/** What a machine that stands still delays is no time-out. */
const PATIENT = { timeout: 10_000 };

/** A12: what can never succeed is told, and not tried hundreds of times. */
describe('a lease that is shorter than the round trip (A12)', () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await openScene();
    scene.proxy.delay(40);
  });

  for (const kind of LOCK_KINDS.filter(({ title }) => !/multi|red/.test(title))) {
    it(`is told after a few attempts: ${kind.title}`, async () => {
      const name = uniqueName();
      const lock = kind.of(client(scene.proxy.url, PATIENT), name);
      await lock.isLocked();
      const watch = trackClient(await monitor(scene.url));
      const error = await rejection(lock.lock(20));
      expect(error).to.have.property('code', 'LOCK_LOST');
      expect(error.message).to.match(/lease of 20 ms was over each time that Redis answered/);
      await gone(connection(), ...kind.keys(name));
      const scripts = (await watch.commands()).filter((command) => command.name.startsWith('eval'));
      expect(scripts.length).to.be.at.most(20);
      expect(await lock.tryLock(30_000, 20_000), 'a longer lease').to.equal(true);
      await lock.unlock();
      await connection().del(`redisson_lock_token:{${name}}`);
    });

    it(`is not replaced by a longer one that nobody has: ${kind.title}`, async () => {
      const name = uniqueName();
      const lock = kind.of(client(scene.proxy.url, PATIENT), name);
      const hold = await lock.acquire({ leaseTime: 160 });
      expect(await rejection(hold.extend(60_000))).to.have.property('code', 'LOCK_LOST');
      await gone(connection(), ...kind.keys(name));
      await connection().del(`redisson_lock_token:{${name}}`);
    });
  }
});
