import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import { EXCLUSIVE_LOCKS, type LockKind } from './support/kinds';
import { outcomeOf } from './support/outcome';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { startWaiting, WOKEN_MS } from './support/waiting';

describeWithJava('interop: exclusive locks', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
  });

  for (const kind of EXCLUSIVE_LOCKS) describe(kind.title, () => suite(kind));

  function suite(kind: LockKind): void {
    bothWays('a waiter is in as soon as the holder unlocks', async (first, second) => {
      const holder = stage.peer(first).thread('holder');
      const waiter = stage.peer(second).thread('waiter');
      await holder.call(kind.path(name), 'lock');
      expect(await waiter.call(kind.path(name), 'tryLock')).to.equal(false);
      expect(await waiter.call(kind.path(name), 'isLocked')).to.equal(true);
      expect(await waiter.call(kind.path(name), 'isHeldByThread', await holder.id())).to.equal(false);
      const waiting = await startWaiting(stage.probe, kind, name, waiter);
      const unlocked = await holder.timed(kind.path(name), 'unlock');
      const locked = await waiting.done;
      expect(locked.endedAt).to.be.within(unlocked.startedAt, unlocked.startedAt + WOKEN_MS);
      expect(await waiter.call(kind.path(name), 'isHeldByCurrentThread')).to.equal(true);
      expect(await outcomeOf(holder.call(kind.path(name), 'unlock'))).to.equal('IllegalMonitorState');
      await waiter.call(kind.path(name), 'unlock');
      expect(await holder.call(kind.path(name), 'isLocked')).to.equal(false);
    });

    bothWays('a waiter is in when the lease of the holder ends', async (first, second) => {
      const holder = stage.peer(first).thread('holder');
      const waiter = stage.peer(second).thread('waiter');
      const held = await holder.timed(kind.path(name), 'lock', 400, 'MILLISECONDS');
      const locked = await waiter.timed(kind.path(name), 'lock');
      expect(locked.endedAt).to.be.within(held.startedAt + 399, held.endedAt + 400 + WOKEN_MS);
      expect(await outcomeOf(holder.call(kind.path(name), 'unlock'))).to.equal('IllegalMonitorState');
      expect(await waiter.call(kind.path(name), 'isHeldByCurrentThread')).to.equal(true);
      await waiter.call(kind.path(name), 'unlock');
    });

    bothWays('a waiter whose time is up leaves nothing behind', async (first, second) => {
      const holder = stage.peer(first).thread('holder');
      const waiter = stage.peer(second).thread('waiter');
      await holder.call(kind.path(name), 'lock');
      const before = await stage.probe.keysOf(name);
      const tried = await waiter.timed(kind.path(name), 'tryLock', 200, 'MILLISECONDS');
      expect(tried.result).to.equal(false);
      expect(tried.endedAt - tried.startedAt).to.be.within(199, 200 + WOKEN_MS);
      const channel = await kind.channel(name, waiter);
      if (channel !== undefined) await stage.probe.untilUnsubscribed(channel);
      // It leaves the queue of a fair lock behind its caller's back.
      await stage.probe.untilKeysOf(name, before);
      await holder.call(kind.path(name), 'unlock');
      expect(await waiter.call(kind.path(name), 'tryLock', 200, 'MILLISECONDS')).to.equal(true);
      await waiter.call(kind.path(name), 'unlock');
      expect(await stage.probe.keysLeft(name, second)).to.deep.equal(kind.leaves(name));
    });

    bothWays('the other side may force the lock open', async (first, second) => {
      const holder = stage.peer(first).thread('holder');
      const waiter = stage.peer(first).thread('waiter');
      await holder.call(kind.path(name), 'lock');
      const waiting = await startWaiting(stage.probe, kind, name, waiter);
      const forced = await stage.peer(second).thread('force').timed(kind.path(name), 'forceUnlock');
      expect(forced.result).to.equal(true);
      const locked = await waiting.done;
      expect(locked.endedAt).to.be.within(forced.startedAt, forced.startedAt + WOKEN_MS);
      expect(await outcomeOf(holder.call(kind.path(name), 'unlock'))).to.equal('IllegalMonitorState');
      await waiter.call(kind.path(name), 'unlock');
      expect(await stage.peer(second).call(kind.path(name), 'forceUnlock')).to.equal(false);
    });

    if (!kind.reentrant) return;

    bothWays('every hold of a re-entered lock has to be given back', async (first, second) => {
      const holder = stage.peer(first).thread('holder');
      const other = stage.peer(second).thread('other');
      await holder.call(kind.path(name), 'lock');
      await holder.call(kind.path(name), 'lock', 20, 'SECONDS');
      await holder.call(kind.path(name), 'tryLock');
      const waiting = await startWaiting(stage.probe, kind, name, other);
      for (const holds of [3, 2, 1]) {
        expect(Object.values(await stage.probe.redis.hgetall(name))).to.include(String(holds));
        expect(await holder.call(kind.path(name), 'getHoldCount')).to.equal(holds);
        expect(await stage.peer(second).call(kind.path(name), 'tryLock')).to.equal(false);
        await holder.call(kind.path(name), 'unlock');
      }
      await waiting.done;
      expect(await holder.call(kind.path(name), 'getHoldCount')).to.equal(0);
      expect(await other.call(kind.path(name), 'getHoldCount')).to.equal(1);
      await other.call(kind.path(name), 'unlock');
    });
  }
});
