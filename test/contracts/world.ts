import type { Redis } from 'ioredis';
import { createSandbox } from 'sinon';
import type { Redisson, RedissonOptions } from '../../lib';
import { serverOf } from '../../lib/testing/createTestRedisson';
import { createTestRedisson, type TestRedissonOptions } from '../../lib/testing';
import * as support from '../support';
import { memoryRedis } from './memoryRedis';

/** The store of the tests that run now, where they run in memory. */
let store: object | undefined;
/** Whether tests are being defined that will run in memory. */
let defining = false;

/** A command and what follows from its reply take fewer. */
const MICROTASKS = 50;

/** Defines tests whose clients, and whose bare connections, are in memory: those of `createTestRedisson`. */
export function inMemory(define: () => void): void {
  describe('in memory', () => {
    // Time goes by as fast as there are timers: the contracts take no longer than what they compute.
    const sandbox = createSandbox();
    before(() => {
      store = {};
      const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;
      const clock = sandbox.useFakeTimers({ now: Date.now(), toFake: [...toFake], shouldClearNativeTimers: true });
      clock.setTickMode({ mode: 'nextAsync' });
    });
    after(() => {
      sandbox.restore();
      store = undefined;
    });
    defining = true;
    try {
      define();
    } finally {
      defining = false;
    }
  });
}

/** A test that needs a server, or what travels to one: left out in memory. */
export function onServer(title: string, test: Mocha.AsyncFunc): void {
  if (!defining) it(title, test);
}

/** A client of the tests that run in memory, if they do. */
export function memoryClient(options: RedissonOptions): Redisson | undefined {
  if (store === undefined) return undefined;
  return support.trackClient(createTestRedisson({ ...options, store } as TestRedissonOptions) as unknown as Redisson);
}

/** A bare connection of theirs. */
export function memoryConnection(): Redis | undefined {
  return store === undefined ? undefined : memoryRedis(serverOf(store));
}

/** As in `test/support`, by the clock of the tests that run now. */
export function sleep(ms: number): Promise<void> {
  return store === undefined ? support.sleep(ms) : new Promise((resolve) => setTimeout(resolve, ms));
}

/** As in `test/support`, by the clock of the tests that run now. */
export function monotonicNow(): number {
  return store === undefined ? support.monotonicNow() : performance.now();
}

/** As in `test/support`, by the clock of the tests that run now. */
export function sleepUntil<T>(
  condition: () => T | PromiseLike<T>,
  options?: support.SleepUntilOptions,
): Promise<NonNullable<T>> {
  return support.sleepUntil(condition, options, { sleep, monotonicNow });
}

/** As in `test/support`: everything that was ready has run. In memory no time passes meanwhile. */
export async function turn(): Promise<void> {
  if (store === undefined) return support.turn();
  for (let i = 0; i < MICROTASKS; i++) await Promise.resolve();
}

/** Whether the tests that are being defined will run on a server. */
export function definesForServer(): boolean {
  return !defining;
}

/**
 * A signal that calls no listeners: who looks at `aborted` when it wakes finds it aborted, before anything else
 * happens. No real one can be aborted at exactly that moment.
 */
export function abortedOnWaking(reason: Error): { readonly signal: AbortSignal; abort(): void } {
  const signal = { aborted: false, reason, addEventListener: () => undefined, removeEventListener: () => undefined };
  return { signal: signal as unknown as AbortSignal, abort: () => (signal.aborted = true) };
}
