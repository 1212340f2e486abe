import { expect } from 'chai';
import { Redisson } from '../../lib';
import { sleep, sleepUntil, trackClient } from '../support';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { describeWithJava } from './support/suites';
import { RENEWAL_MS, untilRenewed, WATCHDOG_MS } from './support/waiting';

/** What Java sees of holds that only this package has: permits that are renewed, and holds by ticket. */
describeWithJava('interop: holds of this package beside Java', () => {
  let stage: Stage;
  let name: string;
  let web: Redisson;
  let worker: Redisson;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
    const open = (): Redisson =>
      trackClient(Redisson.create({ url: stage.server.url, lockWatchdogTimeout: WATCHDOG_MS }));
    [web, worker] = [open(), open()];
  });

  it('permits that are renewed are ordinary permits: Java counts, renews and releases them', async () => {
    const permits = at.permits(name);
    const { java } = stage;
    expect(await java.call(permits, 'trySetPermits', 3)).to.equal(true);
    const semaphore = web.getPermitExpirableSemaphore(name);
    const hold = await semaphore.acquireHold({ permits: 2 });
    await Promise.all(hold.ids.map((id) => untilRenewed(() => java.call(permits, 'getLeaseTime', id))));
    expect(await java.call(permits, 'availablePermits')).to.equal(1);
    expect(await java.call(permits, 'acquiredPermits')).to.equal(2);
    expect(await java.call(permits, 'getLeaseTime', hold.ids[0]!)).to.be.within(1, WATCHDOG_MS);
    expect(hold.isHeld).to.equal(true);
    const waiting = java.call<string[]>(permits, 'acquire', 2);
    await sleep(200);
    await hold.release();
    expect(await waiting).to.have.lengthOf(2);
    expect(await java.call(permits, 'tryRelease', await waiting)).to.equal(2);

    const taken = await semaphore.acquireHold({ permits: 2 });
    expect(await java.call(permits, 'updateLeaseTime', taken.ids[0]!, 60, 'SECONDS')).to.equal(true);
    await sleep(RENEWAL_MS + 200);
    expect(await java.call(permits, 'getLeaseTime', taken.ids[0]!)).to.be.within(30_000, 60_000);
    expect(await java.call(permits, 'tryRelease', taken.ids[1]!)).to.equal(true);
    await sleepUntil(() => taken.signal.aborted, { timeout: 5_000 });
    await taken[Symbol.asyncDispose]();
    await sleepUntil(async () => (await java.call(permits, 'availablePermits')) === 3);
  });

  const KINDS = {
    lock: { path: at.lock, of: (client: Redisson) => client.getLock(name) },
    fair: { path: at.fair, of: (client: Redisson) => client.getFairLock(name) },
    fenced: { path: at.fenced, of: (client: Redisson) => client.getFencedLock(name) },
    spin: { path: at.spin, of: (client: Redisson) => client.getSpinLock(name) },
    write: { path: at.write, of: (client: Redisson) => client.getReadWriteLock(name).writeLock() },
  };
  for (const [kind, { path, of }] of Object.entries(KINDS)) {
    it(`a ${kind} that moves by ticket is held for Java all the time; then Java gets it`, async () => {
      const java = stage.java.thread('waiter');
      const seen: unknown[] = [];
      let looking = true;
      const hold = await of(web).acquire();
      const looks = (async () => {
        while (looking) seen.push(await java.call(path(name), 'isLocked'), await java.call(path(name), 'tryLock'));
      })();
      for (let i = 0, last = hold; i < 20; i++) {
        const ticket = await last.detach();
        last = await (i % 2 ? web : worker).attach(ticket);
        if (i < 19) continue;
        looking = false;
        await looks;
        const waiting = java.call(path(name), 'lock');
        await sleep(300);
        await last.unlock();
        await waiting;
      }
      expect(await java.call(path(name), 'isHeldByCurrentThread')).to.equal(true);
      await java.call(path(name), 'unlock');
      expect(seen.length).to.be.greaterThan(1);
      for (let i = 0; i < seen.length; i += 2) expect([seen[i], seen[i + 1]]).to.deep.equal([true, false]);
    });
  }

  it('a ticket that nobody takes up ends with its lease, and Java gets the lock', async () => {
    const hold = await web.getLock(name).acquire();
    await hold.detach({ leaseTime: 500 });
    const java = stage.java.thread('waiter');
    expect(await java.call(at.lock(name), 'tryLock', 10, 'SECONDS')).to.equal(true);
    await java.call(at.lock(name), 'unlock');
  });
});
