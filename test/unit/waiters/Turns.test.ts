// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { Turns } from '../../../lib/waiters/Turns';
import { fakeClock } from '../../support';

describe('Turns', () => {
  let clock: SinonFakeTimers;
  let wakes: number;
  let turns: Turns;
  /** The queue: one waits, and no readers. */
  const queue = {
    readersSleep: false,
    subscription: {
      counted: true,
      heard: true,
      countListeners: (): Promise<number | undefined> => Promise.resolve(undefined),
    },
    wakeHead: (): void => void (wakes += 1),
  };

  beforeEach(() => {
    clock = fakeClock();
    wakes = 0;
    queue.readersSleep = false;
    Object.assign(queue.subscription, { counted: true, heard: true });
    turns = new Turns('name');
    turns.attach(queue);
  });

  function messages(count: number): boolean[] {
    return Array.from({ length: count }, () => turns.message());
  }

  /** So many hand-overs within 15 ms, and then an unlock that two hear. */
  function longTurn(): void {
    turns.begin(performance.now());
    for (let i = 0; i < 14; i++) turns.handedOver(0);
    clock.tick(15);
    turns.releasing();
    turns.released(2);
  }

  it('A14: hands on 14 times at most beside turns that are short, and as often as it may once they are not', () => {
    const round = (othersTurnMs: number): void => {
      longTurn();
      messages(1);
      clock.tick(othersTurnMs);
      messages(1);
      turns.begin(performance.now());
    };
    const handOvers = (): number => {
      const now = performance.now();
      turns.begin(now);
      let count = 0;
      for (; count < 64 && turns.mayHandOver(now, 64); count++) turns.handedOver(0);
      return count;
    };
    round(1);
    expect(handOvers()).to.equal(64);
    round(1);
    expect(handOvers()).to.equal(14);
    round(15);
    round(15);
    expect(handOvers()).to.equal(64);
    turns.detach();
  });

  it('gives way for two round trips where Redis is far: the others cannot be faster', () => {
    turns.begin(performance.now());
    const sentAt = performance.now();
    turns.handedOver(0);
    clock.tick(8);
    turns.answered(sentAt);
    turns.releasing();
    turns.released(2);
    clock.tick(15);
    expect(wakes).to.equal(0);
    clock.tick(2);
    expect(wakes).to.equal(1);
    turns.detach();
  });

  describe('the longest turn', () => {
    /** A turn of hand-overs that are answered after so many ms each. @returns how long it was, in ms */
    const turnOf = (answersMs: readonly number[]): number => {
      const startedAt = performance.now();
      turns.begin(startedAt);
      for (let i = 0; i < 64 && turns.mayHandOver(performance.now(), 64); i++) {
        const sentAt = performance.now();
        turns.handedOver(0);
        clock.tick(answersMs[Math.min(i, answersMs.length - 1)]!);
        turns.answered(sentAt);
      }
      return performance.now() - startedAt;
    };

    it('is 20 ms where Redis is near, and 16 round trips where it is far', () => {
      expect([turnOf([1]), turnOf([5]), turnOf([5]), turnOf([1]), turnOf([1])]).to.deep.equal([20, 20, 80, 20, 20]);
    });

    it('is no longer for a reply that hangs: the shortest of the turn and the last one counts', () => {
      expect([turnOf([500, 2]), turnOf([2, 500]), turnOf([2])]).to.deep.equal([502, 502, 32]);
      turns.attach(queue);
      expect(turnOf([3_000, 1])).to.equal(3_000);
      expect(turnOf([1])).to.equal(20);
    });
  });

  it('tries at every message while this process has not unlocked', () => {
    expect(messages(3)).to.deep.equal([true, true, true]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that nobody heard', () => {
    turns.releasing();
    turns.released(0);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('tries at once after an unlock that only it heard, and not again at its own message', () => {
    turns.releasing();
    turns.released(1);
    expect(wakes).to.equal(1);
    expect(messages(1)).to.deep.equal([false]);
    turns.begin(performance.now());
    expect([wakes, clock.countTimers()]).to.deep.equal([1, 0]);
    turns.releasing();
    expect(messages(1)).to.deep.equal([false]);
    turns.released(1);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
    expect(messages(1)).to.deep.equal([true]);
  });

  it('looks again after 5 ms where the only one that heard its unlock was another', () => {
    turns.releasing();
    turns.released(1);
    // The other one's unlock, which it takes for its own.
    expect(messages(1)).to.deep.equal([false]);
    clock.tick(5);
    expect([wakes, clock.countTimers()]).to.deep.equal([2, 0]);
  });

  for (const processes of [2, 3, 4]) {
    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes last`, () => {
      turns.releasing();
      turns.released(processes);
      // Its own, then those of the others; the last of them begins its turn.
      expect(messages(processes)).to.deep.equal([...Array<boolean>(processes - 1).fill(false), true]);
      expect(wakes).to.equal(0);
    });

    it(`lets ${processes - 1} others unlock first when ${processes} processes wait; its own message comes first`, () => {
      turns.releasing();
      expect(turns.message()).to.equal(false);
      turns.released(processes);
      expect(messages(processes - 1)).to.deep.equal([...Array<boolean>(processes - 2).fill(false), true]);
      expect(wakes).to.equal(0);
    });
  }

  it('tries at once when all the others have had their turn before its unlock was answered', () => {
    turns.releasing();
    messages(3);
    turns.released(3);
    expect(wakes).to.equal(1);
  });

  it('falls back after 5 ms of silence: the others may be dead', () => {
    turns.releasing();
    turns.released(4);
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
    expect(clock.countTimers()).to.equal(0);
  });

  it('counts the 5 ms from the last message', () => {
    turns.releasing();
    turns.released(4);
    clock.tick(4);
    turns.message();
    clock.tick(4);
    expect(wakes).to.equal(0);
    clock.tick(1);
    expect(wakes).to.equal(1);
  });

  it('gives way to nobody any more once it has acquired', () => {
    turns.releasing();
    turns.released(4);
    turns.begin(performance.now());
    expect(messages(1)).to.deep.equal([true]);
    clock.tick(100);
    expect(wakes).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('heeds messages that came during an unlock that released nothing', () => {
    turns.releasing();
    turns.released(-1);
    expect(wakes).to.equal(0);
    turns.releasing();
    turns.message();
    turns.released(-1);
    expect(wakes).to.equal(1);
  });

  it('gives way: a fresh caller does not attempt before so many messages have passed, or 5 ms', () => {
    turns.releasing();
    turns.released(3);
    expect(turns.givesWay).to.equal(true);
    messages(2);
    expect(turns.givesWay).to.equal(true);
    messages(1);
    expect(turns.givesWay).to.equal(false);
    turns.releasing();
    turns.released(3);
    clock.tick(5);
    expect(turns.givesWay).to.equal(false);
  });

  it('gives way to no one where it is alone, and once to readers that sleep', () => {
    turns.releasing();
    turns.released(1);
    expect(turns.givesWay).to.equal(false);
    turns.giveWayToReaders();
    expect(turns.givesWay).to.equal(true);
    // Its own message, which the readers do not need, and the one for them.
    expect(messages(2)).to.deep.equal([false, true]);
    expect(turns.givesWay).to.equal(false);
  });

  it('at rest: its own message is not one of the others’, whenever it comes', () => {
    for (const early of [true, false]) {
      turns.detach();
      turns.releasing();
      if (early) messages(1);
      turns.released(3);
      if (!early) messages(1);
      expect([turns.givesWay, clock.countTimers()]).to.deep.equal([true, 0]);
      turns.attach(queue);
      expect(messages(2)).to.deep.equal([false, true]);
      turns.begin(performance.now());
    }
  });

  it('A3: at rest, or while it hears nothing, those who listen are others', () => {
    for (const rests of [true, false]) {
      if (rests) turns.detach();
      else queue.subscription.heard = false;
      for (let round = 0; round < 2; round++) {
        turns.releasing();
        turns.released(1);
        expect(turns.givesWay, `round ${round}`).to.equal(true);
      }
      turns.attach(queue);
      expect(messages(1)).to.deep.equal([true]);
    }
  });

  it('at rest it is needed for 5 ms, and as long as an unlock is under way', () => {
    turns.detach();
    clock.tick(4);
    expect(turns.needed).to.equal(true);
    turns.releasing();
    clock.tick(100);
    expect(turns.needed).to.equal(true);
    turns.released(0);
    expect(turns.needed).to.equal(false);
    turns.attach(queue);
    expect(turns.needed).to.equal(true);
  });

  describe('A4: where unlocks do not tell how many wait', () => {
    let asked: number;
    let listeners: number | undefined;

    beforeEach(() => {
      asked = 0;
      queue.subscription.counted = false;
      queue.subscription.countListeners = () => Promise.resolve(((asked += 1), listeners));
    });

    async function unlock(receivers: number): Promise<void> {
      turns.releasing();
      turns.released(receivers);
      await Promise.resolve();
    }

    it('gives way to as many as Redis says are listening', async () => {
      listeners = 3;
      await unlock(1);
      for (let turn = 0; turn < 100; turn++) {
        turns.begin(performance.now());
        await unlock(1);
        // Its own, then those of the others; the last of them begins its turn.
        expect(messages(3)).to.deep.equal([false, false, true]);
      }
    });

    for (const answer of [1, undefined]) {
      it(`waits for its own message, and no other, where Redis says that ${answer ?? 'it may not ask who'} listens`, async () => {
        listeners = answer;
        for (let turn = 0; turn < 100; turn++) {
          wakes = 0;
          await unlock(0);
          expect(wakes).to.equal(0);
          expect(messages(1)).to.deep.equal([true]);
          turns.begin(performance.now());
        }
      });
    }

    it('asks again after 50 ms, and not while it waits for an answer', async () => {
      let answer!: (listeners: number) => void;
      queue.subscription.countListeners = () => {
        asked++;
        return new Promise((resolve) => (answer = resolve));
      };
      await unlock(1);
      clock.tick(1_000);
      await unlock(1);
      expect(asked).to.equal(1);
      answer(3);
      await Promise.resolve();
      clock.tick(49);
      await unlock(1);
      expect(asked).to.equal(1);
      clock.tick(1);
      await unlock(1);
      expect(asked).to.equal(2);
    });
  });

  it('sets no timer when nobody waits any more', () => {
    turns.releasing();
    turns.detach();
    turns.released(4);
    turns.message();
    expect(clock.countTimers()).to.equal(0);
  });
});
