import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../support/uniqueName';
import { EXCLUSIVE_LOCKS } from './support/kinds';
import { outcomeOf } from './support/outcome';
import { at, type Path } from './support/paths';
import type { PeerThread } from './support/PeerThread';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { RENEWAL_MS, untilRenewed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

/** Past the renewal that would come next. */
const PAST = RENEWAL_MS + 300;

/** A lease that outlives the test. */
const LONG = 30_000;

interface Held {
  readonly path: Path;
  readonly name: string;
  readonly holder: PeerThread;
  readonly other: PeerThread;
}

describeWithJava('interop: the watchdog of either side', () => {
  let stage: Stage;

  before(async () => {
    stage = await Stage.shared({ config: { lockWatchdogTimeout: WATCHDOG_MS, fairLockWaitTimeout: 2000 } });
  });

  /** One lock of each kind, held by the side, and for each a thread of the other side. */
  async function holdAll(holding: Side, otherSide: Side): Promise<Held[]> {
    const paths = [...EXCLUSIVE_LOCKS.map((kind) => kind.path), at.read];
    return Promise.all(
      paths.map(async (path, index) => {
        const name = uniqueName();
        const holder = stage.peer(holding).thread(`holder-${index}`);
        await holder.call(path(name), 'lock');
        return { path: path(name), name, holder, other: stage.peer(otherSide).thread(`other-${index}`) };
      }),
    );
  }

  /** The leases of {@link LONG} run on: a renewal would have set them back to the watchdog's. */
  async function notRenewed(held: readonly Held[]): Promise<void> {
    await sleep(PAST);
    for (const { name } of held)
      expect(await stage.probe.redis.pttl(name)).to.be.within(WATCHDOG_MS + 1, LONG - PAST + 100);
  }

  bothWays('keeps every kind of lock past its lease, and no longer than it is held', async (first, second) => {
    const held = await holdAll(first, second);
    await Promise.all(held.map(({ name }) => untilRenewed(() => stage.probe.redis.pttl(name))));
    for (const { path, name, holder } of held) {
      expect(await stage.probe.redis.pttl(name), JSON.stringify(path)).to.be.within(1, WATCHDOG_MS);
      expect(await stage.peer(second).call(path, 'isLocked')).to.equal(true);
      expect(await stage.peer(second).call(at.write(name), 'isHeldByCurrentThread')).to.equal(false);
      expect(await holder.call(path, 'isHeldByCurrentThread')).to.equal(true);
    }
    await Promise.all(held.map(({ path, holder }) => holder.call(path, 'unlock')));
    // The other side takes each with a lease of its own, which nobody may prolong.
    await Promise.all(held.map(({ path, other }) => other.call(path, 'lock', LONG, 'MILLISECONDS')));
    await notRenewed(held);
    await Promise.all(held.map(({ path, other }) => other.call(path, 'unlock')));
  });

  bothWays('gives up what the other side has forced open', async (first, second) => {
    const held = await holdAll(first, second);
    for (const { path } of held) expect(await stage.peer(second).call(path, 'forceUnlock')).to.equal(true);
    await Promise.all(held.map(({ path, other }) => other.call(path, 'lock', LONG, 'MILLISECONDS')));
    await notRenewed(held);
    for (const { path, holder } of held) {
      expect(await outcomeOf(holder.call(path, 'unlock'))).to.equal('IllegalMonitorState');
    }
    await Promise.all(held.map(({ path, other }) => other.call(path, 'unlock')));
  });

  bothWays('of two readers keeps each one only', async (first, second) => {
    const name = uniqueName();
    const [a, b] = [stage.peer(first).thread('a'), stage.peer(second).thread('b')];
    await a.call(at.read(name), 'lock');
    await b.call(at.read(name), 'lock');
    const renewed = async (reader: PeerThread): Promise<void> => {
      const hold = `{${name}}:${await reader.owner()}:rwlock_timeout:1`;
      await untilRenewed(() => stage.probe.redis.pttl(hold));
    };
    await Promise.all([a, b].map(renewed));
    await a.call(at.read(name), 'unlock');
    await renewed(b);
    expect(await a.call(at.write(name), 'tryLock')).to.equal(false);
    expect(await b.call(at.read(name), 'isHeldByCurrentThread')).to.equal(true);
    const writing = a.timed(at.write(name), 'tryLock', 10, 'SECONDS');
    const unlocked = await b.timed(at.read(name), 'unlock');
    const written = await writing;
    expect(written.result).to.equal(true);
    expect(written.endedAt - unlocked.startedAt).to.be.below(WOKEN_MS);
    await a.call(at.write(name), 'unlock');
  });
});
