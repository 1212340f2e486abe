// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer, { type DeferredPromise } from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { DeadlineHeap } from '../../../lib/util/timing';
import { fakeClock, stallClock, turn } from '../../support';
import { FakeClient } from '../../support/fakeClient';
import { FakeOwnerships, settled } from './fakeOwnerships';

const HOLDS = 40_000;
/** What may be done in one turn of the event loop: a few milliseconds of work. */
const HOLDS_PER_TURN = 1_000;

describe('Watchdog: 40 000 holds (A13)', () => {
  let clock: SinonFakeTimers;
  let owned: FakeOwnerships;
  /** How often the deadline of any ownership was looked at. */
  let looks: number;
  let replies: { readonly reply: DeferredPromise<boolean[]>; readonly size: number }[];

  beforeEach(async () => {
    clock = fakeClock();
    owned = new FakeOwnerships();
    looks = 0;
    replies = [];
    owned.answer = (batch) => {
      const reply = pDefer<boolean[]>();
      replies.push({ reply, size: batch.length });
      return reply.promise;
    };
    for (let i = 0; i < HOLDS; i++) {
      const ownership = owned.ownership(`lock-${i}`);
      let deadline = 0;
      Object.defineProperty(ownership, 'deadline', {
        get: () => ((looks += 1), deadline),
        set: (value: number) => (deadline = value),
      });
      owned.take(`lock-${i}`);
    }
    await settled();
    expect(pendingTimers()).to.have.lengthOf(1);
  });

  afterEach(() => {
    for (let i = 0; i < HOLDS; i++) owned.giveBack(`lock-${i}`);
    expect(pendingTimers()).to.deep.equal([]);
  });

  /** What every timer of the process calls, so that a failure shows whose it is. */
  function pendingTimers(): string[] {
    const { timers = new Map() } = clock as unknown as { timers?: Map<number, { readonly func: unknown }> };
    return Array.from(timers.values(), ({ func }) => String(func));
  }

  it('are renewed a thousand at a time, and a reply looks at those it is about', async () => {
    let answered = 0;
    clock.tick(10_000);
    while (answered < HOLDS) {
      for (let i = 0; i < 100 && replies.length === 0; i++) await turn();
      const sent = replies.splice(0);
      expect(sent.reduce((sum, { size }) => sum + size, 0)).to.be.within(1, HOLDS_PER_TURN);
      for (const { reply, size } of sent) {
        looks = 0;
        reply.resolve(Array.from({ length: size }, () => true));
        await Promise.resolve();
        await Promise.resolve();
        await Promise.resolve();
        // A look at each of the others would be 40 000.
        expect(looks).to.be.within(1, size * 60);
        answered += size;
      }
    }
    expect(answered).to.equal(HOLDS);
    expect(owned.lost).to.deep.equal([]);
  });

  it('are all asked for although the first answers never come', async () => {
    clock.tick(10_000);
    for (let i = 0; i < 500 && replies.length < HOLDS / 100; i++) {
      await clock.tickAsync(10);
      await turn();
    }
    expect(replies).to.have.length(HOLDS / 100);
    expect(performance.now()).to.be.lessThan(13_000);
    for (const { reply, size } of replies) reply.resolve(Array.from({ length: size }, () => true));
    await turn();
    expect(owned.lost).to.deep.equal([]);
  });

  it('that were given back while their turn has not come are not asked for', async () => {
    clock.tick(10_000);
    for (let i = 0; i < HOLDS - HOLDS_PER_TURN; i++) owned.giveBack(`lock-${i}`);
    for (let i = 0; i < 50; i++) {
      for (const { reply, size } of replies.splice(0)) reply.resolve(Array.from({ length: size }, () => true));
      await turn();
    }
    const names = owned.batches.flatMap(({ names: batch }) => batch);
    // The first batches had been sent by then.
    expect(names.length).to.be.at.most(2 * HOLDS_PER_TURN);
    expect(names).to.include(`lock-${HOLDS - 1}`);
  });
});

describe('DeadlineHeap', () => {
  it('has the one on top whose deadline comes first, whatever is added, moved and taken out', () => {
    const heap = new DeadlineHeap();
    const all: { deadline: number; heapIndex: number }[] = [];
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let step = 0; step < 5_000; step++) {
      const some = all[random(Math.max(1, all.length))];
      const what = random(3);
      if (some === undefined || what === 0) {
        const one = { deadline: random(1_000), heapIndex: -1 };
        all.push(one);
        heap.place(one);
      } else if (what === 1) {
        some.deadline = random(1_000);
        heap.place(some);
      } else if (all.length > 50) {
        all.splice(all.indexOf(some), 1);
        heap.delete(some);
        heap.delete(some);
      }
      expect(heap.all.length).to.equal(all.length);
      expect(heap.first?.deadline).to.equal(Math.min(...all.map(({ deadline }) => deadline)));
    }
  });
});

describe('several holds that are lost at once (A12)', () => {
  it('are all lost for whoever is told of one of them', async () => {
    const clock = fakeClock();
    const client = new FakeClient();
    const names = ['a', 'b', 'c'];
    const held = await Promise.all(names.map((name) => client.lock(name).acquire({ leaseTime: 1_000 })));
    const seen: boolean[][] = [];
    const look = (): void => void seen.push(held.map(({ isHeld }) => isHeld));
    for (const { signal } of held) signal.addEventListener('abort', look);
    client.ownerships.onLost(look);
    stallClock(clock, 2_000);
    expect(held[0]!.isHeld).to.equal(false);
    expect(seen).to.deep.equal(Array.from({ length: 6 }, () => [false, false, false]));
    for (const hold of held) await hold.unlock().catch(() => undefined);
    await clock.tickAsync(60_000);
  });
});
