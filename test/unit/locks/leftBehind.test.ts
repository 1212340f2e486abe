// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { IllegalMonitorStateError, ShutdownError } from '../../../lib/errors';
import { currentScope, runAsNewThread } from '../../../lib/thread/threadScope';
import { fakeClock, turn } from '../../support';
import { FakeClient, leftIn, NAME, Outcome } from '../../support/fakeClient';

/** A10, docs/threads.md: what a section left behind belongs to the scope around it, or to none. */
describe('what a section leaves behind', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  afterEach(() => {
    expect(leftIn(client, clock)).to.deep.equal([0, 0, 0, 0]);
  });

  /** Runs `fn` in a section that has a thread of its own, since another one runs beside it. */
  async function inOwnThread(fn: () => Promise<void>): Promise<void> {
    const gate = pDefer<void>();
    const beside = client.lock('beside').withLock(() => gate.promise);
    await client.lock('section').withLock(fn);
    gate.resolve();
    await beside;
  }

  it('A10: unlock() in the scope around gives back what lock() took in a section with a thread of its own', async () => {
    await runAsNewThread(async () => {
      await inOwnThread(() => client.lock().lock());
      expect(await client.lock().isHeldByCurrentThread()).to.equal(true);
      await client.lock().unlock();
      expect(client.redis.exists(NAME)).to.equal(false);
      expect(currentScope()!.taken?.size ?? 0).to.equal(0);
    });
  });

  it('A10: withLock and lock() in the scope around re-enter it', async () => {
    await runAsNewThread(async () => {
      await inOwnThread(() => client.lock().lock());
      expect(
        await client
          .lock()
          .withLock(() => 'in', { waitTime: 1_000 })
          .catch(String),
      ).to.equal('in');
      await client.lock().lock();
      expect(await client.lock().getHoldCount()).to.equal(2);
      await client.lock().unlock();
      await client.lock().unlock();
    });
  });

  it('A10: so does what comes after the end, and what was left two sections deep', async () => {
    await runAsNewThread(async () => {
      const open = pDefer<void>();
      client.redis.seize(NAME, 'other');
      let late: Promise<void> | undefined;
      await inOwnThread(async () => {
        late = client.lock().lock();
        await client.lock('deep').withLock(() => client.lock('c').lock());
      });
      client.redis.delete(NAME);
      await clock.tickAsync(30_000);
      await late;
      open.resolve();
      await client.lock().unlock();
      await client.lock('c').unlock();
    });
  });

  it('A10: outside scopes it belongs to none: nobody re-enters it, and only its thread id gives it back', async () => {
    let id = 0;
    await client.lock('section').withLock(async (hold) => {
      await client.lock().lock();
      id = hold.threadId;
    });
    const error = await client
      .lock()
      .unlock()
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(IllegalMonitorStateError);
    expect(await client.lock().tryAcquireHold()).to.equal(null);
    await client.lock().unlock(id);
  });

  it('A10: unlock() gives back what lock() took here, not the hold of the section that let it in', async () => {
    await client.lock().withLock(async (hold) => {
      const gate = pDefer<void>();
      const beside = client.lock('beside').withLock(() => gate.promise);
      await client.lock('b').withLock(async (b) => {
        expect(b.threadId).not.to.equal(hold.threadId);
        await client.lock().lock();
        await client.lock().unlock();
        expect([hold.isHeld, client.redis.holds(NAME, client.owner(hold.threadId))]).to.deep.equal([true, 1]);
      });
      gate.resolve();
      await beside;
    });
  });

  it('the record of it does not grow', async () => {
    await runAsNewThread(async () => {
      const gate = pDefer<void>();
      const beside = client.lock('beside').withLock(() => gate.promise);
      for (let i = 0; i < 100; i++) {
        await client.lock('section').withLock(async () => {
          await client.lock().lock();
          if (i % 2 === 0) await client.lock().unlock();
        });
        if (i % 2 === 1) await client.lock().unlock();
        expect(currentScope()!.taken?.size ?? 0).to.equal(0);
      }
      gate.resolve();
      await beside;
    });
  });

  for (const [state, outcome] of [
    ['draining', 'resolved'],
    ['closed', 'rejected'],
  ] as const) {
    it(`C10: those that wait for a turn inside a section are ${outcome} when the client is ${state}`, async () => {
      const gate = pDefer<void>();
      await client.lock().withLock(async () => {
        const first = client.lock().withLock(() => gate.promise);
        await turn();
        const begun = [client.lock().withLock(() => 'in'), client.lock().withLock(() => 'in')];
        await turn();
        client.closing.begin(state);
        client.ownerships.sectionQueues.wakeAll();
        await turn();
        const waiters = [...begun, client.lock().withLock(() => 'in')].map((one) => new Outcome<unknown>(one));
        await turn();
        if (state === 'closed') expect(waiters.map((one) => one.state)).to.deep.equal(Array(3).fill('rejected'));
        gate.resolve();
        await first;
        await turn();
        expect(waiters.map((one) => one.state)).to.deep.equal(Array(3).fill(outcome));
        for (const { error } of waiters) if (state === 'closed') expect(error).to.be.instanceOf(ShutdownError);
      });
      expect(client.redis.exists(NAME)).to.equal(false);
    });
  }

  it('C10: when the client drains, work left behind by a section that is over is refused', async () => {
    const gate = pDefer<void>();
    let late: Outcome<unknown> | undefined;
    await client.lock().withLock(() => {
      late = new Outcome(gate.promise.then(() => client.lock('b').lock()));
    });
    client.closing.begin('draining');
    gate.resolve();
    await turn();
    expect(late!.error).to.be.instanceOf(ShutdownError);
    expect(client.redis.exists(NAME)).to.equal(false);
  });
});
