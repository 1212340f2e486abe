import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { ShutdownError } from '../../../lib/errors';
import { currentThreadId, runAsThread } from '../../../lib/thread/threadScope';
import { fakeClock, stallClock } from '../../support';
import { FakeHolds, settled } from './fakeOwnerships';

describe('Watchdog: trouble', () => {
  let clock: SinonFakeTimers;
  let holds: FakeHolds;

  beforeEach(() => {
    clock = fakeClock();
    holds = new FakeHolds();
  });

  it('repeats a renewal that failed, several times within the lease, and goes on when it succeeds', async () => {
    holds.take('a');
    let down = true;
    holds.answer = async (batch) => {
      if (down) throw new Error('down');
      return batch.map(() => true);
    };
    await clock.tickAsync(20_000);
    expect(holds.batches.length).to.be.within(5, 20);
    down = false;
    await clock.tickAsync(1_000);
    const before = holds.batches.length;
    await clock.tickAsync(8_000);
    expect(holds.batches.length - before, 'back to the beat').to.be.at.most(1);
    await clock.tickAsync(60_000);
    expect(holds.lost).to.deep.equal([]);
  });

  it('tells a hold that no renewal reached as lost before Redis lets it go, with the error, once', async () => {
    const hold = holds.take('a');
    holds.hold('a').deadline = 29_960;
    const told: { at: number; cause: Error }[] = [];
    hold.onLost = (cause) => told.push({ at: performance.now(), cause });
    holds.answer = () => Promise.reject(new Error('down'));
    await clock.tickAsync(60_000);
    expect(told).to.have.length(1);
    expect(told[0]!.at).to.be.lessThan(30_000);
    expect(told[0]!.cause.cause).to.have.property('message', 'down');
    expect(holds.lost).to.have.length(1);
    expect(holds.table.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('survives a renewal that throws instead of rejecting', async () => {
    holds.take('a');
    holds.answer = () => {
      throw new Error('bug');
    };
    await clock.tickAsync(12_000);
    holds.answer = async (batch) => batch.map(() => true);
    await clock.tickAsync(60_000);
    expect(holds.lost).to.deep.equal([]);
  });

  it('tells at once of a hold that the renewal finds gone, and renews it no more', async () => {
    const hold = holds.take('a');
    const told: Error[] = [];
    hold.onLost = (cause) => told.push(cause);
    holds.answer = async () => [false];
    await clock.tickAsync(60_000);
    expect(holds.times).to.deep.equal([10_000]);
    expect([told.length, holds.lost.length]).to.deep.equal([1, 1]);
    expect(holds.lost[0]).to.deep.include({ name: 'a', threadId: 1 });
    expect(holds.lost[0]!.cause).to.equal(told[0]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tells the end of an explicit lease', async () => {
    holds.take('a', { leaseMs: 500 });
    await clock.tickAsync(500);
    expect(holds.reasons[0]).to.contain('lease has ended');
    expect(clock.countTimers()).to.equal(0);
  });

  it('sends no second renewal of a hold while the first is unanswered', async () => {
    holds.take('a');
    holds.answer = () => new Promise(() => undefined);
    await clock.tickAsync(29_999);
    expect(holds.times).to.deep.equal([10_000]);
  });

  it('heeds no answer about a hold that was given back meanwhile, and taken again', async () => {
    const reply = pDefer<boolean[]>();
    holds.answer = () => reply.promise;
    holds.take('a');
    await clock.tickAsync(10_000);
    holds.giveBack('a');
    holds.take('a');
    reply.resolve([false]);
    await settled();
    expect(holds.lost).to.deep.equal([]);
    expect(holds.hold('a').holds).to.have.length(1);
  });

  it('extends no deadline by an answer that comes after only a lease is left', async () => {
    const reply = pDefer<boolean[]>();
    holds.answer = () => reply.promise;
    const outer = holds.take('a');
    holds.take('a', { leaseMs: 12_000 });
    await clock.tickAsync(10_000);
    holds.giveBack('a', outer);
    reply.resolve([true]);
    await settled();
    expect(holds.hold('a').deadline).to.equal(12_000);
  });

  describe('a stall of the event loop', () => {
    it('costs a renewal, but no hold, while it is shorter than the lease', async () => {
      holds.take('a');
      clock.jump(25_000);
      await settled();
      expect(holds.lost).to.deep.equal([]);
      expect(holds.batches).to.have.length(1);
    });

    it('that outlasts the lease is found out by the first reply, before the timer', async () => {
      const hold = holds.take('a');
      let lost = false;
      hold.onLost = () => (lost = true);
      // The clock has gone on, but no timer has fired yet.
      stallClock(clock, 31_000);
      expect(lost).to.equal(false);
      holds.watchdog.catchUp();
      expect(lost).to.equal(true);
      expect(holds.reasons[0]).to.contain('event loop blocked');
      expect(holds.batches).to.deep.equal([]);
      expect(clock.countTimers()).to.equal(0);
    });

    it('is nothing to catch up with before anything is due', () => {
      holds.take('a');
      stallClock(clock, 9_000);
      holds.watchdog.catchUp();
      expect(holds.batches).to.deep.equal([]);
    });

    it('with many losses whose listeners look at other holds does not overflow the stack', () => {
      for (let i = 0; i < 20_000; i++) {
        holds.take(`lock-${i}`).onLost = () => holds.watchdog.catchUp();
      }
      stallClock(clock, 31_000);
      holds.watchdog.catchUp();
      expect(holds.lost).to.have.length(20_000);
      expect(clock.countTimers()).to.equal(0);
    });
  });

  it('tells of losses outside any thread scope, whoever finds out', () => {
    const scopes: unknown[] = [];
    holds.table.onLost(() => scopes.push(currentThreadId()));
    holds.take('a', { leaseMs: 1_000 }).onLost = () => scopes.push(currentThreadId());
    stallClock(clock, 2_000);
    runAsThread(7, () => holds.watchdog.catchUp());
    expect(scopes).to.deep.equal([undefined, undefined]);
  });

  it('renews outside any thread scope, whoever took the lock', async () => {
    const scopes: unknown[] = [];
    holds.answer = async (batch) => {
      scopes.push(currentThreadId());
      return batch.map(() => true);
    };
    runAsThread(7, () => holds.take('a'));
    await clock.tickAsync(20_000);
    expect(scopes).to.deep.equal([undefined, undefined]);
  });

  it('tells the holds, not the listeners, that the client is shut down', () => {
    const told: Error[] = [];
    holds.take('a').onLost = (cause) => told.push(cause);
    holds.table.clear();
    expect(told).to.have.length(1);
    expect(told[0]!.cause).to.be.instanceOf(ShutdownError);
    expect(holds.lost).to.deep.equal([]);
    expect(clock.countTimers()).to.equal(0);
  });
});
