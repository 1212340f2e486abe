import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { LockHold } from '../../../lib';
import { IllegalMonitorStateError, LockLostError, LockTimeoutError, ShutdownError } from '../../../lib/errors';
import type { LockHold as OwnHold } from '../../../lib/locks/LockHold';
import { TimeUnit } from '../../../lib/util/TimeUnit';
import { fakeClock, stallClock, turn } from '../../support';
import { FakeClient, NAME, Outcome } from '../../support/fakeClient';

describe('LockHold and withLock', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  it('knows its lock and its thread, and has no token', async () => {
    const hold = await client.lock().acquire({ threadId: 5 });
    expect([hold.name, hold.threadId, hold.token, hold.isHeld]).to.deep.equal([NAME, 5, undefined, true]);
    expect(hold.signal.aborted).to.equal(false);
    await hold.unlock();
    expect([hold.isHeld, hold.signal.aborted]).to.deep.equal([false, false]);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(clock.countTimers()).to.equal(0);
  });

  it('gives back what it took, once, whatever else the thread holds', async () => {
    const lock = client.lock();
    const first = await lock.acquire({ threadId: 1 });
    const second = await lock.acquire({ threadId: 1 });
    await first.unlock();
    await Promise.all([first.unlock(), first.unlock()]);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    await second.unlock();
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  for (const leaseMs of [60, 10_000, 600_000]) {
    it(`is over here before it is in Redis, also when an inner hold has been released (${leaseMs} ms)`, async () => {
      const lock = client.lock();
      const hold = (await lock.acquire({ threadId: 1, leaseTime: leaseMs })) as OwnHold;
      await lock.lock(2 * leaseMs, undefined, 1);
      await clock.tickAsync(leaseMs / 2);
      await lock.unlock(1);
      // By as much as clocks may drift apart until then, see docs/reliability.md.
      const marginMs = 2 + leaseMs / 2_000;
      expect(client.redis.pttl(NAME)).to.be.within(hold.remainingLeaseMs + marginMs, leaseMs / 2 + 1);
    });
  }

  for (const [how, give] of [
    ['unlock', (hold: LockHold) => hold.unlock()],
    ['leaving it to expire', (hold: LockHold) => (hold as OwnHold).setLease(1_000)],
  ] as const) {
    it(`${how} that waits for a re-entry ends when that finds the lock with another owner, however long it waits on`, async () => {
      const lock = client.lock();
      const hold = await lock.acquire({ threadId: 1 });
      client.redis.seize(NAME, 'other');
      const stop = new AbortController();
      const again = new Outcome(lock.lock(-1, undefined, { threadId: 1, signal: stop.signal }));
      const given = new Outcome<unknown>(give(hold));
      await clock.tickAsync(1_000);
      expect(given.state).not.to.equal('pending');
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      expect(again.state).to.equal('pending');
      stop.abort();
      await clock.tickAsync(0);
      expect(again.state).to.equal('rejected');
    });
  }

  it('acquire rejects past its wait time, tryAcquireHold resolves null, both without a trace', async () => {
    client.redis.seize(NAME, 'other');
    const acquire = new Outcome(client.lock().acquire({ waitTime: 2, unit: TimeUnit.SECONDS }));
    const hold = new Outcome(client.lock().tryAcquireHold({ waitTime: 500 }));
    const single = new Outcome(client.lock().tryAcquireHold());
    await clock.tickAsync(500);
    expect([single.value, hold.value, acquire.state]).to.deep.equal([null, null, 'pending']);
    await clock.tickAsync(1_500);
    expect(acquire.error).to.be.instanceOf(LockTimeoutError);
    expect(acquire.error).to.include({ lockName: NAME, waitTime: 2_000 });
    expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  });

  it('a wait time of zero is one attempt', async () => {
    client.redis.seize(NAME, 'other');
    const acquire = new Outcome(client.lock().acquire({ waitTime: 0 }));
    await turn();
    expect(acquire.error).to.be.instanceOf(LockTimeoutError);
    expect(client.executor.sent).to.have.length(1);
  });

  it('aborts when the renewal finds the lock gone, and unlock tells it then', async () => {
    const hold = await client.lock().acquire();
    client.redis.delete(NAME);
    await clock.tickAsync(10_000);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(hold.isHeld).to.equal(false);
    const unlock = new Outcome(hold.unlock());
    await turn();
    expect(unlock.error).to.equal(hold.signal.reason);
    await hold[Symbol.asyncDispose]();
  });

  it('aborts when it is asked only after it was lost', async () => {
    const hold = await client.lock().acquire({ leaseTime: 500 });
    await clock.tickAsync(500);
    expect(hold.signal.aborted).to.equal(true);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  });

  it('is not believed in past its deadline, before the timer has fired', async () => {
    const hold = await client.lock().acquire({ leaseTime: 1_000 });
    stallClock(clock, 1_001);
    expect(hold.isHeld).to.equal(false);
    expect(hold.signal.aborted).to.equal(true);
  });

  it('aborts before Redis lets the lock go', async () => {
    const hold = await client.lock().acquire({ leaseTime: 10_000 });
    let held = false;
    hold.signal.addEventListener('abort', () => (held = client.redis.exists(NAME)));
    await clock.tickAsync(10_000);
    expect(held).to.equal(true);
  });

  it('is told by its release when nobody had noticed the loss', async () => {
    const hold = await client.lock().acquire();
    client.redis.seize(NAME, 'other');
    const unlock = new Outcome(hold.unlock());
    await turn();
    expect(unlock.error).to.be.instanceOf(LockLostError);
    expect(hold.signal.reason).to.equal(unlock.error);
    expect(client.lost).to.have.length(1);
    expect(client.redis.owners(NAME)).to.deep.equal(['other']);
  });

  for (const runs of [true, false]) {
    const first = `the first of which ${runs ? 'ran' : 'did not run'}`;

    it(`is lost if its release begins past its deadline, and is sent twice, ${first}`, async () => {
      await client.lock().lock(1_000, TimeUnit.MILLISECONDS, 1);
      stallClock(clock, runs ? 998 : 1_001);
      client.executor.resend('lock.release', { runs });
      const unlock = new Outcome(client.lock().unlock(1));
      await turn();
      expect(unlock.error).to.be.instanceOf(IllegalMonitorStateError);
      expect(client.lost).to.have.length(1);
    });

    it(`that was reported as lost is not held by a release that is sent twice, ${first}`, async () => {
      await client.lock().lock(1_000, TimeUnit.MILLISECONDS, 1);
      await clock.tickAsync(998);
      expect([client.lost.length, client.redis.exists(NAME)]).to.deep.equal([1, true]);
      client.executor.mute();
      client.executor.resend('lock.release', { runs });
      const unlock = new Outcome(client.lock().unlock(1));
      await clock.tickAsync(10);
      client.executor.resume();
      await turn();
      expect(client.executor.count('lock.release')).to.equal(2);
      expect(unlock.error).to.be.instanceOf(IllegalMonitorStateError);
    });
  }

  it('a release before the deadline that was sent twice counts once', async () => {
    await client.lock().lock(1_000, TimeUnit.MILLISECONDS, 1);
    client.executor.resend('lock.release', { runs: true });
    await client.lock().unlock(1);
    expect(client.lost).to.deep.equal([]);
  });

  it('is told by a re-entry that finds the lock gone; the new hold stands', async () => {
    const outer = await client.lock().acquire({ threadId: 1 });
    client.redis.delete(NAME);
    const inner = await client.lock().acquire({ threadId: 1 });
    expect([outer.isHeld, inner.isHeld]).to.deep.equal([false, true]);
    expect(client.lost).to.have.length(1);
    await inner.unlock();
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('is told by a re-entry that finds the lock with somebody else', async () => {
    const outer = await client.lock().acquire({ threadId: 1 });
    client.redis.seize(NAME, 'other');
    expect(await client.lock().tryLock({ threadId: 1 })).to.equal(false);
    expect([outer.isHeld, client.lost.length]).to.deep.equal([false, 1]);
  });

  it('is told when it is lost while its release waits for a re-entry', async () => {
    const hold = await client.lock().acquire({ threadId: 1 });
    client.executor.mute();
    const again = new Outcome(client.lock().lock(-1, undefined, 1));
    const unlock = new Outcome(hold.unlock());
    await turn();
    client.ownerships.loseAll(NAME, 'for the test');
    client.executor.resume();
    await turn();
    expect([again.state, unlock.state]).to.deep.equal(['resolved', 'rejected']);
    expect(unlock.error).to.be.instanceOf(LockLostError);
    await client.lock().unlock(1);
  });

  it('gives up after maxRenewTimes and leaves the lock to expire', async () => {
    const hold = await client.lock().acquire({ maxRenewTimes: 1 });
    await clock.tickAsync(20_000);
    expect(hold.signal.aborted).to.equal(true);
    expect(client.redis.exists(NAME)).to.equal(true);
    await clock.tickAsync(20_000);
    expect(client.redis.exists(NAME)).to.equal(false);
    const limited = new FakeClient(client.redis, { maxRenewTimes: 1 });
    const other = await limited.lock().acquire();
    await clock.tickAsync(20_000);
    expect(other.isHeld).to.equal(false);
  });

  it('aborts when the client is shut down: nobody renews it any more', async () => {
    const hold = await client.lock().acquire();
    const { signal } = hold;
    await client.shutdown();
    expect([hold.isHeld, signal.aborted]).to.deep.equal([false, true]);
    expect((signal.reason as Error).cause).to.be.instanceOf(ShutdownError);
    expect(client.redis.exists(NAME)).to.equal(true);
  });

  describe('withLock', () => {
    it('resolves to what the work resolves to, and releases', async () => {
      expect(await client.lock().withLock((hold) => hold.isHeld)).to.equal(true);
      expect(client.redis.exists(NAME)).to.equal(false);
    });

    it('rejects with the error of the work, thrown or rejected, also when the release fails', async () => {
      for (const fail of [
        () => Promise.reject(new Error('work')),
        () => {
          throw new Error('work');
        },
      ]) {
        const done = new Outcome(
          client.lock().withLock(() => {
            client.redis.delete(NAME);
            return fail();
          }),
        );
        await turn();
        expect(done.error).to.have.property('message', 'work');
      }
    });

    it('rejects with LockLostError where the work was done but the lock was gone', async () => {
      const done = new Outcome(client.lock().withLock(() => client.redis.delete(NAME)));
      await turn();
      expect(done.error).to.be.instanceOf(LockLostError);
    });

    it('does not run the work without the lock', async () => {
      client.redis.seize(NAME, 'other');
      let ran = false;
      const done = new Outcome(client.lock().withLock(() => (ran = true), { waitTime: 100 }));
      await clock.tickAsync(100);
      expect(done.error).to.be.instanceOf(LockTimeoutError);
      expect(ran).to.equal(false);
    });

    it('wants a function', async () => {
      const done = new Outcome(client.lock().withLock(undefined as never));
      await turn();
      expect(done.error).to.be.instanceOf(TypeError);
      expect(client.executor.sent).to.deep.equal([]);
    });
  });

  it('await using releases at the end of the block, and hides no error of it', async () => {
    {
      await using hold = await client.lock().acquire();
      expect(hold.isHeld).to.equal(true);
    }
    expect(client.redis.exists(NAME)).to.equal(false);
    const block = async (): Promise<void> => {
      await using _hold = await client.lock().acquire();
      client.redis.delete(NAME);
      throw new Error('block');
    };
    const done = new Outcome(block());
    await turn();
    expect(done.error).to.have.property('message', 'block');
  });
});
