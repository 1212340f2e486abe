// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { RReadWriteLock, Redisson } from '../../../lib';
import { sleep, trackClient, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

const SECONDS = 1.5;

/** What one round of readers and writers came to. */
interface Round {
  readonly reads: number[];
  readonly writes: number[];
}

/**
 * Readers and writers that take turns until the time is up, with an `await` inside; two that must not meet are an
 * error.
 */
class Traffic {
  readonly #insideMs: number;
  #readers = 0;
  #writers = 0;
  #over = false;

  constructor(insideMs: number) {
    this.#insideMs = insideMs;
  }

  async run(groups: readonly { lock: RReadWriteLock; readers: number; writers: number }[]): Promise<Round> {
    const reads: number[] = [];
    const writes: number[] = [];
    const work: Promise<void>[] = [];
    let thread = 1;
    for (const { lock, readers, writers } of groups) {
      for (let i = 0; i < readers; i++) work.push(this.#loop(lock, 'read', thread++, reads));
      for (let i = 0; i < writers; i++) work.push(this.#loop(lock, 'write', thread++, writes));
    }
    await sleep(SECONDS * 1000);
    this.#over = true;
    await Promise.all(work);
    return { reads, writes };
  }

  async #loop(lock: RReadWriteLock, mode: 'read' | 'write', thread: number, turns: number[]): Promise<void> {
    const half = mode === 'read' ? lock.readLock() : lock.writeLock();
    const index = turns.push(0) - 1;
    while (!this.#over) {
      await half.lock(-1, undefined, thread);
      if (mode === 'read') this.#readers++;
      else this.#writers++;
      await (this.#insideMs === 0 ? Promise.resolve() : sleep(this.#insideMs));
      expect(this.#writers, 'writers inside').to.be.at.most(mode === 'read' ? 0 : 1);
      if (mode === 'write') expect(this.#readers, 'readers beside a writer').to.equal(0);
      if (mode === 'read') this.#readers--;
      else this.#writers--;
      turns[index]! += 1;
      await half.unlock(thread);
    }
  }
}

describe('A3: readers and writers', function () {
  this.timeout(30_000);
  let redis: Redis;
  let one: Redisson;
  let name: string;

  beforeEach(() => {
    redis = bareClient();
    name = uniqueName('rw');
    trackClient({ close: () => redis.del(name) });
    one = newClient();
  });

  const total = (turns: number[]): number => turns.reduce((sum, one) => sum + one, 0);

  for (const insideMs of [0, 1, 5]) {
    for (const writers of [1, 4]) {
      it(`${writers} looping writer(s) let 4 readers of their own process in, ${insideMs} ms inside`, async () => {
        const lock = one.getReadWriteLock(name);
        const { reads, writes } = await new Traffic(insideMs).run([{ lock, readers: 4, writers }]);
        expect(total(reads)).to.be.above(total(writes) / 4);
        expect(Math.min(...reads)).to.be.above(0);
        expect(Math.min(...writes)).to.be.above(0);
      });
    }
  }

  for (const insideMs of [0, 1, 5]) {
    for (const writers of [1, 4]) {
      it(`across clients: ${writers} looping writer(s) and 4 readers of another client, ${insideMs} ms inside`, async () => {
        const two = newClient();
        const { reads, writes } = await new Traffic(insideMs).run([
          { lock: one.getReadWriteLock(name), readers: 4, writers: 0 },
          { lock: two.getReadWriteLock(name), readers: 0, writers },
        ]);
        expect(total(reads)).to.be.above(total(writes) / 4);
        expect(Math.min(...reads)).to.be.above(0);
        expect(Math.min(...writes)).to.be.above(0);
      });
    }
  }
});
