// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { fakeClock } from '../../support';
import { FakeOwnerships, settled } from './fakeOwnerships';

const ALL = (): boolean => true;

describe('Watchdog: a check of the holds after a reconnect', () => {
  let clock: SinonFakeTimers;
  let owned: FakeOwnerships;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
  });

  it('C12: finds at once what is gone, with and without a lease, and prolongs nothing', async () => {
    owned.take('a');
    owned.take('b', { leaseMs: 60_000 });
    owned.take('c', { maxRenewals: 1 });
    owned.take('d', { leaseMs: 60_000 });
    const [before] = [owned.ownership('c').deadline];
    await clock.tickAsync(100);
    owned.answer = async (batch) => batch.map(({ rawName }) => rawName > 'b');
    owned.watchdog.check(ALL);
    await settled();
    expect(owned.batches).to.deep.equal([{ names: ['a', 'b', 'c', 'd'], leaseMs: 0, at: 100 }]);
    expect(owned.lost.map(({ name }) => name)).to.deep.equal(['a', 'b']);
    for (const reason of owned.reasons)
      expect(reason).to.match(/a check found it gone .*its connection or master was lost/);
    expect(owned.ownership('c').deadline).to.equal(before);
    expect(owned.ownership('c').holds[0]!.renewals).to.equal(0);
  });

  it('C12: checks only the holds that it concerns', async () => {
    for (const name of ['a', 'b', 'c']) owned.take(name);
    owned.watchdog.check((key) => key !== 'b');
    await settled();
    expect(owned.batches.map(({ names }) => names)).to.deep.equal([['a', 'c']]);
  });

  it('C12: a hundred reconnects in a second cost two checks, and the last one is not forgotten', async () => {
    owned.take('a', { leaseMs: 60_000 });
    for (let i = 0; i < 100; i++) {
      owned.watchdog.check(ALL);
      await clock.tickAsync(5);
    }
    owned.answer = async (batch) => batch.map(() => false);
    await clock.tickAsync(1_000);
    expect(owned.times).to.deep.equal([0, 1_000]);
    expect(owned.lost).to.have.length(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('C12: sends nothing while nothing happens, and nothing for what was given back meanwhile', async () => {
    owned.take('a', { leaseMs: 60_000 });
    owned.watchdog.check(ALL);
    owned.watchdog.check(ALL);
    owned.giveBack('a');
    expect(clock.countTimers()).to.equal(0);
    owned.take('b', { leaseMs: 60_000 });
    await clock.tickAsync(30_000);
    expect(owned.batches).to.have.length(1);
  });

  it('sends no check, and keeps no timer, once the client is closed, although the holds stay until their leases end', async () => {
    owned.take('a', { leaseMs: 60_000 });
    owned.watchdog.check(ALL);
    // The second one within a second is due at its end.
    owned.watchdog.check(ALL);
    owned.table.close();
    expect(clock.countTimers()).to.equal(0);
    await clock.tickAsync(5_000);
    expect(owned.times).to.deep.equal([0]);
  });

  it('C12: a check that fails is made again, and a hold acquired since is not lost by it', async () => {
    owned.take('a', { leaseMs: 60_000 });
    owned.answer = () => Promise.reject(new Error('down'));
    owned.watchdog.check(ALL);
    await settled();
    owned.answer = async (batch) => {
      owned.giveBack('a');
      owned.take('a', { leaseMs: 60_000 });
      return batch.map(() => false);
    };
    await clock.tickAsync(1_000);
    expect([owned.times, owned.lost]).to.deep.equal([[0, 1_000], []]);
  });

  it('C12: thousands of holds are checked in portions', async () => {
    for (let i = 0; i < 2_500; i++) owned.take(`lock-${i}`);
    const waiting: (() => void)[] = [];
    owned.answer = (batch) => new Promise((resolve) => waiting.push(() => resolve(batch.map(() => true))));
    owned.watchdog.check(ALL);
    for (const sent of [10, 20, 25]) {
      await settled();
      await settled();
      await settled();
      expect(owned.batches).to.have.length(sent);
      for (const answer of waiting.splice(0)) answer();
    }
    expect(owned.lost).to.deep.equal([]);
  });
});
