import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ConnectionError, IllegalMonitorStateError, type Redisson, type RedissonOptions, type RLock } from '../../lib';
import type { LockEngine } from '../../lib/locks/core/LockEngine';
import { bareClient, newClient } from '../redis/synchronizers/support';
import { allowLeftovers, uniqueName } from '../support';
import type { LockUnderTest } from './lockContract';
import { risen } from '../support/sleepUntil';
import { sleep, sleepUntil } from './world';

/**
 * The watchdog time-out of clients in tests about it, in ms: short enough to wait for, and long enough for a machine
 * that stands still for two seconds. A renewal comes every third of it.
 */
export const WATCHDOG_MS = 4_500;
/**
 * How late a machine that stands still for a moment may be, in ms. What never comes in time is far later in these
 * tests.
 */
export const LATE_MS = 3_000;
/** Of all others, in ms: no machine is so busy that a renewal is as late as that. */
const LONG_WATCHDOG_MS = 10_000;

/** What a test of the contract works with: one lock name, a client, another client, a bare connection. */
export class LockStage {
  readonly kind: LockUnderTest;
  readonly name: string;
  readonly client: Redisson;
  readonly other: Redisson;
  /** One that dies. */
  readonly mortal: Redisson;
  readonly redis: Redis;
  /** Whether the test leaves keys behind on purpose. */
  leavesKeys = false;
  readonly #watchdogMs: number;

  /** @param watchdogMs - the watchdog time-out of its clients */
  constructor(kind: LockUnderTest, watchdogMs: number) {
    this.kind = kind;
    this.#watchdogMs = watchdogMs;
    this.name = uniqueName('contract');
    this.redis = bareClient();
    this.client = this.newClient();
    this.other = this.newClient();
    this.mortal = this.newClient();
  }

  /** One more client. */
  newClient(options: RedissonOptions = {}): Redisson {
    return newClient({ lockWatchdogTimeout: this.#watchdogMs, ...this.kind.settings, ...options });
  }

  /** A fresh handle. */
  lock(client = this.client): RLock {
    return this.kind.make(client, this.name);
  }

  /** A handle of the other client for a lock that excludes the one under test. */
  blocker(client = this.other): RLock {
    return (this.kind.blocker ?? this.kind.make)(client, this.name);
  }

  /** The keys that are there while it is held. */
  get keys(): string[] {
    return this.kind.keys?.(this.name) ?? [this.name];
  }

  /** Whether the lock is held by anybody, as Redis sees it. */
  async isLocked(): Promise<boolean> {
    return (await this.redis.exists(...this.keys)) > 0;
  }

  /** Resolves when nobody holds it any more. */
  async untilFree(timeout = 5_000): Promise<void> {
    await sleepUntil(async () => !(await this.isLocked()), { timeout, message: `${this.name} is free` });
  }

  /** The shortest time to live of its keys. */
  async leastTtl(): Promise<number> {
    return Math.min(...(await Promise.all(this.keys.map((key) => this.redis.pttl(key)))));
  }

  /** Resolves when the watchdog has renewed it: every key lives longer than before. */
  async untilRenewed(): Promise<void> {
    const longer = risen(() => this.leastTtl());
    await sleepUntil(longer, { timeout: WATCHDOG_MS + LATE_MS, interval: 20, message: `${this.name} is renewed` });
  }

  /** Fails when somebody renews it within a period of the watchdog; forgets it then, as Redis would a little later. */
  async expectNoRenewal(): Promise<void> {
    const before = await this.leastTtl();
    await sleep((WATCHDOG_MS / 3) * 1.2);
    expect(await this.leastTtl(), 'the time to live gets shorter').to.be.below(before - WATCHDOG_MS / 3);
    await this.vanish();
  }

  /** Resolves when somebody waits for it: subscribed, or for a kind without messages after a moment. */
  async untilWaiting(): Promise<void> {
    if (this.kind.traits.pubsub) {
      await sleepUntil(async () => (await this.channels()).length > 0, { message: 'a waiter listens' });
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }

  /** The channels of this lock that somebody listens to. */
  async channels(): Promise<string[]> {
    return (await this.redis.pubsub('CHANNELS', `*${this.name}*`)) as string[];
  }

  /** The lock vanishes under its holder, as at the end of its time: with the keys of its read holds. */
  async vanish(): Promise<void> {
    const ofReaders = (await this.redis.keys(`*${this.name}*`)).filter((key) => key.includes('rwlock_timeout'));
    await this.redis.del(...this.keys, ...ofReaders);
  }

  /**
   * Lets scripts of a client fail: they are never sent.
   * @param what - as errors name them, e.g. `release lock`
   * @param nths - which of those that come from now on; 1 is the next
   */
  failing(client: Redisson, what: RegExp, ...nths: readonly number[]): void {
    const { executor } = (this.lock(client) as unknown as { readonly engine: LockEngine }).engine.context;
    const run = executor.run.bind(executor) as (...args: Parameters<typeof executor.run>) => Promise<never>;
    let count = 0;
    executor.run = (...args) => {
      const text = args[3]?.what ?? '';
      if (!what.test(text) || !nths.includes(++count)) return run(...args);
      return Promise.reject(new ConnectionError(`${text}: not sent, as the test wants it`, false));
    };
  }

  /** Fails unless the thread does not hold it. */
  async expectNotOwner(unlock: Promise<unknown>): Promise<void> {
    const error: unknown = await unlock.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(IllegalMonitorStateError);
  }

  /** Every key whose name contains the lock's, but those that stay by design. */
  async leftKeys(): Promise<string[]> {
    const persistent = this.kind.persistentKeys?.(this.name) ?? [];
    // Those of names that begin with this one as well.
    const begin = persistent.map((key) => key.replace(/}$/, ''));
    return (await this.redis.keys(`*${this.name}*`)).filter((key) => !begin.some((one) => key.startsWith(one)));
  }

  /** After each test: no key and no subscription of this lock is left. */
  async end(passed: boolean): Promise<void> {
    try {
      if (passed && !this.leavesKeys) {
        await sleepUntil(async () => (await this.leftKeys()).length === 0, {
          // Shorter than any lease: what was forgotten is still there.
          timeout: 4_000,
          message: `no key left of ${this.name}`,
        });
      }
      if (passed) await sleepUntil(async () => (await this.channels()).length === 0, { message: 'no channel left' });
    } finally {
      const keys = await this.redis.keys(`*${this.name}*`);
      if (keys.length > 0) await this.redis.del(...keys);
    }
  }
}

/**
 * A stage for each test of a `describe`. @param watchdogMs - the watchdog time-out of its clients. @default a long one
 */
export function useStage(kind: LockUnderTest, watchdogMs = LONG_WATCHDOG_MS): () => LockStage {
  let stage: LockStage | undefined;
  beforeEach(() => {
    stage = new LockStage(kind, watchdogMs);
  });
  afterEach(async function () {
    await stage!.end(this.currentTest?.state === 'passed');
  });
  return () => stage!;
}

/** What happens on a stage. It makes no client and no server of its own: those would be closed with another test. */
export type Scenario = (stage: LockStage) => Promise<void>;

/**
 * Scenarios that mostly wait, by the names of their tests: they begin together, and each test waits for its own.
 * @param watchdogMs - the watchdog time-out of their clients
 */
export function together(
  kind: LockUnderTest,
  scenarios: Readonly<Record<string, Scenario>>,
  watchdogMs = WATCHDOG_MS,
): void {
  const running = new Map<string, Promise<void>>();
  const stages: LockStage[] = [];

  before(() => {
    for (const [title, scenario] of Object.entries(scenarios)) {
      const stage = new LockStage(kind, watchdogMs);
      stages.push(stage);
      const done = scenario(stage).then(
        () => stage.end(true),
        async (error: unknown) => {
          await stage.end(false);
          throw error;
        },
      );
      done.catch(() => undefined);
      running.set(title, done);
    }
  });
  for (const title of Object.keys(scenarios)) {
    it(title, () => {
      // What the others are doing meanwhile is theirs; each scenario looks for its own leftovers when it ends.
      allowLeftovers({ channels: true, connections: true, keys: true, timers: true });
      return running.get(title);
    });
  }
  after(async () => {
    await Promise.allSettled(running.values());
    await Promise.all(
      stages.flatMap(({ client, other, mortal }) => [client, other, mortal].map((one) => one.shutdown())),
    );
  });
}
