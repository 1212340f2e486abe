// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { fakeClock } from '../../support';
import { FakeOwnerships } from './fakeOwnerships';

describe('Watchdog: batches', () => {
  let clock: SinonFakeTimers;

  beforeEach(() => {
    clock = fakeClock();
  });

  function lockNames(count: number): string[] {
    return Array.from({ length: count }, (_, i) => `lock-${i}`);
  }

  it('G-12: 120 holds in batches of 50 are 3 commands; one that is lost takes no other with it', async () => {
    const owned = new FakeOwnerships(50);
    const names = lockNames(120);
    for (const name of names) owned.take(name);
    owned.answer = async (batch) => batch.map(({ rawName }) => rawName !== 'lock-60');
    await clock.tickAsync(10_000);
    expect(owned.batches.map((batch) => batch.names.length)).to.deep.equal([50, 50, 20]);
    expect(owned.batches.flatMap((batch) => batch.names)).to.have.members(names);
    expect(owned.lost.map(({ name }) => name)).to.deep.equal(['lock-60']);
    await clock.tickAsync(10_000);
    expect(owned.batches.slice(3).flatMap((batch) => batch.names)).to.have.members(
      names.filter((name) => name !== 'lock-60'),
    );
  });

  it('G-12: holds of different slots are never in one command', async () => {
    const owned = new FakeOwnerships(50);
    owned.slot = ({ rawName }) => Number(rawName.slice(5)) % 3;
    for (const name of lockNames(120)) owned.take(name);
    await clock.tickAsync(10_000);
    expect(owned.batches.map((batch) => batch.names.length)).to.deep.equal([40, 40, 40]);
    for (const batch of owned.batches) {
      expect(new Set(batch.names.map((name) => Number(name.slice(5)) % 3)).size).to.equal(1);
    }
  });

  it('a batch that fails is repeated alone, the others keep their times', async () => {
    const owned = new FakeOwnerships(50);
    for (const name of lockNames(100)) owned.take(name);
    let failures = 1;
    owned.answer = async (batch) => {
      if (batch[0]!.rawName === 'lock-50' && failures-- > 0) throw new Error('down');
      return batch.map(() => true);
    };
    await clock.tickAsync(15_000);
    expect(owned.batches.map((batch) => batch.names[0])).to.deep.equal(['lock-0', 'lock-50', 'lock-50']);
    expect(owned.lost).to.deep.equal([]);
  });

  it('two threads with one read lock are two ownerships of one name', async () => {
    const owned = new FakeOwnerships();
    owned.take('a', { thread: 1 });
    owned.take('a', { thread: 2 });
    await clock.tickAsync(10_000);
    expect(owned.batches.map((batch) => batch.names)).to.deep.equal([['a', 'a']]);
    owned.giveBack('a', undefined, 1);
    await clock.tickAsync(10_000);
    expect(owned.batches.at(-1)!.names).to.deep.equal(['a']);
  });

  it('1000 idle holds cost 10 commands per period', async () => {
    const owned = new FakeOwnerships();
    for (const name of lockNames(1_000)) owned.take(name);
    await clock.tickAsync(30_000);
    expect(owned.batches).to.have.length(30);
  });
});
