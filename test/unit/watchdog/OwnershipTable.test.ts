import { expect } from 'chai';
import { LockLostError } from '../../../lib/errors';
import { fakeClock } from '../../support';
import { FakeHolds } from './fakeOwnerships';

describe('OwnershipTable', () => {
  let holds: FakeHolds;
  let clock: ReturnType<typeof fakeClock>;

  beforeEach(() => {
    clock = fakeClock();
    holds = new FakeHolds();
  });

  it('tells of a loss once, however many holds there are', () => {
    const told: string[] = [];
    holds.take('a').onLost = () => told.push('outer');
    holds.take('a').onLost = () => told.push('inner');
    holds.table.lose(holds.hold('a'), 'gone');
    holds.table.lose(holds.hold('a'), 'gone');
    expect(told).to.deep.equal(['outer', 'inner']);
    expect(holds.lost).to.have.length(1);
    expect(holds.lost[0]!.cause).to.be.instanceOf(LockLostError);
  });

  it('tells of a loss that a release found once, too: the hold given back, those left, the listeners', () => {
    const told: string[] = [];
    holds.take('a').onLost = () => told.push('outer');
    const inner = holds.take('a');
    inner.onLost = () => told.push('inner');
    const ownership = holds.hold('a');
    holds.table.release(ownership, inner);
    holds.table.foundGone(ownership, inner, 'gone');
    expect(told).to.have.members(['outer', 'inner']);
    expect(holds.lost).to.have.length(1);
    expect(holds.table.size).to.equal(0);
  });

  it('gives back the hold that is named, else the last one, and nothing twice', () => {
    const [outer, middle] = [holds.take('a'), holds.take('a'), holds.take('a')];
    const ownership = holds.hold('a');
    expect(holds.table.release(ownership, middle)).to.equal(middle);
    expect(holds.table.release(ownership, middle)).to.equal(undefined);
    expect(holds.table.release(ownership)).not.to.equal(outer);
    expect(holds.table.release(ownership)).to.equal(outer);
    expect(holds.table.release(ownership)).to.equal(undefined);
    expect(holds.table.size).to.equal(0);
  });

  it('loses every hold of a name that was released by force, and no other', () => {
    holds.take('a', { thread: 1 });
    holds.take('a', { thread: 2 });
    holds.take('b');
    holds.table.loseAll('a', 'by force');
    expect(holds.lost.map(({ name, threadId }) => `${name} ${threadId}`)).to.deep.equal(['a 1', 'a 2']);
    expect(holds.table.size).to.equal(1);
  });

  it('keeps nothing of holds that were lost long ago, also behind one whose lease goes on', async () => {
    const lose = (name: string, leaseMs: number): void => {
      holds.take(name, { leaseMs });
      holds.table.lose(holds.hold(name), 'gone');
    };
    lose('long', 86_400_000);
    for (let i = 0; i < 5_000; i++) {
      lose(`short ${i}`, 1_000);
      await clock.tickAsync(1_000);
    }
    // Each of them may come up for a minute after its lease, and no longer.
    expect(holds.table.lingering).to.be.within(61, 200);
    expect(holds.table.isLeftover(holds.hold('long'))).to.equal(true);
    expect(holds.table.isLeftover(holds.hold('short 4999'))).to.equal(true);
    expect(holds.table.isLeftover(holds.hold('short 4900'))).to.equal(false);
  });

  it('keeps a hold while anything of it is under way, and forgets no other in its place', () => {
    const ownership = holds.hold('a');
    ownership.acquiring = true;
    holds.table.tidy(ownership);
    expect(holds.table.size).to.equal(1);
    ownership.ended();
    ownership.beginRelease();
    holds.table.tidy(ownership);
    expect(holds.table.size).to.equal(1);
    ownership.endRelease();
    ownership.rollbacks = 1;
    holds.table.tidy(ownership);
    expect(holds.table.size).to.equal(1);
    ownership.rollbacks = 0;
    holds.table.tidy(ownership);
    expect(holds.table.size).to.equal(0);
    holds.take('a');
    holds.table.tidy(ownership);
    expect(holds.table.size).to.equal(1);
  });

  it('warns of a listener that throws, and tells the others', () => {
    const warnings: string[] = [];
    const original = process.emitWarning;
    process.emitWarning = (message: string) => warnings.push(message);
    try {
      holds.table.onLost(() => {
        throw new Error('bug');
      });
      let told = 0;
      holds.table.onLost(() => (told += 1));
      holds.take('a');
      holds.table.lose(holds.hold('a'), 'gone');
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
    const remove = holds.table.onLost(listener);
    holds.table.onLost(listener);
    holds.take('a');
    holds.table.lose(holds.hold('a'), 'gone');
    expect(told).to.equal(2);
    remove();
    remove();
    holds.take('a');
    holds.table.lose(holds.hold('a'), 'gone');
    expect(told).to.equal(3);
  });

  it('resolves who waits for the end of an acquisition, or of all releases', async () => {
    const ownership = holds.hold('a');
    await ownership.whenIdle();
    await ownership.whenReleased();
    ownership.acquiring = true;
    ownership.beginRelease();
    ownership.beginRelease();
    const events: string[] = [];
    const idle = ownership.whenIdle().then(() => events.push('idle'));
    const released = ownership.whenReleased().then(() => events.push('released'));
    ownership.endRelease();
    ownership.ended();
    await idle;
    expect(events).to.deep.equal(['idle']);
    ownership.endRelease();
    await released;
    expect(events).to.deep.equal(['idle', 'released']);
  });
});
