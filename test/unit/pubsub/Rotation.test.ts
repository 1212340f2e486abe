// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { Rotation } from '../../../lib/pubsub/Rotation';
import { fakeClock } from '../../support';

describe('Rotation', () => {
  let clock: SinonFakeTimers;
  let wakes: number;
  let rotation: Rotation;

  beforeEach(() => {
    clock = fakeClock();
    wakes = 0;
    rotation = new Rotation(() => (wakes += 1));
  });

  function messages(count: number): boolean[] {
    return Array.from({ length: count }, () => rotation.message());
  }

  it('A14: hands on 14 times at most beside turns that are short, and as often as it may once they are not', () => {
    const round = (othersTurnMs: number): void => {
      rotation.releasing(14, 15);
      rotation.released(2);
      messages(1);
      clock.tick(othersTurnMs);
      messages(1);
      rotation.turnBegins();
    };
    round(1);
    expect(rotation.handOvers).to.equal(Infinity);
    round(1);
    expect(rotation.handOvers).to.equal(14);
    round(15);
    round(15);
    expect(rotation.handOvers).to.equal(Infinity);
    rotation.close();
  });

  it('tries at every message while this process has not unlocked', () => {
    expect(messages(3)).to.deep.equal([true, true, true]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that nobody heard', () => {
    rotation.releasing();
    rotation.released(0);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that only it heard, and not again at its own message', () => {
    rotation.releasing();
    rotation.released(1);
    expect(wakes).to.equal(1);
    expect(messages(1)).to.deep.equal([false]);
    rotation.reset();
    expect([wakes, clock.countTimers()]).to.deep.equal([1, 0]);
    rotation.releasing();
    expect(messages(1)).to.deep.equal([false]);
    rotation.released(1);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
    expect(messages(1)).to.deep.equal([true]);
  });

  it('looks again after 5 ms where the only one that heard its unlock was another', () => {
    rotation.releasing();
    rotation.released(1);
    // The other one's unlock, which it takes for its own.
    expect(messages(1)).to.deep.equal([false]);
    clock.tick(5);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
  });

  for (const processes of [2, 3, 4]) {
    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes last`, () => {
      rotation.releasing();
      rotation.released(processes);
      // Its own, then those of the others; the last of them begins its turn.
      expect(messages(processes)).to.deep.equal([...Array<boolean>(processes - 1).fill(false), true]);
      expect(wakes).to.equal(0);
    });

    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes first`, () => {
      rotation.releasing();
      expect(rotation.message()).to.equal(false);
      rotation.released(processes);
      expect(messages(processes - 1)).to.deep.equal([...Array<boolean>(processes - 2).fill(false), true]);
      expect(wakes).to.equal(0);
    });
  }

  it('tries at once when all the others have had their turn before its unlock was answered', () => {
    rotation.releasing();
    messages(3);
    rotation.released(3);
    expect(wakes).to.equal(1);
  });

  it('falls back after 5 ms of silence: the others may be dead', () => {
    rotation.releasing();
    rotation.released(4);
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('counts the 5 ms from the last message', () => {
    rotation.releasing();
    rotation.released(4);
    clock.tick(4);
    rotation.message();
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
  });

  it('gives way to nobody any more once it has acquired', () => {
    rotation.releasing();
    rotation.released(4);
    rotation.reset();
    expect(messages(1)).to.deep.equal([true]);
    clock.tick(100);
    expect(wakes).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('heeds messages that came during an unlock that freed nothing', () => {
    rotation.releasing();
    rotation.released(-1);
    expect(wakes).to.equal(0);
    rotation.releasing();
    rotation.message();
    rotation.released(-1);
    expect(wakes).to.equal(1);
  });

  /** A turn of this process ends where unlocks do not tell how many wait. */
  function unlockUncounted(receivers: number): void {
    rotation.releasing();
    rotation.released(receivers, false);
  }

  describe('A4: where unlocks do not tell how many wait', () => {
    it('gives way to as many as Redis says are listening', async () => {
      unlockUncounted(1);
      rotation.count(() => Promise.resolve(3));
      await Promise.resolve();
      rotation.reset();
      for (let turn = 0; turn < 100; turn++) {
        rotation.turnBegins();
        unlockUncounted(1);
        // Its own, then those of the others; the last of them begins its turn.
        expect(messages(3)).to.deep.equal([false, false, true]);
        rotation.reset();
      }
    });

    it('waits for its own message, and no other, where Redis says that nobody else listens', async () => {
      rotation.count(() => Promise.resolve(1));
      await Promise.resolve();
      for (let turn = 0; turn < 100; turn++) {
        unlockUncounted(0);
        expect(wakes).to.equal(0);
        expect(messages(1)).to.deep.equal([true]);
        rotation.turnBegins();
        rotation.reset();
      }
    });

    it('asks again after 50 ms, and not while it waits for an answer', async () => {
      let asked = 0;
      let answer!: (listeners: number) => void;
      const ask = (): Promise<number> => {
        asked++;
        return new Promise((resolve) => (answer = resolve));
      };
      rotation.count(ask);
      clock.tick(1_000);
      rotation.count(ask);
      expect(asked).to.equal(1);
      answer(3);
      await Promise.resolve();
      clock.tick(49);
      rotation.count(ask);
      expect(asked).to.equal(1);
      clock.tick(1);
      rotation.count(ask);
      expect(asked).to.equal(2);
    });

    it('goes by the messages where it may not ask', async () => {
      rotation.count(() => Promise.reject(new Error('NOPERM')));
      await Promise.resolve();
      await Promise.resolve();
      unlockUncounted(1);
      messages(3);
      rotation.turnBegins();
      rotation.reset();
      unlockUncounted(1);
      // One more than it heard of last time.
      expect(messages(4)).to.deep.equal([false, false, false, true]);
    });
  });

  it('sets no timer when it is closed', () => {
    rotation.releasing();
    rotation.close();
    rotation.released(4);
    rotation.message();
    expect(clock.countTimers()).to.equal(0);
  });
});
