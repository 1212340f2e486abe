// Ids in titles: test/README.md
import { expect } from 'chai';
import * as sinon from 'sinon';
import { confirmedUntil } from '../../../lib/watchdog/Ownership';
import { fakeClock } from '../../support';
import { FakeHolds } from './fakeOwnerships';

describe('Watchdog: the beat', () => {
  let clock: sinon.SinonFakeTimers;
  let holds: FakeHolds;

  beforeEach(() => {
    clock = fakeClock();
    holds = new FakeHolds();
  });

  it('renews to the watchdog time-out, every third of it, for as long as the hold lasts', async () => {
    holds.take('a');
    await clock.tickAsync(9_999);
    expect(holds.times).to.deep.equal([]);
    await clock.tickAsync(50_001);
    expect(holds.times).to.deep.equal([10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(holds.batches[0]).to.deep.include({ names: ['a'], leaseMs: 30_000 });
    expect(holds.lost).to.deep.equal([]);
    holds.giveBack('a');
    expect(clock.countTimers()).to.equal(0);
  });

  it('renews nothing that has a lease', async () => {
    holds.take('a', { leaseMs: 60_000 });
    await clock.tickAsync(59_000);
    expect(holds.batches).to.deep.equal([]);
    holds.giveBack('a');
    expect(clock.countTimers()).to.equal(0);
  });

  it('renews nothing after the last unlock', async () => {
    holds.take('a');
    holds.take('a');
    await clock.tickAsync(10_000);
    holds.giveBack('a');
    await clock.tickAsync(10_000);
    holds.giveBack('a');
    await clock.tickAsync(60_000);
    expect(holds.times).to.deep.equal([10_000, 20_000]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('RE-01: knows nothing of a thread that has taken a lock once and given it back', () => {
    holds.take('a');
    holds.giveBack('a');
    expect([...holds.table.all()]).to.deep.equal([]);
    expect(holds.table.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('starts to beat anew after it has stopped', async () => {
    holds.take('a');
    holds.giveBack('a');
    await clock.tickAsync(5_000);
    holds.take('a');
    await clock.tickAsync(10_000);
    expect(holds.times).to.deep.equal([15_000]);
  });

  it('renews holds of different times together, each before its third has passed', async () => {
    holds.take('a');
    await clock.tickAsync(4_000);
    holds.take('b');
    await clock.tickAsync(6_000);
    expect(holds.batches.map(({ names }) => names)).to.deep.equal([['a', 'b']]);
  });

  it('keeps a beat for each watchdog time-out', async () => {
    holds.take('a');
    holds.take('b', { watchdogMs: 3_000 });
    await clock.tickAsync(3_500);
    expect(holds.batches.map(({ names, leaseMs }) => [names[0], leaseMs])).to.deep.equal([
      ['b', 3_000],
      ['b', 3_000],
      ['b', 3_000],
    ]);
    await clock.tickAsync(6_500);
    expect(holds.batches.filter(({ names }) => names.includes('a'))).to.have.length(1);
  });

  it('needs one timer, which keeps no process alive', () => {
    const made = sinon.spy(globalThis, 'setTimeout');
    for (let i = 0; i < 100; i++) holds.take(`lock-${i}`, { leaseMs: i % 2 === 0 ? -1 : 1_000 + i });
    expect(clock.countTimers()).to.equal(1);
    expect(made.returnValues.at(-1)?.hasRef()).to.equal(false);
  });

  describe('a hold with several holds', () => {
    it('is not shortened by a re-entry with a lease, which changes no renewal either', async () => {
      holds.take('a');
      holds.take('a', { leaseMs: 1_000 });
      await clock.tickAsync(10_000);
      expect(holds.lost).to.deep.equal([]);
      expect(holds.times).to.deep.equal([10_000]);
      holds.giveBack('a');
      await clock.tickAsync(20_000);
      expect(holds.times).to.deep.equal([10_000, 20_000, 30_000]);
    });

    it('is renewed from the moment a hold without lease is added', async () => {
      holds.take('a', { leaseMs: 20_000 });
      await clock.tickAsync(5_000);
      holds.take('a');
      await clock.tickAsync(30_000);
      expect(holds.times).to.deep.equal([15_000, 25_000, 35_000]);
      expect(holds.lost).to.deep.equal([]);
    });

    it('lives as long as the lease that is left when the hold without lease is given back first', async () => {
      const outer = holds.take('a');
      holds.take('a', { leaseMs: 15_000 });
      await clock.tickAsync(10_000);
      holds.giveBack('a', outer);
      await clock.tickAsync(4_999);
      expect(holds.lost).to.deep.equal([]);
      await clock.tickAsync(1);
      expect(holds.lost).to.have.length(1);
      expect(holds.times).to.deep.equal([10_000]);
    });

    it('is believed in no longer than the watchdog keeps it when a longer lease is given back', async () => {
      holds.take('a');
      holds.take('a', { leaseMs: 600_000 });
      holds.giveBack('a');
      expect(holds.hold('a').deadline).to.be.at.most(30_000);
      holds.answer = () => Promise.reject(new Error('down'));
      await clock.tickAsync(30_000);
      expect(holds.lost).to.have.length(1);
    });
  });

  describe('maxRenewTimes', () => {
    it('gives the hold up after so many renewals: its signal aborts, nothing is renewed any more', async () => {
      const hold = holds.take('a', { maxRenewals: 2 });
      const told: Error[] = [];
      hold.onLost = (cause) => told.push(cause);
      await clock.tickAsync(29_999);
      expect(told).to.deep.equal([]);
      await clock.tickAsync(1);
      expect(holds.times).to.deep.equal([10_000, 20_000]);
      expect(told.map(({ message }) => message)).to.have.length(1);
      expect(told[0]!.message).to.contain('maxRenewTimes');
      expect(told[0]!.cause).to.be.instanceOf(Error).with.property('message').that.contains('maxRenewTimes');
      expect(holds.lost).to.have.length(1);
      expect(clock.countTimers()).to.equal(0);
    });

    it('takes nothing from the other holds of the hold', async () => {
      holds.take('a');
      const inner = holds.take('a', { maxRenewals: 1 });
      let told = 0;
      inner.onLost = () => (told += 1);
      await clock.tickAsync(60_000);
      expect(told).to.equal(1);
      expect(holds.times).to.have.length(6);
      expect(holds.hold('a').holds).to.have.length(1);
    });

    it('does not count renewals that failed', async () => {
      holds.take('a', { maxRenewals: 2 });
      let failures = 3;
      holds.answer = async (batch) => {
        if (failures-- > 0) throw new Error('down');
        return batch.map(() => true);
      };
      await clock.tickAsync(25_000);
      expect(holds.lost).to.deep.equal([]);
      await clock.tickAsync(10_000);
      expect(holds.reasons[0]).to.contain('renewed 2 times');
    });
  });

  it('counts a confirmed lease from before it was sent, with a margin', () => {
    expect(confirmedUntil(1_000, 30_000)).to.be.within(30_900, 30_999);
    expect(confirmedUntil(0, 100)).to.be.within(90, 99);
    expect(confirmedUntil(0, 1)).to.be.lessThan(1);
  });
});
