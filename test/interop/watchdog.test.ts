import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../support/uniqueName';
import { EXCLUSIVE_LOCKS } from './support/kinds';
import { outcomeOf } from './support/outcome';
import { at, type Path } from './support/paths';
import type { PeerThread } from './support/PeerThread';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

/** Short, so that holds outlive it; long enough for two missed renewals on a busy machine. */
const TIMEOUT = 1500;

/** Past the end of a lease that nobody renews. */
const PAST = TIMEOUT * 1.6;

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
    stage = await Stage.shared({ config: { lockWatchdogTimeout: TIMEOUT, fairLockWaitTimeout: 2000 } });
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

  bothWays('keeps every kind of lock past its lease, and no longer than it is held', async (first, second) => {
    const held = await holdAll(first, second);
    await sleep(PAST);
    for (const { path, name, holder } of held) {
      expect(await stage.probe.redis.pttl(name), JSON.stringify(path)).to.be.within(1, TIMEOUT);
      expect(await stage.peer(second).call(path, 'isLocked')).to.equal(true);
      expect(await stage.peer(second).call(at.write(name), 'isHeldByCurrentThread')).to.equal(false);
      expect(await holder.call(path, 'isHeldByCurrentThread')).to.equal(true);
    }
    await Promise.all(held.map(({ path, holder }) => holder.call(path, 'unlock')));
    // The other side takes each with a lease of its own, which nobody may prolong.
    await Promise.all(held.map(({ path, other }) => other.call(path, 'lock', 300, 'MILLISECONDS')));
    await sleep(900);
    for (const { name } of held) expect(await stage.probe.redis.exists(name)).to.equal(0);
  });

  bothWays('gives up what the other side has forced open', async (first, second) => {
    const held = await holdAll(first, second);
    for (const { path } of held) expect(await stage.peer(second).call(path, 'forceUnlock')).to.equal(true);
    await Promise.all(held.map(({ path, other }) => other.call(path, 'lock', LONG, 'MILLISECONDS')));
    await sleep(PAST);
    // Renewals of the former holder would have set the time to live back to the watchdog's.
    for (const { name } of held)
      expect(await stage.probe.redis.pttl(name)).to.be.within(TIMEOUT + 1, LONG - PAST + 100);
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
    await sleep(PAST);
    await a.call(at.read(name), 'unlock');
    await sleep(PAST);
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
