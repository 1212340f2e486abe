import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { ShutdownError } from '../../../lib/errors';
import { currentThreadId, runAsNewThread } from '../../../lib/thread/threadScope';
import { fakeClock, stallClock } from '../../support';
import { FakeOwnerships, settled } from './fakeOwnerships';

describe('Watchdog: trouble', () => {
  let clock: SinonFakeTimers;
  let owned: FakeOwnerships;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
  });

  it('repeats a renewal that failed, several times within the lease, and goes on when it succeeds', async () => {
    owned.take('a');
    let down = true;
    owned.answer = async (batch) => {
      if (down) throw new Error('down');
      return batch.map(() => true);
    };
    await clock.tickAsync(20_000);
    expect(owned.batches.length).to.be.within(5, 20);
    down = false;
    await clock.tickAsync(1_000);
    const before = owned.batches.length;
    await clock.tickAsync(8_000);
    expect(owned.batches.length - before, 'back to a third of the lease').to.be.at.most(1);
    await clock.tickAsync(60_000);
    expect(owned.lost).to.deep.equal([]);
  });

  for (const how of ['says that it was gone', 'fails']) {
    it(`an answer that comes after the lock was given back and taken again says nothing of it, and ${how}`, async () => {
      const reply = pDefer<boolean[]>();
      owned.take('a');
      // As an engine does, which keeps the ownership of its last thread; so does an undo.
      const ownership = owned.ownership('a');
      ownership.lane.undo();
      owned.answer = () => (owned.batches.length === 1 ? reply.promise : Promise.resolve([true]));
      await clock.tickAsync(10_001);
      owned.giveBack('a');
      const again = owned.take('a');
      if (how === 'fails') reply.reject(new Error('down'));
      else reply.resolve([false]);
      await clock.tickAsync(1_000);
      expect([again.lost, owned.lost.length]).to.deep.equal([undefined, 0]);
      expect([ownership.failure, owned.batches.length]).to.deep.equal([undefined, 1]);
      expect(ownership.holds).to.deep.equal([again]);
    });
  }

  it('repeats a renewal that fails in the last second of the lease within it', async () => {
    const reply = pDefer<boolean[]>();
    owned.answer = () => (owned.batches.length === 1 ? reply.promise : Promise.resolve([true]));
    owned.take('a');
    // As where the connection was gone for 7 s, and is back a moment later.
    await clock.tickAsync(29_300);
    reply.reject(new Error('down'));
    await clock.tickAsync(30_000);
    expect(owned.lost).to.deep.equal([]);
    expect(owned.times[1]).to.be.below(29_700);
  });

  it('repeats it some ten times in that second, and not without a pause', async () => {
    owned.answer = () => Promise.reject(new Error('down'));
    owned.take('a');
    await clock.tickAsync(29_000);
    const before = owned.batches.length;
    await clock.tickAsync(1_000);
    expect(owned.lost).to.have.length(1);
    expect(owned.batches.length - before).to.be.within(5, 15);
  });

  it('tells a hold that no renewal reached as lost before Redis lets it go, with the error, once', async () => {
    const hold = owned.take('a');
    owned.ownership('a').deadline = 29_960;
    const told: { at: number; cause: Error }[] = [];
    hold.onLost = (cause) => told.push({ at: performance.now(), cause });
    owned.answer = () => Promise.reject(new Error('down'));
    await clock.tickAsync(60_000);
    expect(told).to.have.length(1);
    expect(told[0]!.at).to.be.lessThan(30_000);
    expect(told[0]!.cause.cause).to.have.property('message', 'down');
    expect(owned.lost).to.have.length(1);
    expect(owned.table.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('survives a renewal that throws instead of rejecting', async () => {
    owned.take('a');
    owned.answer = () => {
      throw new Error('bug');
    };
    await clock.tickAsync(12_000);
    owned.answer = async (batch) => batch.map(() => true);
    await clock.tickAsync(60_000);
    expect(owned.lost).to.deep.equal([]);
  });

  it('tells at once of a hold that the renewal finds gone, and renews it no more', async () => {
    const hold = owned.take('a');
    const told: Error[] = [];
    hold.onLost = (cause) => told.push(cause);
    owned.answer = async () => [false];
    await clock.tickAsync(60_000);
    expect(owned.times).to.deep.equal([10_000]);
    expect([told.length, owned.lost.length]).to.deep.equal([1, 1]);
    expect(owned.lost[0]).to.deep.include({ name: 'a', threadId: 1 });
    expect(owned.lost[0]!.cause).to.equal(told[0]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tells the end of an explicit lease', async () => {
    owned.take('a', { leaseMs: 500 });
    await clock.tickAsync(500);
    expect(owned.reasons[0]).to.contain('lease has ended');
    expect(clock.countTimers()).to.equal(0);
  });

  it('sends no second renewal of a hold while the first is unanswered', async () => {
    owned.take('a');
    owned.answer = () => new Promise(() => undefined);
    await clock.tickAsync(29_999);
    expect(owned.times).to.deep.equal([10_000]);
  });

  it('heeds no answer about a hold that was given back meanwhile, and taken again', async () => {
    const reply = pDefer<boolean[]>();
    owned.answer = () => reply.promise;
    owned.take('a');
    await clock.tickAsync(10_000);
    owned.giveBack('a');
    owned.take('a');
    reply.resolve([false]);
    await settled();
    expect(owned.lost).to.deep.equal([]);
    expect(owned.ownership('a').holds).to.have.length(1);
  });

  it('takes no failure of before for one of a hold that was given back meanwhile, and taken again', async () => {
    const [first, second] = [pDefer<boolean[]>(), pDefer<boolean[]>()];
    owned.answer = () => (owned.batches.length === 1 ? first : second).promise;
    // The same object, as with a handle of a lock.
    const ownership = owned.ownership('a');
    owned.take('a');
    await clock.tickAsync(10_000);
    owned.giveBack('a');
    owned.table.open(ownership);
    owned.take('a');
    await clock.tickAsync(10_000);
    first.reject(new Error('too late'));
    await settled();
    expect(ownership.failure).to.equal(undefined);
    // Nor is the renewal of now answered by that.
    await clock.tickAsync(9_999);
    expect(owned.times).to.deep.equal([10_000, 20_000]);
    second.resolve([true]);
    await clock.tickAsync(1);
    expect(owned.times).to.deep.equal([10_000, 20_000, 30_000]);
    expect(owned.lost).to.deep.equal([]);
  });

  it('gives a loss no cause from before its lock was given back and taken again', async () => {
    const ownership = owned.ownership('a');
    ownership.lane.undo();
    owned.take('a');
    owned.answer = () => Promise.reject(new Error('down'));
    await clock.tickAsync(10_001);
    expect(ownership.failure).to.have.property('message', 'down');
    owned.giveBack('a');
    owned.answer = () => new Promise(() => undefined);
    owned.take('a');
    await clock.tickAsync(30_000);
    expect(owned.lost.map(({ cause }) => cause.cause)).to.deep.equal([undefined]);
    expect(owned.reasons[0]).to.contain('Redis silent');
  });

  it('extends no deadline by an answer that comes after only a lease is left', async () => {
    const reply = pDefer<boolean[]>();
    owned.answer = () => reply.promise;
    const outer = owned.take('a');
    owned.take('a', { leaseMs: 12_000 });
    await clock.tickAsync(10_000);
    owned.giveBack('a', outer);
    reply.resolve([true]);
    await settled();
    expect(owned.ownership('a').deadline).to.equal(12_000);
  });

  describe('a stall of the event loop', () => {
    it('costs a renewal, but no hold, while it is shorter than the lease', async () => {
      owned.take('a');
      await settled();
      clock.jump(25_000);
      await settled();
      expect(owned.lost).to.deep.equal([]);
      expect(owned.batches).to.have.length(1);
    });

    it('that outlasts the lease is found out by the first reply, before the timer', async () => {
      const hold = owned.take('a');
      let lost = false;
      hold.onLost = () => (lost = true);
      // The clock has gone on, but no timer has fired yet.
      stallClock(clock, 31_000);
      expect(lost).to.equal(false);
      owned.watchdog.catchUp();
      expect(lost).to.equal(true);
      expect(owned.reasons[0]).to.contain('event loop blocked');
      expect(owned.batches).to.deep.equal([]);
      expect(clock.countTimers()).to.equal(0);
    });

    it('is nothing to catch up with before anything is due', () => {
      owned.take('a');
      stallClock(clock, 9_000);
      owned.watchdog.catchUp();
      expect(owned.batches).to.deep.equal([]);
    });

    it('with many losses whose listeners look at other holds does not overflow the stack', () => {
      for (let i = 0; i < 20_000; i++) {
        owned.take(`lock-${i}`).onLost = () => owned.watchdog.catchUp();
      }
      stallClock(clock, 31_000);
      owned.watchdog.catchUp();
      expect(owned.lost).to.have.length(20_000);
      expect(clock.countTimers()).to.equal(0);
    });
  });

  it('tells of losses outside any thread scope, whoever finds out', () => {
    const scopes: unknown[] = [];
    owned.table.onLost(() => scopes.push(currentThreadId()));
    owned.take('a', { leaseMs: 1_000 }).onLost = () => scopes.push(currentThreadId());
    stallClock(clock, 2_000);
    void runAsNewThread(() => owned.watchdog.catchUp());
    expect(scopes).to.deep.equal([undefined, undefined]);
  });

  it('renews outside any thread scope, whoever took the lock', async () => {
    const scopes: unknown[] = [];
    owned.answer = async (batch) => {
      scopes.push(currentThreadId());
      return batch.map(() => true);
    };
    void runAsNewThread(() => owned.take('a'));
    await clock.tickAsync(20_000);
    expect(scopes).to.deep.equal([undefined, undefined]);
  });

  it('tells the holds, not the listeners, that the client is shut down', () => {
    const told: Error[] = [];
    owned.take('a').onLost = (cause) => told.push(cause);
    owned.table.close();
    expect(told).to.have.length(1);
    expect(told[0]!.cause).to.be.instanceOf(ShutdownError);
    expect(owned.lost).to.deep.equal([]);
    expect(clock.countTimers()).to.equal(0);
  });
});
