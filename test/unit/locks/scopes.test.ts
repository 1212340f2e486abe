// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { IllegalMonitorStateError, LockLostError, LockTimeoutError } from '../../../lib/errors';
import { currentThreadId, runAsNewThread } from '../../../lib/thread/threadScope';
import { fakeClock, stallClock, turn } from '../../support';
import { FakeClient, leftIn, NAME, Outcome } from '../../support/fakeClient';

/** A10, docs/threads.md: who re-enters, who waits, and what `unlock()` gives back. */
describe('withLock callbacks, async contexts and lock()', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  afterEach(() => {
    expect(leftIn(client, clock)).to.deep.equal([0, 0, 0, 0]);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  /** Fails where two are inside; goes over an await. */
  function section(): { run: () => Promise<void>; done: () => number } {
    let inside = 0;
    let done = 0;
    return {
      run: async () => {
        inside += 1;
        expect(inside).to.equal(1);
        await turn();
        inside -= 1;
        done += 1;
      },
      done: () => done,
    };
  }

  async function rejected(promise: Promise<unknown>): Promise<unknown> {
    return promise.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  it('A10: branches of one thread exclude each other: 10 of 10 updates survive', async () => {
    let value = 0;
    await runAsNewThread(() =>
      Promise.all(
        Array.from({ length: 10 }, () =>
          client.lock().withLock(async () => {
            const read = value;
            await turn();
            value = read + 1;
          }),
        ),
      ),
    );
    expect(value).to.equal(10);
  });

  for (const shared of [true, false]) {
    it(`A10: so do branches inside the same lock, ${shared ? 'one handle' : 'a handle each'}`, async () => {
      let value = 0;
      const handle = client.lock();
      await client.lock().withLock((outer) =>
        Promise.all(
          Array.from({ length: 10 }, () =>
            (shared ? handle : client.lock()).withLock(async (inner) => {
              expect(inner.threadId).to.equal(outer.threadId);
              const read = value;
              await turn();
              value = read + 1;
            }),
          ),
        ),
      );
      expect(value).to.equal(10);
    });
  }

  it('branches inside another lock exclude each other', async () => {
    const { run, done } = section();
    await client.lock('b').withLock(() => Promise.all([1, 2, 3].map(() => client.lock().withLock(run))));
    expect(done()).to.equal(3);
  });

  it('A inside B inside A re-enters', async () => {
    await client.lock().withLock((outer) =>
      client.lock('b').withLock(async () => {
        await turn();
        await client.lock().withLock(async (inner) => {
          expect(inner.threadId).to.equal(outer.threadId);
          expect(currentThreadId()).to.equal(outer.threadId);
          expect(await client.lock().getHoldCount()).to.equal(2);
        });
      }),
    );
  });

  it('re-enters from a branch whose thread is another, too', async () => {
    await runAsNewThread(async () => {
      const open = pDefer<void>();
      const busy = client.lock('x').withLock(() => open.promise);
      const lock = client.lock();
      await lock.lock();
      await client.lock('b').withLock(async (b) => {
        expect(b.threadId).not.to.equal(client.kind.ownerOf(0));
        await lock.withLock((inner) => expect(inner.threadId).not.to.equal(b.threadId));
        expect(await lock.isHeldByCurrentThread()).to.equal(true);
        await lock.lock();
        await lock.unlock();
      });
      await lock.unlock();
      open.resolve();
      await busy;
    });
  });

  it('what a callback left behind is outside', async () => {
    const later = pDefer<void>();
    let left: Outcome<void> | undefined;
    let ran = false;
    await client.lock().withLock(() => {
      left = new Outcome(
        (async () => {
          await later.promise;
          expect(currentThreadId()).to.equal(undefined);
          await client.lock().withLock(() => {
            ran = true;
          });
        })(),
      );
    });
    await client.lock().withLock(async () => {
      later.resolve();
      await turn();
      await turn();
      expect(ran).to.equal(false);
    });
    await turn();
    await turn();
    expect([left!.state, ran]).to.deep.equal(['resolved', true]);
  });

  it('what a callback left behind in a thread belongs to the thread', async () => {
    await runAsNewThread(async () => {
      const id = currentThreadId();
      const later = pDefer<void>();
      const seen: unknown[] = [];
      let left: Promise<void> | undefined;
      await client.lock('b').withLock(() => {
        left = later.promise.then(() => void seen.push(currentThreadId()));
      });
      later.resolve();
      await left;
      expect(seen).to.deep.equal([id]);
    });
  });

  it('a thread started in a callback is in none: it waits', async () => {
    let inner: Outcome<void> | undefined;
    await client.lock().withLock(async () => {
      inner = new Outcome(runAsNewThread(() => client.lock().withLock(() => undefined)));
      await turn();
      expect(inner.state).to.equal('pending');
    });
    await turn();
    await turn();
    expect(inner!.state).to.equal('resolved');
  });

  it('staggered branches take turns: the second waits for the whole first one, what is inside that does not', async () => {
    const order: string[] = [];
    await client.lock().withLock(async () => {
      const first = client.lock().withLock(async () => {
        order.push('first');
        await turn();
        await Promise.all(
          ['p', 'q'].map((name) =>
            client.lock().withLock(async () => {
              order.push(name);
              await turn();
            }),
          ),
        );
        await turn();
        order.push('first ends');
      });
      await turn();
      await client.lock().withLock(() => void order.push('second'));
      await first;
    });
    expect(order).to.deep.equal(['first', 'p', 'q', 'first ends', 'second']);
  });

  it('a hold whose lease ended while the event loop was blocked lets nobody in, before any timer or reply', async () => {
    const section = client.lock().withLock(async () => {
      client.redis.delete(NAME);
      stallClock(clock, 31_000);
      await client.lock().withLock(() => undefined);
    });
    expect(await rejected(section)).to.be.instanceOf(LockLostError);
    const counts = client.executor.sent.filter(({ name }) => name === 'lock.acquire').map(({ args }) => args['count']);
    expect(counts).to.deep.equal(['1', '1']);
  });

  it('a hold that was lost lets nobody in', async () => {
    await client
      .lock()
      .withLock(async (hold) => {
        client.redis.delete(NAME);
        client.redis.seize(NAME, 'other');
        await clock.tickAsync(11_000);
        expect(hold.isHeld).to.equal(false);
        expect(await client.lock().tryAcquireHold()).to.equal(null);
        client.redis.delete(NAME);
      })
      .then(
        () => expect.fail('it was lost'),
        (error: unknown) => expect(error).to.be.instanceOf(LockLostError),
      );
    // What Redis may have of it still is taken back for as long as its lease.
    await clock.tickAsync(60_000);
  });

  describe('waiting for a turn', () => {
    it('ends with its deadline, its signal, and takes the next one along', async () => {
      await client.lock().withLock(async () => {
        const open = pDefer<void>();
        const first = client.lock().withLock(() => open.promise);
        await turn();
        expect(await client.lock().tryAcquireHold()).to.equal(null);
        const timed = rejected(client.lock().withLock(() => undefined, { waitTime: 100 }));
        const control = new AbortController();
        const aborted = rejected(client.lock().acquire({ signal: control.signal }));
        const last = new Outcome(client.lock().withLock(() => 'in'));
        await clock.tickAsync(100);
        expect(await timed).to.be.instanceOf(LockTimeoutError);
        control.abort(new Error('enough'));
        expect(((await aborted) as Error).message).to.equal('enough');
        open.resolve();
        await first;
        await turn();
        await turn();
        expect(last.value).to.equal('in');
      });
    });

    it('ends when the section beside it gives the lock up early, fails, or loses it', async () => {
      for (const how of ['unlock', 'throw'] as const) {
        await client.lock().withLock(async () => {
          const open = pDefer<void>();
          const first = rejected(
            client.lock().withLock(async () => {
              if (how === 'throw') throw new Error('work');
              await client.lock().unlock();
              await open.promise;
            }),
          );
          const second = new Outcome(client.lock().withLock(() => undefined));
          await turn();
          await turn();
          await turn();
          expect(second.state, how).to.equal('resolved');
          open.resolve();
          await first;
        });
      }
    });

    it('A10: who is not let in any more does not keep those behind it waiting', async () => {
      await runAsNewThread(async () => {
        const lock = client.lock();
        const [open, reentered, finish] = [pDefer<void>(), pDefer<void>(), pDefer<void>()];
        await lock.lock();
        let behind: Outcome<string> | undefined;
        const branch = client.lock('b').withLock(async () => {
          await lock.lock();
          reentered.resolve();
          await open.promise;
          behind = new Outcome(lock.withLock(() => 'in'));
          await finish.promise;
          await lock.unlock();
        });
        await reentered.promise;
        const beside = pDefer<void>();
        const section = lock.withLock(() => beside.promise);
        await turn();
        const first = new Outcome(lock.withLock(() => 'in'));
        open.resolve();
        await turn();
        // Only what the branch took is left to let anybody in: the second one, and not the first.
        await lock.unlock();
        beside.resolve();
        await section;
        await turn();
        await turn();
        const seen = [first.state, behind!.state];
        finish.resolve();
        await branch;
        await turn();
        await turn();
        expect([...seen, first.value, behind!.value]).to.deep.equal(['pending', 'resolved', 'in', 'in']);
      });
    });

    it('is not quadratic: 1000 branches inside one holder, in the order of asking', async () => {
      const order: number[] = [];
      const started = process.cpuUsage();
      await client
        .lock()
        .withLock(() =>
          Promise.all(Array.from({ length: 1_000 }, (_, i) => client.lock().withLock(() => void order.push(i)))),
        );
      const { user, system } = process.cpuUsage(started);
      expect(order).to.deep.equal([...order].sort((a, b) => a - b));
      expect(order).to.have.lengthOf(1_000);
      expect((user + system) / 1_000, 'ms of CPU').to.be.lessThan(2_000);
    });
  });

  describe('lock() and unlock() in scopes', () => {
    it('lock() in a callback re-enters, and unlock() gives that back first', async () => {
      const lock = client.lock();
      await lock.withLock(async (hold) => {
        await lock.lock();
        expect(await lock.getHoldCount()).to.equal(2);
        await lock.unlock();
        expect([hold.isHeld, await lock.getHoldCount()]).to.deep.equal([true, 1]);
      });
      expect(client.reentries).to.deep.equal([]);
    });

    it('unlock() in a callback gives back what lock() took around it: nothing is left over', async () => {
      await runAsNewThread(async () => {
        const lock = client.lock();
        await lock.lock();
        await lock.withLock(async (hold) => {
          await lock.unlock();
          expect(hold.isHeld).to.equal(true);
        });
      });
    });

    it('a second unlock() takes the hold of the section, and then there is none', async () => {
      const lock = client.lock();
      await lock.withLock(async () => {
        await lock.unlock();
        expect(client.redis.exists(NAME)).to.equal(false);
        expect(await rejected(lock.unlock())).to.be.instanceOf(IllegalMonitorStateError);
        expect(await client.lock().tryLock({ threadId: 5 })).to.equal(true);
        await lock.unlock(5);
      });
    });

    it('A10: unlock() beside an acquisition of its thread decides when that has ended', async () => {
      const lock = client.lock();
      await lock.withLock(async (hold) => {
        const locking = lock.lock();
        await Promise.all([locking, lock.unlock()]);
        expect([hold.isHeld, await lock.getHoldCount()]).to.deep.equal([true, 1]);
      });
    });

    it('A10: what lock() took in a section is nothing that the scope around it gives back, until the callback has ended', async () => {
      const lock = client.lock();
      await lock.withLock(async (outer) => {
        const [asked, answered] = [pDefer<void>(), pDefer<void>()];
        const inner = client.lock('b').withLock(async () => {
          await lock.lock();
          asked.resolve();
          await answered.promise;
        });
        await asked.promise;
        await lock.unlock();
        answered.resolve();
        await inner;
        expect([outer.isHeld, await lock.getHoldCount()]).to.deep.equal([false, 1]);
        await lock.unlock();
        expect(client.redis.exists(NAME)).to.equal(false);
      });
    });

    it('lock() and unlock() beside a running section of their own thread are refused', async () => {
      await runAsNewThread(async () => {
        const open = pDefer<void>();
        const first = client.lock().withLock(() => open.promise);
        await turn();
        for (const call of [
          () => client.lock().lock(),
          () => client.lock().tryLock(),
          () => client.lock().tryLock(1_000),
          () => client.lock().tryAcquire(),
          () => client.lock().unlock(),
        ]) {
          expect(await rejected(call())).to.be.instanceOf(IllegalMonitorStateError);
        }
        open.resolve();
        await first;
        await client.lock().lock();
        await client.lock().unlock();
      });
    });

    it('a second lock() of a thread is refused while the first is pending', async () => {
      client.redis.seize(NAME, 'other');
      await runAsNewThread(async () => {
        const first = client.lock().lock();
        expect(await rejected(client.lock().lock())).to.be.instanceOf(IllegalMonitorStateError);
        client.redis.delete(NAME);
        await clock.tickAsync(30_000);
        await first;
        await client.lock().unlock();
      });
    });

    it('nobody re-enters what acquire() took without naming its thread', async () => {
      await runAsNewThread(async () => {
        const hold = await client.lock().acquire();
        expect(await client.lock().tryAcquireHold()).to.equal(null);
        const again = await client.lock().acquire({ threadId: hold.threadId });
        await again.unlock();
        expect(client.reentries).to.deep.equal([]);
        await client.lock().lock();
        expect(client.reentries).to.deep.equal([NAME]);
        await client.lock().unlock();
        expect(hold.isHeld).to.equal(true);
        await client.lock().unlock();
        expect(hold.isHeld).to.equal(false);
      });
    });

    it('who is let in already re-enters what acquire() took as well', async () => {
      await client.lock().withLock(async () => {
        const hold = await client.lock().acquire();
        await client.lock().withLock(() => undefined);
        await hold.unlock();
      });
      expect(client.reentries).to.deep.equal([]);
    });
  });

  describe('a call that waits 5 s for what its own scope may hold', () => {
    async function waits(run: () => Promise<unknown>): Promise<readonly string[]> {
      const control = new AbortController();
      signal = control.signal;
      const done = rejected(run());
      await clock.tickAsync(4_900);
      expect(client.selfWaits).to.deep.equal([]);
      await clock.tickAsync(200);
      const told = [...client.selfWaits];
      control.abort(new Error('over'));
      await clock.tickAsync(10);
      await done;
      return told;
    }
    let signal: AbortSignal;

    it('is told: withLock after acquire in one thread', async () => {
      const told = await waits(() =>
        runAsNewThread(async () => {
          await using hold = await client.lock().acquire();
          await client.lock().withLock(() => hold, { signal });
        }),
      );
      expect(told).to.deep.equal([NAME]);
    });

    it('is told: a thread started inside, and waited for', async () => {
      const told = await waits(() =>
        client.lock().withLock(() => runAsNewThread(() => client.lock().withLock(() => undefined, { signal }))),
      );
      expect(told).to.deep.equal([NAME]);
    });

    it('is told: A { all(B { A }, A { B }) }, which sticks', async () => {
      const [a, b] = ['a', 'b'].map((name) => client.lock(name));
      const told = await waits(() =>
        a!.withLock(() =>
          Promise.allSettled([
            b!.withLock(() => a!.withLock(() => undefined, { signal })),
            a!.withLock(() => b!.withLock(() => undefined, { signal })),
          ]),
        ),
      );
      expect(told).to.have.lengthOf(1);
    });

    it('and is not where somebody else holds it', async () => {
      client.redis.seize(NAME, 'other');
      const told = await waits(() => runAsNewThread(() => client.lock().withLock(() => undefined, { signal })));
      expect(told).to.deep.equal([]);
      client.redis.delete(NAME);
    });
  });
});
