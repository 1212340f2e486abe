// Ids in titles: test/README.md
import { expect } from 'chai';
import { AsyncResource } from 'node:async_hooks';
import { EventEmitter, on, once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import pDefer from 'p-defer';
import type { LockHold, Redisson, RLock } from '../../../lib';
import { uniqueName } from '../../support';
import { newClient } from '../synchronizers/support';

/** One worker that runs what it is given, one after the other, in the context in which it was made: a naive pool. */
class Pool {
  readonly #jobs: (() => unknown)[] = [];
  readonly done: Promise<void>;
  #added = pDefer<void>();
  #ended = false;

  constructor() {
    this.done = this.#work();
  }

  /** @returns what the job returned */
  run<T>(job: () => T | PromiseLike<T>): Promise<T> {
    const result = pDefer<T>();
    this.#jobs.push(() => Promise.resolve(job()).then(result.resolve, result.reject));
    this.#added.resolve();
    return result.promise;
  }

  end(): Promise<void> {
    this.#ended = true;
    this.#added.resolve();
    return this.done;
  }

  async #work(): Promise<void> {
    for (;;) {
      await this.#added.promise;
      this.#added = pDefer<void>();
      for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) await job();
      if (this.#ended) return;
    }
  }
}

/** A10, docs/threads.md, "Where the context comes from". */
describe('threads and what runs callbacks', () => {
  let client: Redisson;
  let lock: () => RLock;

  beforeEach(() => {
    client = newClient();
    const name = uniqueName();
    lock = () => client.getLock(name);
  });

  afterEach(async () => {
    expect(await lock().isLocked()).to.equal(false);
  });

  /** Whether the call is let in at once. */
  async function enters(): Promise<boolean> {
    const hold = await lock().tryAcquireHold();
    await hold?.unlock();
    return hold !== null;
  }

  it('A10: a generator runs in the scope of whoever calls next(), wherever it was made', async () => {
    function* steps(): Generator<Promise<boolean>, void, unknown> {
      for (;;) yield enters();
    }
    const outside = steps();
    let inside!: ReturnType<typeof steps>;
    await lock().withLock(async () => {
      inside = steps();
      expect(await outside.next().value).to.equal(true);
      expect(await client.runInThread(async () => inside.next().value)).to.equal(false);
    });
    const hold = await lock().acquire();
    expect(await inside.next().value).to.equal(false);
    await hold.unlock();
  });

  it('A10: so does an async generator, up to its next yield', async () => {
    async function* steps(): AsyncGenerator<[boolean, number | undefined], void, unknown> {
      for (;;) {
        await immediate();
        yield [await enters(), client.currentThreadId()];
      }
    }
    const shared = steps();
    await lock().withLock(async (hold) => {
      for await (const seen of steps()) {
        expect(seen).to.deep.equal([true, hold.threadId]);
        break;
      }
      expect((await shared.next()).value).to.deep.equal([true, hold.threadId]);
      await client.runInThread(async () => {
        expect((await shared.next()).value).to.deep.equal([false, client.currentThreadId()]);
      });
    });
    expect((await shared.next()).value).to.deep.equal([true, undefined]);
  });

  it('A10: what an async iterator takes around its yields is its own section, over when its callback ends', async () => {
    const order: string[] = [];
    async function* rows(): AsyncGenerator<string, void, unknown> {
      await lock().withLock(async () => {
        await immediate();
        order.push('read');
      });
      yield 'row';
      order.push('rest');
      await lock().withLock(() => void order.push('closed'));
    }
    await lock().withLock(async () => {
      for await (const row of rows()) {
        order.push(row);
        // The section of the first step is over: another one of the same thread may run here.
        await lock().withLock(() => void order.push('used'));
      }
    });
    expect(order).to.deep.equal(['read', 'row', 'used', 'rest', 'closed']);
  });

  it('A10: a listener runs in the scope of whoever emits, not of whoever listens', async () => {
    const emitter = new EventEmitter();
    const seen: Promise<[boolean, number | undefined]>[] = [];
    await lock().withLock(async (hold) => {
      const look = async (): Promise<[boolean, number | undefined]> => [await enters(), client.currentThreadId()];
      emitter.on('job', () => seen.push(look()));
      emitter.emit('job');
      await client.runInThread(async () => {
        const id = client.currentThreadId();
        emitter.emit('job');
        expect(await seen[1]).to.deep.equal([false, id]);
      });
      expect(await seen[0]).to.deep.equal([true, hold.threadId]);
    });
    emitter.emit('job');
    expect(await seen[2]).to.deep.equal([true, undefined]);
  });

  it('A10: whoever waits for an event goes on in his own scope, whoever emits it', async () => {
    const emitter = new EventEmitter();
    const events = on(emitter, 'job');
    await lock().withLock(async (hold) => {
      const waiting = once(emitter, 'once').then(async () => [await enters(), client.currentThreadId()]);
      const looped = (async () => {
        for await (const _ of events) return [await enters(), client.currentThreadId()];
        return undefined;
      })();
      await client.runInThread(() => emitter.emit('once'));
      expect(await waiting).to.deep.equal([true, hold.threadId]);
      await client.runInThread(() => emitter.emit('job'));
      expect(await looped).to.deep.equal([true, hold.threadId]);
    });
  });

  it('A10: what a pool of one scope runs for another belongs to whoever runs it; AsyncResource.bind says otherwise', async () => {
    let made!: number;
    const pool = await client.runInThread(() => {
      made = client.currentThreadId()!;
      return { pool: new Pool() };
    });
    const seen = async (): Promise<[boolean, number | undefined]> => [await enters(), client.currentThreadId()];
    await lock().withLock(async (hold) => {
      expect(await pool.pool.run(seen)).to.deep.equal([false, made]);
      expect(await pool.pool.run(AsyncResource.bind(seen))).to.deep.equal([true, hold.threadId]);
    });
    await pool.pool.end();
  });

  it('A10: a pool that was made in a section is outside once that section is over', async () => {
    const pool = await lock().withLock(() => ({ pool: new Pool() }));
    const busy = await lock().acquire();
    expect(await pool.pool.run(async () => [await enters(), client.currentThreadId()])).to.deep.equal([
      false,
      undefined,
    ]);
    await busy.unlock();
    await pool.pool.end();
  });

  it('A10: a bound callback is outside when the section that it was bound in is over', async () => {
    let bound!: () => Promise<boolean>;
    await lock().withLock(async () => {
      bound = AsyncResource.bind(enters);
      expect(await client.runInThread(bound)).to.equal(true);
    });
    const hold = await lock().acquire();
    expect(await bound()).to.equal(false);
    await hold.unlock();
  });

  it('A10: the work of a lazy thenable that the callback returns is inside, as that of a promise', async () => {
    /** A query of a database, which begins when it is asked for its result. */
    const query = (): PromiseLike<readonly unknown[]> => ({
      then: (done, failed) => {
        const id = client.currentThreadId();
        return enters()
          .then((one) => [one, id])
          .then(done, failed);
      },
    });
    const ids: number[] = [];
    const section = (hold: LockHold): PromiseLike<readonly unknown[]> => {
      ids.push(hold.threadId);
      return query();
    };
    expect(await lock().withLock(section)).to.deep.equal([true, ids[0]]);
    const multi = client.getMultiLock(lock(), client.getLock(uniqueName()));
    expect(await multi.withLock(section)).to.deep.equal([true, ids[1]]);
    await client.runInThread(async () => {
      ids.push(client.currentThreadId()!);
      await lock().lock();
    });
    const seen = await client.runInThread(() => {
      ids.push(client.currentThreadId()!);
      return query();
    });
    expect(seen).to.deep.equal([false, ids[3]]);
    await lock().unlock({ threadId: ids[2]! });
  });

  it('A10: a scope follows timers, immediates, ticks and microtasks', async () => {
    await lock().withLock(async () => {
      const seen: boolean[] = [];
      for (const later of [(fn: () => void) => setTimeout(fn, 1), setImmediate, process.nextTick, queueMicrotask] as ((
        fn: () => void,
      ) => unknown)[]) {
        await new Promise<void>((done) => later(() => void enters().then((one) => (seen.push(one), done()))));
      }
      expect(seen).to.deep.equal([true, true, true, true]);
    });
  });
});
