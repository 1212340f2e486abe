import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import type { JavaRedisson } from './support/JavaRedisson';
import { EXCLUSIVE_LOCKS } from './support/kinds';
import type { NodeRedisson } from './support/NodeRedisson';
import { outcomeOf } from './support/outcome';
import { at } from './support/paths';
import type { Peer } from './support/Peer';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { startWaiting, untilRenewed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

describeWithJava('interop: the death of either side', () => {
  let stage: Stage;
  const doomed: (JavaRedisson | NodeRedisson)[] = [];

  before(async () => {
    stage = await Stage.shared({ config: { lockWatchdogTimeout: WATCHDOG_MS, fairLockWaitTimeout: 2000 } });
  });

  afterEach(async () => {
    await Promise.all(doomed.splice(0).map((driver) => driver.close()));
  });

  /** A process of that side with one client. */
  async function start(side: Side): Promise<{ driver: JavaRedisson | NodeRedisson; peer: Peer }> {
    const spawned = await stage.spawn(side);
    doomed.push(spawned.driver);
    return spawned;
  }

  bothWays('locks of a killed holder are free when their last lease ends', async (first, second) => {
    const { driver, peer } = await start(first);
    const names = EXCLUSIVE_LOCKS.map(() => uniqueName());
    const waiting = await Promise.all(
      EXCLUSIVE_LOCKS.map(async (kind, index) => {
        const name = names[index] ?? '';
        await peer.thread(`holder-${index}`).call(kind.path(name), 'lock');
        return startWaiting(stage.probe, kind, name, stage.peer(second).thread(`waiter-${index}`));
      }),
    );
    // The watchdog of the holder is at work.
    await Promise.all(names.map((name) => untilRenewed(() => stage.probe.redis.pttl(name), 1)));
    const killedAt = Date.now();
    await driver.kill();
    for (const [index, { done }] of waiting.entries()) {
      const { endedAt } = await done;
      expect(endedAt, EXCLUSIVE_LOCKS[index]?.title).to.be.within(killedAt, killedAt + WATCHDOG_MS + WOKEN_MS);
    }
    const peers = EXCLUSIVE_LOCKS.map((kind, index) => ({ path: kind.path(names[index] ?? ''), index }));
    await Promise.all(
      peers.map(({ path, index }) => stage.peer(second).thread(`waiter-${index}`).call(path, 'unlock')),
    );
  });

  bothWays('a killed waiter keeps nobody out for long', async (first, second) => {
    const { driver, peer } = await start(first);
    const names = EXCLUSIVE_LOCKS.map(() => uniqueName());
    const holder = (index: number) => stage.peer(second).thread(`holder-${index}`);
    await Promise.all(
      EXCLUSIVE_LOCKS.map(async (kind, index) => {
        const name = names[index] ?? '';
        await holder(index).call(kind.path(name), 'lock');
        await startWaiting(stage.probe, kind, name, peer.thread(`waiter-${index}`));
      }),
    );
    await driver.kill();
    await Promise.all(
      EXCLUSIVE_LOCKS.map(async (kind, index) => {
        const path = kind.path(names[index] ?? '');
        const unlocked = await holder(index).timed(path, 'unlock');
        const locked = await holder(index).timed(path, 'lock');
        // A fair lock waits for the dead waiter at the head of its queue until its time is up.
        expect(locked.endedAt - unlocked.endedAt, kind.title).to.be.below(WATCHDOG_MS + 2000 + WOKEN_MS);
        await holder(index).call(path, 'unlock');
      }),
    );
  });

  bothWays('a holder that slept past its lease has lost the lock, and learns so', async (first, second) => {
    const { driver, peer } = await start(first);
    const name = uniqueName();
    const holder = peer.thread('holder');
    await holder.call(at.lock(name), 'lock');
    driver.process?.pause();
    // The rest of its lease need not be waited for.
    await stage.probe.redis.pexpire(name, 1000);
    const other = stage.peer(second).thread('other');
    await other.call(at.lock(name), 'lock');
    driver.process?.resume();
    expect(await outcomeOf(holder.call(at.lock(name), 'unlock'))).to.equal('IllegalMonitorState');
    expect(await other.call(at.lock(name), 'isHeldByCurrentThread')).to.equal(true);
    await other.call(at.lock(name), 'unlock');
  });
});
