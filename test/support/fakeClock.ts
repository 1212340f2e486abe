import * as sinon from 'sinon';

/**
 * Fakes the clock for a unit test; `leaks.ts` takes it back after the test.
 * `setImmediate`, `nextTick` and microtasks stay real: a plain `useFakeTimers()` hangs ioredis and mocha alike.
 * Never use it where a key must expire in Redis.
 */
export function fakeClock(now = 0): sinon.SinonFakeTimers {
  return sinon.useFakeTimers({
    now,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    shouldClearNativeTimers: true,
  });
}

/** The event loop was busy: the clock has gone on by `ms`, and timers that have become due have not fired. */
export function stallClock(clock: sinon.SinonFakeTimers, ms: number): void {
  const at = performance.now() + ms;
  sinon.replace(performance, 'now', () => Math.max(at, clock.now));
}
