import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedissonClient, RLock } from '../../../../lib';
import type { BenchParameters, BenchResults } from '../benchTypes';

/** What one thread got. */
interface Share {
  acquisitions: number;
  late: number;
  longestWaitMs: number;
  totalWaitMs: number;
}

type HotParameters = BenchParameters['hot'] & {
  /** The connection that proves that nobody else is inside. */
  readonly checker: Redis | undefined;
};

/** Logical threads that fight for one lock until the deadline: `HotLock.java` in this package's terms. */
export class NodeHotLock {
  readonly #redisson: Pick<RedissonClient, 'runInThread'>;
  readonly #lockOf: (index: number) => RLock;
  readonly #parameters: HotParameters;
  #violations = 0;
  #error: string | null = null;

  constructor(
    redisson: Pick<RedissonClient, 'runInThread'>,
    lockOf: (index: number) => RLock,
    parameters: HotParameters,
  ) {
    this.#redisson = redisson;
    this.#lockOf = lockOf;
    this.#parameters = parameters;
  }

  async run(): Promise<BenchResults['hot']> {
    const { threads, durationMs, startAt = 0 } = this.#parameters;
    await sleep(Math.max(0, startAt - Date.now()));
    const start = performance.now();
    const deadline = start + durationMs;
    const shares = await Promise.all(
      Array.from({ length: threads }, (_, index) =>
        this.#redisson.runInThread(() => this.#fight(this.#lockOf(index), deadline)),
      ),
    );
    return {
      threads,
      elapsedMs: performance.now() - start,
      drainMs: Math.max(0, performance.now() - deadline),
      acquisitions: shares.map((share) => share.acquisitions),
      late: shares.reduce((sum, share) => sum + share.late, 0),
      longestWaitMs: shares.map((share) => share.longestWaitMs),
      totalWaitMs: shares.reduce((sum, share) => sum + share.totalWaitMs, 0),
      violations: this.#violations,
      error: this.#error,
    };
  }

  async #fight(lock: RLock, deadline: number): Promise<Share> {
    const share: Share = { acquisitions: 0, late: 0, longestWaitMs: 0, totalWaitMs: 0 };
    try {
      while (performance.now() < deadline) {
        const from = performance.now();
        await lock.lock();
        const waited = performance.now() - from;
        const late = performance.now() >= deadline;
        try {
          await this.#stay();
        } finally {
          await lock.unlock();
        }
        share.longestWaitMs = Math.max(share.longestWaitMs, waited);
        share.totalWaitMs += waited;
        if (late) share.late++;
        else share.acquisitions++;
      }
    } catch (error) {
      this.#error ??= String(error);
    }
    return share;
  }

  /** The holder key must be empty on the way in and ours on the way out; the counter is read, then written. */
  async #stay(): Promise<void> {
    const { checker, check } = this.#parameters;
    if (checker === undefined || check === undefined) return this.#pause();
    const me = randomUUID();
    const before = await checker.getset(check.holder, me);
    if (before !== null && before !== '') this.#violations++;
    const count = await checker.get(check.counter);
    await this.#pause();
    await checker.set(check.counter, String(Number(count ?? 0) + 1));
    if ((await checker.getset(check.holder, '')) !== me) this.#violations++;
  }

  async #pause(): Promise<void> {
    const { insideMs = 0 } = this.#parameters;
    if (insideMs > 0) await sleep(insideMs);
  }
}
