// Ids in titles: test/README.md
import { expect } from 'chai';
import * as sinon from 'sinon';
import { confirmedUntil } from '../../../lib/util/duration';
import { fakeClock } from '../../support';
import { FakeOwnerships, settled } from './fakeOwnerships';

describe('Watchdog: the schedule', () => {
  let clock: sinon.SinonFakeTimers;
  let owned: FakeOwnerships;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
  });

  it('renews to the watchdog time-out, every third of it, for as long as the hold lasts', async () => {
    owned.take('a');
    await clock.tickAsync(9_999);
    expect(owned.times).to.deep.equal([]);
    await clock.tickAsync(50_001);
    expect(owned.times).to.deep.equal([10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(owned.batches[0]).to.deep.include({ names: ['a'], leaseMs: 30_000 });
    expect(owned.lost).to.deep.equal([]);
    owned.giveBack('a');
    expect(clock.countTimers()).to.equal(0);
  });

  it('renews nothing that has a lease', async () => {
    owned.take('a', { leaseMs: 60_000 });
    await clock.tickAsync(59_000);
    expect(owned.batches).to.deep.equal([]);
    owned.giveBack('a');
    expect(clock.countTimers()).to.equal(0);
  });

  it('renews nothing after the last unlock', async () => {
    owned.take('a');
    owned.take('a');
    await clock.tickAsync(10_000);
    owned.giveBack('a');
    await clock.tickAsync(10_000);
    owned.giveBack('a');
    await clock.tickAsync(60_000);
    expect(owned.times).to.deep.equal([10_000, 20_000]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('RE-01: knows nothing of a thread that has taken a lock once and given it back', () => {
    owned.take('a');
    owned.giveBack('a');
    expect([...owned.table.all()]).to.deep.equal([]);
    expect(owned.table.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('starts anew after it has stopped', async () => {
    owned.take('a');
    owned.giveBack('a');
    await clock.tickAsync(5_000);
    owned.take('a');
    await clock.tickAsync(10_000);
    expect(owned.times).to.deep.equal([15_000]);
  });

  it('renews holds of different times together, each before its third has passed', async () => {
    owned.take('a');
    await clock.tickAsync(4_000);
    owned.take('b');
    await clock.tickAsync(6_000);
    expect(owned.batches.map(({ names }) => names)).to.deep.equal([['a', 'b']]);
  });

  it('keeps a schedule for each watchdog time-out', async () => {
    owned.take('a');
    owned.take('b', { watchdogMs: 3_000 });
    await clock.tickAsync(3_500);
    expect(owned.batches.map(({ names, leaseMs }) => [names[0], leaseMs])).to.deep.equal([
      ['b', 3_000],
      ['b', 3_000],
      ['b', 3_000],
    ]);
    await clock.tickAsync(6_500);
    expect(owned.batches.filter(({ names }) => names.includes('a'))).to.have.length(1);
  });

  it('needs one timer, which keeps no process alive', async () => {
    const made = sinon.spy(globalThis, 'setTimeout');
    for (let i = 0; i < 100; i++) owned.take(`lock-${i}`, { leaseMs: i % 2 === 0 ? -1 : 1_000 + i });
    await settled();
    expect(clock.countTimers()).to.equal(1);
    expect(made.returnValues.at(-1)?.hasRef()).to.equal(false);
  });

  describe('an ownership with several holds', () => {
    it('is not shortened by a re-entry with a lease, which changes no renewal either', async () => {
      owned.take('a');
      owned.take('a', { leaseMs: 1_000 });
      await clock.tickAsync(10_000);
      expect(owned.lost).to.deep.equal([]);
      expect(owned.times).to.deep.equal([10_000]);
      owned.giveBack('a');
      await clock.tickAsync(20_000);
      expect(owned.times).to.deep.equal([10_000, 20_000, 30_000]);
    });

    it('is renewed from the moment a hold without lease is added', async () => {
      owned.take('a', { leaseMs: 20_000 });
      await clock.tickAsync(5_000);
      owned.take('a');
      await clock.tickAsync(30_000);
      expect(owned.times).to.deep.equal([15_000, 25_000, 35_000]);
      expect(owned.lost).to.deep.equal([]);
    });

    it('lives as long as the lease that is left when the hold without lease is given back first', async () => {
      const outer = owned.take('a');
      owned.take('a', { leaseMs: 15_000 });
      await clock.tickAsync(10_000);
      owned.giveBack('a', outer);
      await clock.tickAsync(4_999);
      expect(owned.lost).to.deep.equal([]);
      await clock.tickAsync(1);
      expect(owned.lost).to.have.length(1);
      expect(owned.times).to.deep.equal([10_000]);
    });

    it('is believed in no longer than the watchdog keeps it when a longer lease is given back', async () => {
      owned.take('a');
      owned.take('a', { leaseMs: 600_000 });
      owned.giveBack('a');
      expect(owned.ownership('a').deadline).to.be.at.most(30_000);
      owned.answer = () => Promise.reject(new Error('down'));
      await clock.tickAsync(30_000);
      expect(owned.lost).to.have.length(1);
    });
  });

  describe('maxRenewTimes', () => {
    it('gives the hold up after so many renewals: its signal aborts, nothing is renewed any more', async () => {
      const hold = owned.take('a', { maxRenewals: 2 });
      const told: Error[] = [];
      hold.onLost = (cause) => told.push(cause);
      await clock.tickAsync(29_999);
      expect(told).to.deep.equal([]);
      await clock.tickAsync(1);
      expect(owned.times).to.deep.equal([10_000, 20_000]);
      expect(told.map(({ message }) => message)).to.have.length(1);
      expect(told[0]!.message).to.contain('maxRenewTimes');
      expect(told[0]!.cause).to.be.instanceOf(Error).with.property('message').that.contains('maxRenewTimes');
      // It is left to expire: what its thread sends meanwhile must leave it.
      const { left, remainingMs } = owned.ownership('a').remainder();
      expect(left).to.equal(1);
      expect(remainingMs).to.be.within(19_900, 20_000);
      expect(owned.table.leftoverMs(owned.ownership('a')), 'a fenced lock asks').to.be.above(0);
      await clock.tickAsync(20_000);
      expect(owned.table.size).to.equal(0);
      expect(owned.lost).to.have.length(1);
      expect(clock.countTimers()).to.equal(0);
    });

    it('takes nothing from the other holds of the ownership', async () => {
      owned.take('a');
      const inner = owned.take('a', { maxRenewals: 1 });
      let told = 0;
      inner.onLost = () => (told += 1);
      await clock.tickAsync(60_000);
      expect(told).to.equal(1);
      expect(owned.times).to.have.length(6);
      expect(owned.ownership('a').live).to.have.length(1);
      expect(owned.ownership('a').remainder().left).to.equal(1);
    });

    it('does not count renewals that failed', async () => {
      owned.take('a', { maxRenewals: 2 });
      let failures = 3;
      owned.answer = async (batch) => {
        if (failures-- > 0) throw new Error('down');
        return batch.map(() => true);
      };
      await clock.tickAsync(25_000);
      expect(owned.lost).to.deep.equal([]);
      await clock.tickAsync(10_000);
      expect(owned.reasons[0]).to.contain('renewed 2 times');
    });
  });

  it('counts a confirmed lease from before it was sent, with a margin', () => {
    expect(confirmedUntil(1_000, 30_000)).to.be.within(30_900, 30_999);
    expect(confirmedUntil(0, 100)).to.be.within(90, 99);
    expect(confirmedUntil(0, 1)).to.be.lessThan(1);
  });
});
