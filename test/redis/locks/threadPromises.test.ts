import { expect } from 'chai';
import pDefer from 'p-defer';
import { IllegalMonitorStateError, LockTimeoutError, type Redisson, type RLock } from '../../../lib';
import { sleepUntil, turn, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

/*
 * A10, the rules of docs/threads.md and of the README, one by one: each has a test here, or in the file that is named.
 *
 * Scopes
 *   follow await, timers, callbacks               threadContexts.test.ts, unit/thread/threadScope.test.ts
 *   a section is over; what it left behind        here, leftBehind.test.ts, contracts/lockThreads.ts
 *   a runInThread is in no section                here
 * The logical thread of a call
 *   1. the threadId                               here, unit/locks/threads.test.ts, contracts/lockBadInput.ts
 *   2. who lets it in                             here, contracts/lockThreads.ts, scopes.test.ts
 *      whatever is taken between                  here
 *      the halves of a read/write lock            halves.test.ts
 *      members of a multi-lock                    threadBranches.test.ts
 *   3. the scope's, or a new one                  here
 *   4. outside scopes                             here, threads.test.ts, unit/locks/threads.test.ts
 * What follows
 *   callbacks overlap only where one is inside    contracts/lockThreads.ts (every kind), test/trees
 *   branches that re-enter take turns             contracts/lockThreads.ts (every kind), unit/locks/scopes.test.ts
 *   what was given back or lost lets nobody in    here, threadBranches.test.ts, unit/locks/scopes.test.ts
 *   what unlock() gives back                      here, unit/locks/leftBehind.test.ts
 *   lock() beside a section; one at a time        contracts/lockThreads.ts, threads.test.ts, halves.test.ts
 * acquire(), warnings, ids, pools
 *   nobody re-enters what acquire() took          here, unit/locks/scopes.test.ts
 *   IOREDISSON_HANDLE_REENTRY, strictThreads      here, threads.test.ts
 *   IOREDISSON_SELF_WAIT                          unit/locks/selfWaits.test.ts, unit/locks/scopes.test.ts
 *   automatic ids                                 threads.test.ts
 *   pools, emitters, AsyncResource.bind           threadContexts.test.ts
 */
describe('the promises about threads', () => {
  let client: Redisson;
  let name: string;
  let lock: () => RLock;
  let other: () => RLock;

  beforeEach(() => {
    client = newClient();
    name = uniqueName();
    const between = `${name}:between`;
    lock = () => client.getLock(name);
    other = () => client.getLock(between);
  });

  afterEach(async () => {
    expect(await bareClient().keys(`*${name}*`)).to.deep.equal([]);
  });

  /** Whether the call is let in at once. */
  async function enters(): Promise<boolean> {
    const hold = await lock().tryAcquireHold();
    await hold?.unlock();
    return hold !== null;
  }

  /** Runs `fn` in a section that has a thread of its own, since another section of that of the scope runs beside it. */
  async function inOwnThread(fn: () => Promise<unknown>): Promise<void> {
    const gate = pDefer<void>();
    const begun = pDefer<void>();
    const beside = client.getLock(`${name}:beside`).withLock(() => (begun.resolve(), gate.promise));
    await begun.promise;
    await client.getLock(`${name}:own`).withLock(fn);
    gate.resolve();
    await beside;
  }

  describe('scopes', () => {
    it('A10: a section is over when its callback ends, whatever came of it', async () => {
      for (const end of [() => undefined, () => Promise.reject(new Error('work'))]) {
        const later = pDefer<void>();
        let left!: Promise<unknown[]>;
        await lock()
          .withLock(() => {
            left = later.promise.then(async () => [await enters(), client.currentThreadId()]);
            return end();
          })
          .catch(() => undefined);
        const hold = await lock().acquire();
        later.resolve();
        expect(await left).to.deep.equal([false, undefined]);
        await hold.unlock();
      }
    });

    it('A10: it is over before its lock is given back: nothing that was left behind slips in between', async () => {
      const later = pDefer<void>();
      const order: string[] = [];
      let left!: Promise<unknown>;
      await lock().withLock(async () => {
        left = later.promise.then(() => lock().withLock(async () => void order.push('left behind')));
        // Runs in the very turn in which the callback ends, before the release is answered.
        void turn().then(later.resolve);
        await turn();
        order.push('callback');
      });
      await left;
      expect(order).to.deep.equal(['callback', 'left behind']);
    });

    it('A10: what a section left behind belongs to the scope around it, section by section', async () => {
      const later = pDefer<void>();
      const seen: unknown[] = [];
      await client.runInThread(async () => {
        const thread = client.currentThreadId();
        let left!: Promise<void>;
        const look = async (): Promise<void> => void seen.push(client.currentThreadId(), await enters());
        await lock().withLock(async (outer) => {
          await other().withLock(() => {
            left = look()
              .then(() => later.promise)
              .then(look);
          });
          await sleepUntil(() => seen.length === 2);
          expect(seen.splice(0)).to.deep.equal([outer.threadId, true]);
        });
        await lock()
          .lock({ threadId: 5 } as never, undefined, { threadId: 5 })
          .catch(() => undefined);
        await lock().lock(-1, undefined, { threadId: 5 });
        later.resolve();
        await left;
        expect(seen).to.deep.equal([thread, false]);
        await lock().unlock(5);
      });
    });

    it('A10: a runInThread is in no section, not even one it was called in: not for lock, unlock, or any question', async () => {
      await lock().withLock(async (hold) => {
        await client.runInThread(async () => {
          expect(client.currentThreadId()).not.to.equal(hold.threadId);
          expect([await enters(), await lock().tryLock(), await lock().tryLock(20)]).to.deep.equal([
            false,
            false,
            false,
          ]);
          expect(await lock().getHoldCount()).to.equal(0);
          expect(await lock().isHeldByCurrentThread()).to.equal(false);
          expect(await rejection(lock().unlock())).to.be.instanceOf(IllegalMonitorStateError);
          const late = await rejection(lock().withLock(() => undefined, { waitTime: 20 }));
          expect(late).to.be.instanceOf(LockTimeoutError);
        });
        expect([hold.isHeld, await lock().getHoldCount()]).to.deep.equal([true, 1]);
      });
    });
  });

  describe('the logical thread of a call', () => {
    it('A10 1.: the threadId given to the call, before any scope that would let it in', async () => {
      await lock().withLock(async (hold) => {
        expect(await lock().tryLock({ threadId: 5 })).to.equal(false);
        expect(await lock().tryAcquireHold({ threadId: 5 })).to.equal(null);
        expect(await rejection(lock().unlock(5))).to.be.instanceOf(IllegalMonitorStateError);
        expect(await lock().tryLock({ threadId: hold.threadId })).to.equal(true);
        await lock().unlock({ threadId: hold.threadId });
        await other().withLock(async (named) => expect(named.threadId).to.equal(5), { threadId: 5 });
      });
    });

    it('A10 1.: withLock callbacks that were given one threadId overlap, and what they call re-enters', async () => {
      const both = pDefer<void>();
      let inside = 0;
      const order: string[] = [];
      const meet = async (): Promise<void> => {
        expect(client.currentThreadId()).to.equal(5);
        if ((inside += 1) === 2) both.resolve();
        await both.promise;
        // The other one runs beside, and waits for the same: neither would end.
        await lock().withLock(() => turn());
        await Promise.all(['x', 'y'].map((one) => lock().withLock(() => turn().then(() => void order.push(one)))));
      };
      const first = lock().withLock(meet, { threadId: 5 });
      await sleepUntil(() => inside === 1);
      await Promise.all([first, lock().withLock(meet, { threadId: 5 })]);
      expect([...order].sort()).to.deep.equal(['x', 'x', 'y', 'y']);
    });

    it('A10 2.: by the thread of a scope around it that took it by lock(), tryLock() or tryAcquire()', async () => {
      for (const take of [() => lock().lock(), () => lock().tryLock(), () => lock().tryAcquire()]) {
        await client.runInThread(async () => {
          const id = client.currentThreadId();
          await take();
          await inOwnThread(async () => {
            expect(client.currentThreadId()).not.to.equal(id);
            await lock().withLock(async (hold) => expect(hold.threadId).to.equal(id));
            expect(await lock().tryLock()).to.equal(true);
            expect(await lock().getHoldCount()).to.equal(2);
            await lock().unlock();
          });
          await lock().unlock();
        });
      }
    });

    it('A10 2.: branches of a thread that took it by lock() re-enter, in turns', async () => {
      await client.runInThread(async () => {
        await lock().lock();
        let inside = 0;
        const branch = (): Promise<void> =>
          lock().withLock(async () => {
            expect([++inside, await lock().getHoldCount()]).to.deep.equal([1, 2]);
            await turn();
            inside--;
          });
        await Promise.all([branch(), branch()]);
        await lock().unlock();
      });
    });

    it('A10 2.: but not by what lock() took in a branch beside it', async () => {
      await client.runInThread(async () => {
        await Promise.all([
          other().withLock(async () => {
            await lock().lock();
            await turn();
            await lock().unlock();
          }),
          inOwnThread(async () => {
            await sleepUntil(() => lock().isLocked()).catch(() => undefined);
            await lock().withLock(async () => expect(await lock().getHoldCount()).to.equal(1));
          }),
        ]);
      });
    });

    it('A10 2.: re-enters whatever other locks are taken between: of every kind, multi-locks and threads of others', async () => {
      await lock().withLock(async (outer) => {
        const kinds = [
          client.getFairLock(`${name}:fair`),
          client.getSpinLock(`${name}:spin`),
          client.getNonReentrantLock(`${name}:once`),
          client.getReadWriteLock(`${name}:rw`).readLock(),
          client.getMultiLock(client.getLock(`${name}:m1`), client.getLock(`${name}:m2`)),
          client.getRedLock(client.getLock(`${name}:r1`), client.getLock(`${name}:r2`)),
        ];
        const nest = async ([first, ...rest]: readonly RLock[]): Promise<void> => {
          if (first !== undefined) return first.withLock(() => nest(rest));
          await lock().withLock((inner) => expect(inner.threadId).to.equal(outer.threadId), { waitTime: 2_000 });
          await lock().lock();
          await lock().unlock();
        };
        // Side by side, so that some have threads of their own.
        const beside = other().withLock(() => turn());
        await nest(kinds);
        await beside;
      });
    });

    it("A10 3.: the scope's for lock(), acquire() and withLock(); a new one where that has the lock or is in a section beside", async () => {
      await client.runInThread(async () => {
        const id = client.currentThreadId()!;
        const hold = await lock().acquire();
        expect(hold.threadId).to.equal(id);
        const second = lock().acquire({ waitTime: 2_000 });
        await turn();
        await hold.unlock();
        const waited = await second;
        expect(waited.threadId, 'its thread had the lock').not.to.equal(id);
        await waited.unlock();
        await lock().withLock((section) => expect(section.threadId).to.equal(id));
        await inOwnThread(async () => {
          const own = client.currentThreadId();
          expect(own, 'its thread was in a section beside').not.to.equal(id);
          const taken = await lock().acquire();
          expect(taken.threadId).to.equal(own);
          await taken.unlock();
        });
        await lock().lock();
        expect(await lock().isHeldByThread(id)).to.equal(true);
        await lock().unlock();
      });
    });

    it("A10 4.: outside scopes the handle's for lock(), tryLock(), tryAcquire() and unlock(); a new one for withLock and acquire", async () => {
      const [one, two] = [lock(), lock()];
      for (const take of [() => one.lock(), () => one.tryLock(), () => one.tryAcquire()]) {
        await take();
        expect([await one.getHoldCount(), await two.getHoldCount()]).to.deep.equal([1, 0]);
        expect([await one.tryAcquireHold(), await two.tryLock()]).to.deep.equal([null, false]);
        expect(await rejection(one.withLock(() => undefined, { waitTime: 10 }))).to.be.instanceOf(LockTimeoutError);
        expect(await rejection(two.unlock())).to.be.instanceOf(IllegalMonitorStateError);
        await one.unlock();
      }
      const hold = await one.acquire();
      expect([await one.tryLock(), await one.getHoldCount()]).to.deep.equal([false, 0]);
      await hold.unlock();
    });

    it('A10 4.: the two halves of one RReadWriteLock share the thread of the handle; those of another do not', async () => {
      const [one, two] = [client.getReadWriteLock(name), client.getReadWriteLock(name)];
      await one.writeLock().lock();
      expect(await two.readLock().tryLock()).to.equal(false);
      expect(await one.readLock().tryLock()).to.equal(true);
      await one.writeLock().unlock();
      await one.readLock().unlock();
    });
  });

  describe('what lets nobody in', () => {
    it('A10: a hold that was given back early: by unlock(), or by the hold itself', async () => {
      for (const early of ['unlock', 'hold'] as const) {
        await lock().withLock(async (hold) => {
          await (early === 'unlock' ? lock().unlock() : hold.unlock());
          const theirs = await client.runInThread(() => lock().acquire());
          expect(await enters()).to.equal(false);
          expect(await rejection(lock().unlock())).to.be.instanceOf(IllegalMonitorStateError);
          await theirs.unlock();
          expect(await enters()).to.equal(true);
        });
      }
    });

    it('A10: a hold whose lease is over, although its callback runs', async () => {
      const error = await rejection(
        lock().withLock(
          async (hold) => {
            await sleepUntil(() => !hold.isHeld, { message: 'its lease ends' });
            const theirs = await client.runInThread(() => lock().acquire());
            expect(await enters()).to.equal(false);
            await theirs.unlock();
          },
          { leaseTime: 60 },
        ),
      );
      expect(error).to.have.property('code', 'LOCK_LOST');
    });

    it('A10: what acquire() took, without its threadId; lock() of that thread may, and so may who is let in already', async () => {
      const hold = await lock().acquire();
      expect([await enters(), await lock().tryLock()]).to.deep.equal([false, false]);
      await client.runInThread(async () => expect(await enters()).to.equal(false));
      await lock().withLock(() => undefined, { threadId: hold.threadId });
      await hold.unlock();
      await client.runInThread(async () => {
        const own = await lock().acquire();
        expect(await enters()).to.equal(false);
        expect(await client.runInThread(() => lock().tryLock())).to.equal(false);
        expect(await lock().tryLock()).to.equal(true);
        // Let in by what lock() took.
        expect(await enters()).to.equal(true);
        await lock().unlock();
        expect([own.isHeld, await enters()]).to.deep.equal([true, false]);
        await own.unlock();
      });
    });

    it('A10: strictThreads forbids lock() through nothing but a hold of acquire(), and nothing else', async () => {
      const strict = newClient({ strictThreads: true });
      const handle = strict.getLock(name);
      await strict.runInThread(async () => {
        const hold = await handle.acquire();
        for (const call of [handle.lock(), handle.tryLock(), handle.tryLock(20), handle.tryAcquire()]) {
          expect(await rejection(call)).to.be.instanceOf(IllegalMonitorStateError);
        }
        expect(await handle.getHoldCount()).to.equal(1);
        await handle.lock(-1, undefined, { threadId: hold.threadId });
        await handle.lock();
        await handle.unlock();
        await handle.unlock();
        await hold.unlock();
        await handle.withLock(() => handle.lock());
        await handle.unlock();
      });
    });
  });

  describe('unlock()', () => {
    it('A10: gives back what lock() took in the scope or around it, the innermost first', async () => {
      await client.runInThread(async () => {
        await lock().lock();
        await lock().withLock(async (hold) => {
          await lock().lock();
          await lock().unlock();
          await lock().unlock();
          // Both of lock() are back: the one around, too, and not the section's.
          expect([hold.isHeld, await lock().getHoldCount()]).to.deep.equal([true, 1]);
        });
      });
    });

    it('A10: else the hold of the section or of acquire(), from a section within as well', async () => {
      await lock().withLock(async (hold) => {
        await other().withLock(() => lock().unlock());
        expect(hold.isHeld).to.equal(false);
      });
      await client.runInThread(async () => {
        const hold = await lock().acquire();
        await other().withLock(() => lock().unlock());
        expect(hold.isHeld).to.equal(false);
        await hold.unlock();
      });
    });

    it('A10: never the hold of a section beside it, from wherever it is called', async () => {
      await client.runInThread(async () => {
        const gate = pDefer<void>();
        const begun = pDefer<void>();
        const beside = lock().withLock(async (hold) => {
          begun.resolve();
          await gate.promise;
          expect(hold.isHeld).to.equal(true);
        });
        await begun.promise;
        for (const call of [
          () => lock().unlock(),
          () => other().withLock(() => lock().unlock()),
          () => client.runInThread(() => lock().unlock()),
          () =>
            other()
              .withLock(() => undefined)
              .then(() => lock().unlock()),
        ]) {
          expect(await rejection(call())).to.be.instanceOf(IllegalMonitorStateError);
        }
        gate.resolve();
        await beside;
      });
    });

    it('A10: of a callback that was left behind, it gives back nothing of the section that runs now', async () => {
      const later = pDefer<void>();
      let left!: Promise<Error>;
      await lock().withLock(() => {
        left = rejection(later.promise.then(() => lock().unlock()));
      });
      await lock().withLock(async (hold) => {
        later.resolve();
        expect(await left).to.be.instanceOf(IllegalMonitorStateError);
        expect(hold.isHeld).to.equal(true);
      });
    });
  });
});
