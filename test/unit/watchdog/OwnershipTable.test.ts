import { expect } from 'chai';
import { LockLostError } from '../../../lib/errors';
import { fakeClock } from '../../support';
import { FakeOwnerships } from './fakeOwnerships';

describe('OwnershipTable', () => {
  let owned: FakeOwnerships;
  let clock: ReturnType<typeof fakeClock>;

  beforeEach(() => {
    clock = fakeClock();
    owned = new FakeOwnerships();
  });

  it('tells of a loss once, however many holds there are', () => {
    const told: string[] = [];
    owned.take('a').onLost = () => told.push('outer');
    owned.take('a').onLost = () => told.push('inner');
    owned.lose('a');
    owned.lose('a');
    expect(told).to.deep.equal(['outer', 'inner']);
    expect(owned.lost).to.have.length(1);
    expect(owned.lost[0]!.cause).to.be.instanceOf(LockLostError);
  });

  it('tells of a loss that a release found once, too: the hold given back, those left, the listeners', () => {
    const told: string[] = [];
    owned.take('a').onLost = () => told.push('outer');
    const inner = owned.take('a');
    inner.onLost = () => told.push('inner');
    const ownership = owned.ownership('a');
    owned.table.release(ownership, inner);
    owned.table.lose([{ ownership, holds: [...ownership.holds, inner], why: 'gone', how: 'released' }]);
    expect(told).to.have.members(['outer', 'inner']);
    expect(owned.lost).to.have.length(1);
    expect(owned.table.size).to.equal(0);
  });

  it('gives back the hold that is named, and nothing twice', () => {
    const [outer, middle, inner] = [owned.take('a'), owned.take('a'), owned.take('a')];
    const ownership = owned.ownership('a');
    expect(owned.table.release(ownership, middle)).to.equal(true);
    expect(owned.table.release(ownership, middle)).to.equal(false);
    expect(ownership.holds).to.deep.equal([outer, inner]);
    expect(owned.table.release(ownership, inner)).to.equal(true);
    expect(owned.table.release(ownership, outer)).to.equal(true);
    owned.table.update(ownership);
    expect(owned.table.size).to.equal(0);
  });

  it('still counts what is left to expire when its client is closed: an undo of a re-entry leaves it', () => {
    const hold = owned.take('a');
    const ownership = owned.ownership('a');
    owned.table.close();
    expect(hold.lost).to.be.instanceOf(Error);
    expect(ownership.remainder().left).to.equal(1);
  });

  it('loses every hold of a name that was released by force, and no other', () => {
    owned.take('a', { thread: 1 });
    owned.take('a', { thread: 2 });
    owned.take('b');
    owned.table.loseAll('a', 'by force');
    expect(owned.lost.map(({ name, threadId }) => `${name} ${threadId}`)).to.deep.equal(['a 1', 'a 2']);
    expect(owned.table.size).to.equal(1);
  });

  it('keeps nothing of ownerships that were lost long ago, also behind one whose lease goes on', async () => {
    const lose = (name: string, leaseMs: number): void => {
      owned.take(name, { leaseMs });
      owned.lose(name);
    };
    lose('long', 86_400_000);
    for (let i = 0; i < 5_000; i++) {
      lose(`short ${i}`, 1_000);
      await clock.tickAsync(1_000);
    }
    // Each of them may come up for a minute after its lease, and no longer.
    expect(owned.table.leftovers).to.be.within(61, 200);
    expect(owned.table.leftoverMs(owned.ownership('long')) > 0).to.equal(true);
    expect(owned.table.leftoverMs(owned.ownership('short 4999')) > 0).to.equal(true);
    expect(owned.table.leftoverMs(owned.ownership('short 4900')) > 0).to.equal(false);
  });

  it('keeps an ownership while anything of it is under way, and forgets no other in its place', () => {
    const ownership = owned.ownership('a');
    const { lane } = ownership;
    lane.claim(ownership, undefined);
    owned.table.tidy(ownership);
    expect(owned.table.size).to.equal(1);
    lane.unclaim(ownership);
    const unblock = lane.block();
    owned.table.tidy(ownership);
    expect(owned.table.size).to.equal(1);
    unblock();
    const endUndo = lane.undo();
    owned.table.tidy(ownership);
    expect(owned.table.size).to.equal(1);
    endUndo();
    owned.table.tidy(ownership);
    expect(owned.table.size).to.equal(0);
    owned.take('a');
    owned.table.tidy(ownership);
    expect(owned.table.size).to.equal(1);
  });

  it('warns of a listener that throws, and tells the others', () => {
    const warnings: string[] = [];
    const original = process.emitWarning;
    process.emitWarning = (message: string) => warnings.push(message);
    try {
      owned.table.onLost(() => {
        throw new Error('bug');
      });
      let told = 0;
      owned.table.onLost(() => (told += 1));
      owned.take('a');
      owned.lose('a');
      expect(told).to.equal(1);
    } finally {
      process.emitWarning = original;
    }
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('bug');
  });

  it('calls a listener that was added twice twice, and removes it once', () => {
    let told = 0;
    const listener = (): void => void (told += 1);
    const remove = owned.table.onLost(listener);
    owned.table.onLost(listener);
    owned.take('a');
    owned.lose('a');
    expect(told).to.equal(2);
    remove();
    remove();
    owned.take('a');
    owned.lose('a');
    expect(told).to.equal(3);
  });

  it('resolves who waits for the end of an acquisition, or of all releases', async () => {
    const { lane } = owned.ownership('a');
    expect([lane.turn('undo'), lane.turn('alone')]).to.deep.equal([undefined, undefined]);
    lane.claim(owned, undefined);
    const ends = [lane.block(), lane.block()];
    const events: string[] = [];
    const idle = lane.turn('undo')!.then(() => events.push('idle'));
    const released = lane.turn('alone')!.then(() => events.push('released'));
    ends[0]!();
    lane.unclaim(owned);
    await idle;
    expect(events).to.deep.equal(['idle']);
    ends[1]!();
    await released;
    expect(events).to.deep.equal(['idle', 'released']);
  });
});
