// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ProcessFairness } from '../../../lib/waiters/fairness';
import { fakeClock } from '../../support';

describe('ProcessFairness', () => {
  let clock: SinonFakeTimers;
  let wakes: number;
  let fairness: ProcessFairness;

  beforeEach(() => {
    clock = fakeClock();
    wakes = 0;
    fairness = new ProcessFairness(() => (wakes += 1));
  });

  function messages(count: number): boolean[] {
    return Array.from({ length: count }, () => fairness.message());
  }

  it('A14: hands on 14 times at most beside turns that are short, and as often as it may once they are not', () => {
    const round = (othersTurnMs: number): void => {
      fairness.releasing(14, 15);
      fairness.released(2);
      messages(1);
      clock.tick(othersTurnMs);
      messages(1);
      fairness.turnBegins();
    };
    round(1);
    expect(fairness.handOvers).to.equal(Infinity);
    round(1);
    expect(fairness.handOvers).to.equal(14);
    round(15);
    round(15);
    expect(fairness.handOvers).to.equal(Infinity);
    fairness.close();
  });

  it('tries at every message while this process has not unlocked', () => {
    expect(messages(3)).to.deep.equal([true, true, true]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that nobody heard', () => {
    fairness.releasing();
    fairness.released(0);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that only it heard, and not again at its own message', () => {
    fairness.releasing();
    fairness.released(1);
    expect(wakes).to.equal(1);
    expect(messages(1)).to.deep.equal([false]);
    fairness.reset();
    expect([wakes, clock.countTimers()]).to.deep.equal([1, 0]);
    fairness.releasing();
    expect(messages(1)).to.deep.equal([false]);
    fairness.released(1);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
    expect(messages(1)).to.deep.equal([true]);
  });

  it('looks again after 5 ms where the only one that heard its unlock was another', () => {
    fairness.releasing();
    fairness.released(1);
    // The other one's unlock, which it takes for its own.
    expect(messages(1)).to.deep.equal([false]);
    clock.tick(5);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
  });

  for (const processes of [2, 3, 4]) {
    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes last`, () => {
      fairness.releasing();
      fairness.released(processes);
      // Its own, then those of the others; the last of them begins its turn.
      expect(messages(processes)).to.deep.equal([...Array<boolean>(processes - 1).fill(false), true]);
      expect(wakes).to.equal(0);
    });

    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes first`, () => {
      fairness.releasing();
      expect(fairness.message()).to.equal(false);
      fairness.released(processes);
      expect(messages(processes - 1)).to.deep.equal([...Array<boolean>(processes - 2).fill(false), true]);
      expect(wakes).to.equal(0);
    });
  }

  it('tries at once when all the others have had their turn before its unlock was answered', () => {
    fairness.releasing();
    messages(3);
    fairness.released(3);
    expect(wakes).to.equal(1);
  });

  it('falls back after 5 ms of silence: the others may be dead', () => {
    fairness.releasing();
    fairness.released(4);
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('counts the 5 ms from the last message', () => {
    fairness.releasing();
    fairness.released(4);
    clock.tick(4);
    fairness.message();
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
  });

  it('gives way to nobody any more once it has acquired', () => {
    fairness.releasing();
    fairness.released(4);
    fairness.reset();
    expect(messages(1)).to.deep.equal([true]);
    clock.tick(100);
    expect(wakes).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('heeds messages that came during an unlock that released nothing', () => {
    fairness.releasing();
    fairness.released(-1);
    expect(wakes).to.equal(0);
    fairness.releasing();
    fairness.message();
    fairness.released(-1);
    expect(wakes).to.equal(1);
  });

  /** A turn of this process ends where unlocks do not tell how many wait. */
  function unlockUncounted(receivers: number): void {
    fairness.releasing();
    fairness.released(receivers, false);
  }

  describe('A4: where unlocks do not tell how many wait', () => {
    it('gives way to as many as Redis says are listening', async () => {
      unlockUncounted(1);
      fairness.count(() => Promise.resolve(3));
      await Promise.resolve();
      fairness.reset();
      for (let turn = 0; turn < 100; turn++) {
        fairness.turnBegins();
        unlockUncounted(1);
        // Its own, then those of the others; the last of them begins its turn.
        expect(messages(3)).to.deep.equal([false, false, true]);
        fairness.reset();
      }
    });

    it('waits for its own message, and no other, where Redis says that nobody else listens', async () => {
      fairness.count(() => Promise.resolve(1));
      await Promise.resolve();
      for (let turn = 0; turn < 100; turn++) {
        unlockUncounted(0);
        expect(wakes).to.equal(0);
        expect(messages(1)).to.deep.equal([true]);
        fairness.turnBegins();
        fairness.reset();
      }
    });

    it('asks again after 50 ms, and not while it waits for an answer', async () => {
      let asked = 0;
      let answer!: (listeners: number) => void;
      const ask = (): Promise<number> => {
        asked++;
        return new Promise((resolve) => (answer = resolve));
      };
      fairness.count(ask);
      clock.tick(1_000);
      fairness.count(ask);
      expect(asked).to.equal(1);
      answer(3);
      await Promise.resolve();
      clock.tick(49);
      fairness.count(ask);
      expect(asked).to.equal(1);
      clock.tick(1);
      fairness.count(ask);
      expect(asked).to.equal(2);
    });

    it('goes by the messages where it may not ask', async () => {
      fairness.count(() => Promise.reject(new Error('NOPERM')));
      await Promise.resolve();
      await Promise.resolve();
      unlockUncounted(1);
      messages(3);
      fairness.turnBegins();
      fairness.reset();
      unlockUncounted(1);
      // One more than it heard of last time.
      expect(messages(4)).to.deep.equal([false, false, false, true]);
    });
  });

  it('sets no timer when it is closed', () => {
    fairness.releasing();
    fairness.close();
    fairness.released(4);
    fairness.message();
    expect(clock.countTimers()).to.equal(0);
  });
});
