import { expect } from 'chai';
import { DeadlineQueue, type Queued } from '../../../lib/connection/pending/DeadlineQueue';
import { fakeClock, stallClock } from '../../support';

class Item implements Queued {
  deadline = 0;
  queue: Queued['queue'];
  readonly id: number;

  constructor(id: number) {
    this.id = id;
  }
}

describe('DeadlineQueue', () => {
  let clock: ReturnType<typeof fakeClock>;
  let expired: number[];
  let queue: DeadlineQueue<Item>;

  beforeEach(() => {
    clock = fakeClock();
    expired = [];
    queue = new DeadlineQueue((item) => expired.push(item.id));
  });

  afterEach(() => {
    queue.clear();
    clock.restore();
  });

  const fill = (count: number, deadline = 1_000): Item[] =>
    Array.from({ length: count }, (_, id) => {
      const item = new Item(id);
      queue.add(item, deadline);
      return item;
    });
  const ids = (): number[] => [...queue].map(({ id }) => id);

  /** A deadline is looked at when the answers that are there by then have been read. */
  const answersAreRead = (): Promise<void> => new Promise(setImmediate);

  it('tells of what is due, the oldest first, and of nothing that was taken out', async () => {
    const items = fill(4);
    queue.delete(items[1]!);
    clock.tick(999);
    expect(expired).to.deep.equal([]);
    clock.tick(1);
    expect(expired).to.deep.equal([]);
    await answersAreRead();
    expect(expired).to.deep.equal([0, 2, 3]);
    expect([queue.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('after a stall of the event loop waits for what a new connection needs, and not only for what is in the sockets', async () => {
    const items = fill(2);
    stallClock(clock, 3_000);
    await clock.tickAsync(3_000);
    queue.delete(items[0]!);
    await clock.tickAsync(199);
    expect(expired).to.deep.equal([]);
    await clock.tickAsync(1);
    expect(expired).to.deep.equal([1]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('does the same when the stall ends with the deadline', async () => {
    fill(1);
    // From the start until 50 ms after the deadline.
    stallClock(clock, 1_050);
    await clock.tickAsync(1_050);
    await clock.tickAsync(199);
    expect(expired).to.deep.equal([]);
    await clock.tickAsync(1);
    expect(expired).to.deep.equal([0]);
  });

  it('tells of the next in time, although an item that is due is put in again at once', async () => {
    queue = new DeadlineQueue((item) => {
      expired.push(item.id);
      if (item.id === 0) queue.add(item, performance.now() + 1_000);
    });
    queue.add(new Item(0), 1_000);
    queue.add(new Item(1), 1_300);
    clock.tick(1_000);
    await answersAreRead();
    expect(expired).to.deep.equal([0]);
    clock.tick(300);
    await answersAreRead();
    expect(expired).to.deep.equal([0, 1]);
  });

  it('keeps its order whatever is taken out, in whatever order', () => {
    const items = fill(1_000);
    for (const item of items) if (item.id % 3 !== 0) queue.delete(item);
    expect(ids()).to.deep.equal(items.filter(({ id }) => id % 3 === 0).map(({ id }) => id));
    for (const item of items.slice(0, 900)) queue.delete(item);
    expect(ids()).to.deep.equal([900, 903, 906, 909, 912, 915, 918, 921, 924, 927, 930, 933, 936, 939, 942, 945, 948, 951, 954, 957, 960, 963, 966, 969, 972, 975, 978, 981, 984, 987, 990, 993, 996, 999]); // prettier-ignore
    expect(queue.size).to.equal(34);
  });

  it('takes an item out once, and not out of another queue', () => {
    const [item] = fill(2);
    const other = new DeadlineQueue<Item>(() => undefined);
    other.delete(item!);
    expect(queue.size).to.equal(2);
    queue.delete(item!);
    queue.delete(item!);
    expect(queue.size).to.equal(1);
  });

  it('an item can be put in again while it is gone through', () => {
    const items = fill(3);
    const seen: number[] = [];
    for (const item of queue) {
      seen.push(item.id);
      queue.delete(item);
      queue.add(item, 2_000);
    }
    expect(seen).to.deep.equal([0, 1, 2]);
    expect(ids()).to.deep.equal([0, 1, 2]);
    expect(items).to.have.lengthOf(3);
  });

  it('an item taken out of the middle and put in again is there once', async () => {
    const items = fill(3);
    queue.delete(items[1]!);
    queue.add(items[1]!, 1_000);
    expect(ids()).to.deep.equal([0, 2, 1]);
    clock.tick(1_000);
    await answersAreRead();
    expect(expired).to.deep.equal([0, 2, 1]);
  });

  it('tells nothing once it was cleared, were it due already', async () => {
    fill(2);
    clock.tick(1_000);
    queue.clear();
    fill(1, 3_000);
    await answersAreRead();
    expect([expired, queue.size]).to.deep.equal([[], 1]);
    clock.tick(2_000);
    await answersAreRead();
    expect(expired).to.deep.equal([0]);
  });

  it('an item put in twice, or into another queue, is in one place', () => {
    const items = fill(2);
    queue.add(items[0]!, 1_000);
    expect([ids(), queue.size]).to.deep.equal([[1, 0], 2]);
    const other = new DeadlineQueue<Item>(() => undefined);
    other.add(items[1]!, 1_000);
    queue.delete(items[0]!);
    expect([queue.size, other.size]).to.deep.equal([0, 1]);
    other.clear();
  });
});
