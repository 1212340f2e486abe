// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer from 'p-defer';
import { DisLock, IllegalMonitorStateError, LockLostError, type Redisson, type RLock } from '../../../lib';
import { sleepUntil, turn, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

/** Fails where two are inside; goes over awaits. */
function alone(): { readonly run: () => Promise<void>; readonly runs: () => number } {
  let inside = 0;
  let runs = 0;
  return {
    run: async () => {
      expect((inside += 1)).to.equal(1);
      await turn();
      await turn();
      inside -= 1;
      runs += 1;
    },
    runs: () => runs,
  };
}

/** A callback that runs until it is told to end. */
function stage(): { readonly run: () => Promise<void>; readonly begun: Promise<void>; readonly end: () => void } {
  const begun = pDefer<void>();
  const gate = pDefer<void>();
  return { run: () => (begun.resolve(), gate.promise), begun: begun.promise, end: gate.resolve };
}

/** A10, docs/threads.md: branches that run side by side, where more than one lock is in play. */
describe('branches side by side', () => {
  let client: Redisson;
  let a: () => RLock;
  let b: () => RLock;
  let both: () => RLock;

  beforeEach(() => {
    client = newClient();
    const [first, second] = [uniqueName('a'), uniqueName('b')];
    a = () => client.getLock(first);
    b = () => client.getLock(second);
    both = () => client.getMultiLock(a(), b());
  });

  afterEach(async () => {
    for (const lock of [a(), b()]) expect(await lock.isLocked()).to.equal(false);
  });

  describe('multi-locks', () => {
    it('A10: with a member of an ancestor: that one re-enters, the other is acquired, and both are given back', async () => {
      await a().withLock(async (outer) => {
        await both().withLock(async () => {
          expect(await a().getHoldCount()).to.equal(2);
          expect(await b().isHeldByThread(outer.threadId)).to.equal(true);
          await b().withLock(() => undefined);
        });
        expect([await a().getHoldCount(), await b().isLocked()]).to.deep.equal([1, false]);
      });
    });

    it('A10: siblings of it exclude each other and those of each member', async () => {
      for (const outer of [a, b]) {
        const [onA, onB] = [alone(), alone()];
        await outer().withLock(() =>
          Promise.all([
            both().withLock(() => Promise.all([onA.run(), onB.run()])),
            a().withLock(onA.run),
            b().withLock(onB.run),
            both().withLock(() => Promise.all([onA.run(), onB.run()])),
          ]),
        );
        expect([onA.runs(), onB.runs()]).to.deep.equal([3, 3]);
      }
    });

    it('A10: members decide each for itself, also where the thread of the scope is another', async () => {
      await client.runInThread(async () => {
        const busy = stage();
        const beside = client.getLock(uniqueName()).withLock(busy.run);
        await a().lock();
        await client.getLock(uniqueName()).withLock(async (own) => {
          // The section has a thread of its own; A is let in as the thread of the scope around it.
          await both().withLock(async () => {
            expect(await a().getHoldCount()).to.equal(2);
            expect(await b().isHeldByThread(own.threadId)).to.equal(true);
            await a().withLock(() => undefined, { waitTime: 1_000 });
            await b().withLock(() => undefined, { waitTime: 1_000 });
          });
        });
        await a().unlock();
        busy.end();
        await beside;
      });
    });

    it('A10: who waits for one of its locks does not hold up who waits for another', async () => {
      await a().withLock(() =>
        b().withLock(async () => {
          const multi = stage();
          const running = both().withLock(multi.run);
          await multi.begun;
          const inA = pDefer<void>();
          const waiters = [b().withLock(() => inA.promise), a().withLock(() => inA.resolve())];
          await turn();
          multi.end();
          await running;
          await waiters[1];
          await waiters[0];
        }),
      );
    });

    it('A10: lock() of one beside a running section of a member is refused, and leaves no member', async () => {
      await client.runInThread(async () => {
        const section = stage();
        const running = b().withLock(section.run);
        await section.begun;
        expect(await rejection(both().lock())).to.be.instanceOf(IllegalMonitorStateError);
        expect(await a().isLocked()).to.equal(false);
        section.end();
        await running;
        await both().lock();
        await both().lock();
        await both().unlock();
        await both().unlock();
      });
    });
  });

  describe('a hold that is lost', () => {
    it('A10: a sibling that waits for its turn goes on through Redis', async () => {
      const name = uniqueName('lost');
      const mortal = newClient({ lockWatchdogTimeout: 600 });
      const lock = (): RLock => mortal.getLock(name);
      const first = stage();
      const order: string[] = [];
      const lost = rejection(
        lock().withLock(async (outer) => {
          const running = rejection(lock().withLock(first.run));
          await first.begun;
          const waiter = lock().withLock(async (hold) => {
            order.push('second');
            expect(hold.threadId).not.to.equal(outer.threadId);
          });
          await turn();
          await bareClient().del(name);
          await sleepUntil(() => !outer.isHeld, { message: 'the watchdog finds it gone' });
          // The first is told, not stopped; whoever comes next excludes others by Redis alone.
          await waiter;
          first.end();
          expect(await running).to.be.instanceOf(LockLostError);
        }),
      );
      expect(await lost).to.be.instanceOf(LockLostError);
      expect(order).to.deep.equal(['second']);
      expect(await lock().isLocked()).to.equal(false);
    });

    it('A10: siblings wait behind whoever took it meanwhile', async () => {
      const name = uniqueName('lost');
      const lock = (): RLock => client.getLock(name);
      const { run, runs } = alone();
      const other = newClient().getLock(name);
      await rejection(
        lock().withLock(async () => {
          await bareClient().del(name);
          const theirs = await other.acquire();
          const branches = [1, 2, 3].map(() => lock().withLock(run));
          await turn();
          expect(await lock().tryAcquireHold()).to.equal(null);
          await run();
          await theirs.unlock();
          await Promise.all(branches);
        }),
      );
      expect(runs()).to.equal(4);
      expect(await lock().isLocked()).to.equal(false);
    });
  });

  describe('@DisLock', () => {
    /** A service whose methods call each other. */
    function service(key: string): { readonly walk: (depth: number) => Promise<number>; readonly runs: () => number } {
      const { run, runs } = alone();
      class Tree {
        @DisLock({ key, client, waitTime: 5_000 })
        async walk(depth: number): Promise<number> {
          if (depth === 0) {
            await run();
            return 1;
          }
          const children = await Promise.all([this.walk(depth - 1), this.walk(depth - 1)]);
          return children.reduce((sum, one) => sum + one);
        }
      }
      const tree = new Tree();
      return { walk: (depth) => tree.walk(depth), runs };
    }

    it('A10: recursion re-enters, and siblings at every level take turns', async () => {
      const key = uniqueName();
      const { walk, runs } = service(key);
      expect(await walk(3)).to.equal(8);
      expect(runs()).to.equal(8);
      expect(await client.getLock(key).isLocked()).to.equal(false);
    });

    it('A10: siblings of one thread, and those inside another lock, exclude each other', async () => {
      const key = uniqueName();
      const { walk, runs } = service(key);
      await client.runInThread(() => Promise.all([walk(0), walk(1), walk(0)]));
      await a().withLock(() => Promise.all([walk(0), walk(1), walk(0)]));
      expect(runs()).to.equal(8);
      expect(await client.getLock(key).isLocked()).to.equal(false);
    });
  });
});
