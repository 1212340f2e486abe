import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { IllegalMonitorStateError } from '../../../lib/errors';
import { currentThreadId, runAsNewThread } from '../../../lib/thread/threadScope';
import { fakeClock, turn } from '../../support';
import { FakeClient, NAME, Outcome } from '../../support/fakeClient';

describe('whose thread a call is', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  it('is the one that is given, whatever the scope and the handle', async () => {
    const lock = client.lock();
    await runAsNewThread(() => lock.lock(-1, undefined, 9));
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(9)]);
    expect(await lock.isHeldByThread(9)).to.equal(true);
    expect(await lock.isHeldByCurrentThread()).to.equal(false);
    await lock.unlock({ threadId: 9 });
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('else the scope it runs in, for every handle', async () => {
    await runAsNewThread(async () => {
      await client.lock().lock();
      await client.lock().lock();
      expect(await client.lock().getHoldCount()).to.equal(2);
      expect(await client.lock().isHeldByCurrentThread()).to.equal(true);
      await client.lock().unlock();
      await client.lock().unlock();
    });
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(client.reentries, 'warnings').to.deep.equal([]);
  });

  it("else the handle's: two handles exclude each other", async () => {
    const [first, second] = [client.lock(), client.lock()];
    await first.lock();
    expect(await second.tryLock()).to.equal(false);
    expect([await first.isHeldByCurrentThread(), await second.isHeldByCurrentThread()]).to.deep.equal([true, false]);
    const refused = new Outcome(second.unlock());
    await turn();
    expect(refused.error).to.be.instanceOf(IllegalMonitorStateError);
    await first.unlock();
    expect(await second.tryLock()).to.equal(true);
  });

  it('is read when the call is made: the scope at the reply does not matter', async () => {
    client.executor.mute();
    let caller: number | undefined;
    const lock = runAsNewThread(() => {
      caller = currentThreadId();
      return client.lock().lock();
    });
    void runAsNewThread(() => client.executor.resume());
    await lock;
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(caller!)]);
  });

  it('has the text of Redisson when it unlocks what it does not hold', async () => {
    const refused = new Outcome(client.lock().unlock(5));
    await turn();
    expect(refused.error).to.be.instanceOf(IllegalMonitorStateError);
    expect((refused.error as Error).message).to.equal(
      `attempt to unlock lock, not locked by current thread by node id: ${client.id} thread-id: 5`,
    );
  });

  it('of acquire is a new one for each call outside a scope, and of withLock too: a shared handle is safe', async () => {
    const lock = client.lock();
    const [first, second] = [lock.acquire(), lock.acquire()];
    const hold = await first;
    const waiting = new Outcome(second);
    await turn();
    expect(waiting.state).to.equal('pending');
    await hold.unlock();
    await turn();
    expect(waiting.value!.threadId).not.to.equal(hold.threadId);
    await waiting.value!.unlock();
    let inside = 0;
    await Promise.all(
      [1, 2, 3].map(() =>
        lock.withLock(async (one) => {
          inside += 1;
          expect([inside, currentThreadId()]).to.deep.equal([1, one.threadId]);
          await turn();
          inside -= 1;
        }),
      ),
    );
    expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  });

  it('of acquire and withLock inside a scope is the scope: they re-enter', async () => {
    await client.lock().withLock(async (outer) => {
      await client.lock().withLock(async (inner) => {
        expect(inner.threadId).to.equal(outer.threadId);
        expect(await client.lock().getHoldCount()).to.equal(2);
      });
      expect(await client.lock().getHoldCount()).to.equal(1);
      await runAsNewThread(async () => expect(await client.lock().tryLock()).to.equal(false));
    });
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  describe('a second acquisition while the first is pending', () => {
    it('is refused, and does the first no harm', async () => {
      client.redis.seize(NAME, 'other');
      const lock = client.lock();
      const first = new Outcome(lock.lock());
      const others = [lock.lock(), lock.tryLock(), lock.tryAcquire(), lock.tryLock(100)].map(
        (one) => new Outcome<unknown>(one),
      );
      await turn();
      for (const { error } of others) {
        expect(error).to.be.instanceOf(IllegalMonitorStateError);
        expect((error as Error).message).to.contain('already acquiring');
      }
      client.redis.delete(NAME);
      await clock.tickAsync(30_000);
      expect(first.state).to.equal('resolved');
      await lock.unlock();
      expect(client.redis.exists(NAME)).to.equal(false);
    });

    it('is no matter for another thread, or another lock', async () => {
      client.redis.seize(NAME, 'other');
      void client
        .lock()
        .lock(-1, undefined, 1)
        .catch(() => undefined);
      const [other, elsewhere] = [client.lock().tryLock({ threadId: 2 }), client.lock('b').tryLock({ threadId: 1 })];
      expect([await other, await elsewhere]).to.deep.equal([false, true]);
      await client.shutdown();
    });

    it('keeps Promise.all on one handle from letting everybody in', async () => {
      const lock = client.lock();
      const results = await Promise.allSettled([lock.lock(), lock.lock(), lock.lock()]);
      expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'rejected']);
      await lock.unlock();
    });
  });

  describe('a re-entry through a handle outside any scope', () => {
    it('works, and is told', async () => {
      const lock = client.lock();
      await lock.lock();
      expect(client.reentries).to.deep.equal([]);
      await lock.lock();
      expect(await lock.getHoldCount()).to.equal(2);
      expect(client.reentries).to.deep.equal([NAME]);
      await lock.unlock();
      await lock.unlock();
    });

    it('is no suspicion where the thread is given or a scope', async () => {
      await client.lock().lock(-1, undefined, 1);
      await client.lock().lock(-1, undefined, { threadId: 1 });
      await runAsNewThread(async () => {
        const lock = client.lock('b');
        await lock.lock();
        await lock.lock();
      });
      expect(client.reentries).to.deep.equal([]);
    });

    it('is an error with strictThreads, which changes nothing', async () => {
      const strict = new FakeClient(client.redis, { strictThreads: true });
      const lock = strict.lock();
      await lock.lock();
      const again = new Outcome<unknown>(lock.lock());
      await turn();
      expect(again.error).to.be.instanceOf(IllegalMonitorStateError);
      expect((again.error as Error).message).to.contain('strictThreads');
      expect(await lock.getHoldCount()).to.equal(1);
      await lock.unlock();
      await runAsNewThread(async () => {
        await lock.lock();
        await lock.lock();
        await lock.unlock();
        await lock.unlock();
      });
      expect(client.redis.exists(NAME)).to.equal(false);
    });
  });
});
