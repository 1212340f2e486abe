/*
 * Puts the clock, the timers and the randomness of the simulated world in the place of Node's. To be imported before
 * anything of lib and before ioredis. Without a world everything is as ever.
 */
import { AsyncResource } from 'node:async_hooks';
import type * as Crypto from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Net from 'node:net';
import type * as TimersPromises from 'node:timers/promises';
import { type Loop, type Occurrence, Phase } from './Loop';

// What `require` gives to everybody: an import may be a copy of it.
const load = createRequire(__filename);
const crypto = load('node:crypto') as typeof Crypto;
const net = load('node:net') as typeof Net;
const promises = load('node:timers/promises') as typeof TimersPromises;

/** The clock of the real world, for whoever reports. */
export const realNow: () => number = performance.now.bind(performance);

const real = {
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearImmediate,
  now: realNow,
  wall: Date.now.bind(Date),
  random: Math.random.bind(Math),
};

let world: Loop | undefined;

/** From now on time and chance are those of this world; of the real one with `undefined`. */
export function enter(loop: Loop | undefined): void {
  world = loop;
}

/** Timers of Node fire up to so many ms too early or too late. */
const EARLY_MS = 0.9;
const LATE_MS = 1.5;

class SimTimer {
  #loop: Loop;
  #process;
  #one: Occurrence | undefined;
  readonly #fire: () => void;
  readonly #ms: number;
  readonly #repeats: boolean;

  constructor(loop: Loop, fire: () => void, ms: unknown, repeats: boolean) {
    this.#loop = loop;
    this.#process = loop.current;
    const resource = new AsyncResource('SimTimer');
    this.#fire = () => resource.runInAsyncScope(fire);
    const given = Number(ms);
    this.#ms = given >= 1 && given <= 2 ** 31 - 1 ? Math.trunc(given) : 1;
    this.#repeats = repeats;
    this.#arm();
  }

  #arm(): void {
    const { random } = this.#loop;
    const ms = this.#ms / (this.#process?.rate ?? 1) + random.between(-EARLY_MS, LATE_MS);
    const run = (): void => {
      if (this.#repeats) this.#arm();
      this.#fire();
    };
    this.#one = this.#loop.after(Math.max(0.01, ms), run, {
      phase: Phase.Timer,
      process: this.#process,
      kind: 'timer',
    });
  }

  cancel(): void {
    if (this.#one !== undefined) this.#one.cancelled = true;
  }

  refresh(): this {
    this.cancel();
    this.#arm();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  close(): this {
    this.cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

type Callback = (...args: unknown[]) => void;

function clear(timer: unknown): void {
  if (timer instanceof SimTimer) timer.cancel();
  else real.clearTimeout(timer as NodeJS.Timeout);
}

const replaced = {
  setTimeout(fn: Callback, ms?: number, ...args: unknown[]): unknown {
    if (world === undefined) return real.setTimeout(fn, ms, ...args);
    return new SimTimer(world, () => fn(...args), ms, false);
  },
  setInterval(fn: Callback, ms?: number, ...args: unknown[]): unknown {
    if (world === undefined) return real.setInterval(fn, ms, ...args);
    return new SimTimer(world, () => fn(...args), ms, true);
  },
  setImmediate(fn: Callback, ...args: unknown[]): unknown {
    if (world === undefined) return real.setImmediate(fn, ...args);
    const resource = new AsyncResource('SimImmediate');
    const run = (): void => resource.runInAsyncScope(() => fn(...args));
    return world.after(0, run, { phase: Phase.Immediate, process: world.current, kind: 'immediate' });
  },
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate(one: unknown): void {
    if (typeof one === 'object' && one !== null && 'cancelled' in one) one.cancelled = true;
    else real.clearImmediate(one as NodeJS.Immediate);
  },
};

Object.assign(globalThis, replaced);
performance.now = () => world?.monotonic ?? real.now();
Date.now = () => world?.wall ?? real.wall();
Math.random = () => world?.random.next() ?? real.random();

// When rubbish is collected no seed decides.
class NoRegistry {
  register(): void {}

  unregister(): boolean {
    return false;
  }
}
Object.assign(globalThis, { FinalizationRegistry: NoRegistry });

const realBytes = crypto.randomBytes;
const realUuid = crypto.randomUUID;
const bytes = (loop: Loop, count: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: count }, () => loop.random.below(256)));

Object.assign(crypto, {
  randomBytes: (count: number) => (world === undefined ? realBytes(count) : bytes(world, count)),
  randomUUID(): string {
    if (world === undefined) return realUuid();
    const raw = bytes(world, 16);
    raw[6] = (raw[6]! & 0x0f) | 0x40;
    raw[8] = (raw[8]! & 0x3f) | 0x80;
    return raw.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  },
});

const realConnect = net.createConnection;
const connect = ((...args: Parameters<typeof realConnect>) => {
  const [{ host, port }] = args as unknown as [{ host: string; port: number }];
  return world?.dial === undefined ? realConnect(...args) : world.dial(host, port);
}) as typeof realConnect;
Object.assign(net, { connect, createConnection: connect });

const realPause = promises.setTimeout;
Object.assign(promises, {
  setTimeout<T>(ms: number, value: T, options: { signal?: AbortSignal } = {}): Promise<T> {
    const loop = world;
    if (loop === undefined) return realPause(ms, value, options);
    const { signal } = options;
    return new Promise<T>((resolve, reject) => {
      const aborted = (): void => {
        timer.cancel();
        reject(new DOMException('The operation was aborted', 'AbortError'));
      };
      const timer = new SimTimer(
        loop,
        () => (signal?.removeEventListener('abort', aborted), resolve(value)),
        ms,
        false,
      );
      if (signal?.aborted) aborted();
      else signal?.addEventListener('abort', aborted, { once: true });
    });
  },
});
