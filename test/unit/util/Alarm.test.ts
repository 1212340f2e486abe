import { expect } from 'chai';
import { AsyncLocalStorage } from 'node:async_hooks';
import * as sinon from 'sinon';
import { Alarm, arrived } from '../../../lib/util/Alarm';
import { fakeClock, stallClock, turn } from '../../support';

describe('Alarm', () => {
  let clock: sinon.SinonFakeTimers;
  let rings: number[];
  let alarm: Alarm;

  beforeEach(() => {
    clock = fakeClock();
    rings = [];
    alarm = new Alarm(() => rings.push(clock.now));
  });

  it('rings once, at the time that it was set to', () => {
    alarm.set(50);
    expect(alarm.at).to.equal(50);
    clock.tick(49);
    expect(rings).to.deep.equal([]);
    clock.tick(1000);
    expect(rings).to.deep.equal([50]);
    expect(alarm.at).to.equal(Infinity);
  });

  it('setBy moves it to an earlier time only', () => {
    alarm.setBy(50);
    alarm.setBy(80);
    expect(alarm.at).to.equal(50);
    alarm.setBy(20);
    clock.tick(1000);
    expect(rings).to.deep.equal([20]);
  });

  it('set puts it off, and keeps the one timer that it has', () => {
    alarm.set(50);
    alarm.set(80);
    expect(clock.countTimers()).to.equal(1);
    clock.tick(79);
    expect(rings).to.deep.equal([]);
    clock.tick(1);
    expect(rings).to.deep.equal([80]);
  });

  it('set to Infinity it does not ring, and can be set again while its old timer stands', () => {
    alarm.set(50);
    alarm.set(Infinity);
    clock.tick(30);
    alarm.set(60);
    clock.tick(1000);
    expect(rings).to.deep.equal([60]);
  });

  it('off leaves no timer, and it can be set again', () => {
    alarm.set(50);
    alarm.off();
    expect(clock.countTimers()).to.equal(0);
    clock.tick(60);
    alarm.set(70);
    clock.tick(1000);
    expect(rings).to.deep.equal([70]);
  });

  it('may be set again while it rings', () => {
    alarm = new Alarm(() => {
      rings.push(clock.now);
      if (rings.length < 3) alarm.set(clock.now + 10);
    });
    alarm.set(10);
    clock.tick(1000);
    expect(rings).to.deep.equal([10, 20, 30]);
  });

  it('a time that has passed rings at once, in a later turn', () => {
    clock.tick(100);
    alarm.set(-Infinity);
    expect(rings).to.deep.equal([]);
    clock.tick(1);
    expect(rings).to.have.length(1);
  });

  it('rings after more than the longest time of a Node timer', () => {
    const at = 2 ** 31 + 5000;
    alarm.set(at);
    clock.tick(at - 1);
    expect(rings).to.deep.equal([]);
    clock.tick(1);
    expect(rings).to.deep.equal([at]);
  });

  it('keeps the process alive only if callers wait for it', () => {
    const keepsAlive: boolean[] = [];
    const original = setTimeout;
    globalThis.setTimeout = ((fn: () => void, ms: number) => {
      const timer = original(fn, ms);
      queueMicrotask(() => keepsAlive.push(timer.hasRef()));
      return timer;
    }) as typeof setTimeout;
    try {
      alarm.set(10);
      new Alarm(() => undefined, { awaited: true }).set(10);
    } finally {
      globalThis.setTimeout = original;
    }
    return Promise.resolve().then(() => expect(keepsAlive).to.deep.equal([false, true]));
  });
});

describe('an Alarm that judges', () => {
  let clock: sinon.SinonFakeTimers;
  let rings: number[];
  let onItsWay: boolean;
  let alarm: Alarm;

  beforeEach(() => {
    clock = fakeClock();
    rings = [];
    onItsWay = true;
    alarm = new Alarm(() => rings.push(performance.now()), { judges: () => onItsWay });
  });

  afterEach(() => alarm.off());

  it('lets the sockets be read before it rings', async () => {
    alarm.set(1_000);
    clock.tick(1_000);
    expect(rings).to.deep.equal([]);
    await turn();
    expect(rings).to.deep.equal([1_000]);
    expect(clock.countTimers()).to.equal(0);
  });

  for (const how of ['off', 'put off'] as const) {
    it(`does not ring if that turns it ${how}`, async () => {
      alarm.set(1_000);
      clock.tick(1_000);
      if (how === 'off') alarm.off();
      else alarm.set(2_000);
      await turn();
      expect(rings).to.deep.equal([]);
      clock.tick(1_000);
      await turn();
      expect(rings).to.deep.equal(how === 'off' ? [] : [2_000]);
    });
  }

  for (const [stall, setAt, until, ends] of [
    ['of 50 ms at the deadline', 0, 1_050, 1_250],
    ['that ends with the deadline', 0, 1_000, 1_200],
    ['of most of a short wait', 960, 1_000, 1_020],
    ['that is over long before', 0, 500, 1_000],
  ] as const) {
    it(`after a stall ${stall} gives replies as long as the loop was blocked, up to 200 ms`, async () => {
      clock.tick(setAt);
      alarm.set(1_000);
      stallClock(clock, until - setAt);
      await clock.tickAsync(until - setAt);
      await clock.tickAsync(ends - until - 1);
      expect(rings).to.deep.equal([]);
      await clock.tickAsync(1);
      expect(rings).to.deep.equal([ends]);
    });
  }

  it('gives nothing where no reply is on its way', async () => {
    alarm.set(1_000);
    onItsWay = false;
    stallClock(clock, 1_500);
    clock.tick(1_000);
    await turn();
    expect(rings).to.deep.equal([1_500]);
  });

  it('rings in the turn of its timer where no reply is on its way: fake timers may end just there', () => {
    alarm = new Alarm(() => rings.push(clock.now), { judges: () => false });
    alarm.set(1000);
    clock.tick(1000);
    expect(rings).to.deep.equal([1000]);
  });

  it('goes on while replies come in and reading them blocks the loop, and not when other work does', async () => {
    alarm.set(1_000);
    let now = 3_000;
    sinon.replace(performance, 'now', () => now);
    clock.tick(1_000);
    await turn();
    for (let i = 0; i < 3; i++) {
      arrived.replies++;
      now += 1_000;
      clock.tick(200);
      await turn();
      expect(rings).to.deep.equal([]);
    }
    now += 1_000;
    clock.tick(200);
    await turn();
    expect(rings).to.deep.equal([7_000]);
  });

  it('does not go on for ever', async () => {
    alarm.set(1_000);
    let now = 1_000;
    sinon.replace(performance, 'now', () => now);
    for (let i = 0; i < 25; i++) {
      arrived.replies++;
      now += 1_000;
      clock.tick(1_000);
      await turn();
    }
    expect(rings).to.have.length(1);
  });
});

describe('Alarm, with real time', () => {
  it('rings in no caller’s async context', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen = await new Promise((resolve) => {
      const alarm = new Alarm(() => resolve(storage.getStore()));
      storage.run('caller', () => alarm.set(performance.now() + 1));
      setTimeout(() => undefined, 50);
    });
    expect(seen).to.equal(undefined);
  });
});
