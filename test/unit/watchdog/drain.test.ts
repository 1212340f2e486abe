import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { Drain } from '../../../lib/watchdog/drain';
import type { OwnershipTable } from '../../../lib/watchdog/OwnershipTable';
import { laterTurn } from '../../../lib/util/timing';
import { fakeClock } from '../../support';

/** Timers are fake, turns of the event loop are not. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a drain', () => {
  let clock: SinonFakeTimers;
  let drained: boolean;
  const holds = { busy: true, onReleased: undefined as (() => void) | undefined };
  const executor = { busy: false, laterTurn };

  beforeEach(() => {
    clock = fakeClock();
    drained = false;
    Object.assign(holds, { busy: true, onReleased: undefined });
    executor.busy = false;
  });

  function start(): Drain {
    return new Drain(holds as unknown as OwnershipTable, executor);
  }

  function watch(drain: Drain, limitMs: number): void {
    void drain.within(limitMs).then(() => (drained = true));
  }

  async function after(ms: number): Promise<boolean> {
    await clock.tickAsync(ms);
    await turn();
    return drained;
  }

  it('ends when everything is given back and every command is answered', async () => {
    watch(start(), 10_000);
    expect(await after(5_000)).to.equal(false);
    holds.busy = false;
    executor.busy = true;
    holds.onReleased?.();
    expect(await after(100)).to.equal(false);
    executor.busy = false;
    expect(await after(10)).to.equal(true);
    expect([clock.countTimers(), holds.onReleased]).to.deep.equal([0, undefined]);
  });

  it('ends after its time, or at once without any', async () => {
    watch(start(), 300);
    expect(await after(299)).to.equal(false);
    expect(await after(1)).to.equal(true);
    drained = false;
    watch(start(), 0);
    expect(await after(0)).to.equal(true);
    expect(clock.countTimers()).to.equal(0);
  });

  for (const [wanted, limits, endsAt] of [
    ['a shorter time that is asked for later shortens it, counted from then', [10_000, 500], 1_500],
    ['a longer one changes nothing', [3_000, 60_000], 3_000],
    ['one that would end later changes nothing, though it is shorter', [1_200, 1_100], 1_200],
    ['none at all ends it', [10_000, 0], 1_000],
  ] as const) {
    it(wanted, async () => {
      const drain = start();
      watch(drain, limits[0]);
      await after(1_000);
      void drain.within(limits[1]);
      if (endsAt > 1_000) expect(await after(endsAt - 1_001)).to.equal(false);
      expect(await after(1)).to.equal(true);
      expect(clock.countTimers()).to.equal(0);
    });
  }

  it('one time more than a timer takes is not over at once', async () => {
    watch(start(), Number.MAX_SAFE_INTEGER);
    expect(await after(1_000)).to.equal(false);
    holds.busy = false;
    holds.onReleased?.();
    expect(await after(0)).to.equal(true);
  });

  it('is over once: a later call finds it so', async () => {
    const drain = start();
    watch(drain, 0);
    await after(0);
    await drain.within(5_000);
    expect(clock.countTimers()).to.equal(0);
  });
});
