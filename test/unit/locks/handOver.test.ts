// Ids in titles: test/README.md
import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { CommandError, ConnectionError } from '../../../lib/errors';
import type { AttemptRequest, LockKind, ReleaseRequest } from '../../../lib/kinds/Kind';
import type { ReleaseReply } from '../../../lib/scripts/replies';
import { fakeClock, turn } from '../../support';
import { CHANNEL, FakeClient, NAME, Outcome } from '../../support/fakeClient';

describe('handing over within a process', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  /** Threads 1..n ask in this order; 1 gets it. */
  async function contenders(count: number): Promise<Outcome<void>[]> {
    const locks: Outcome<void>[] = [];
    for (let threadId = 1; threadId <= count; threadId++) {
      locks.push(new Outcome(client.lock().lock(-1, undefined, threadId)));
      await turn();
    }
    return locks;
  }

  function inside(locks: Outcome<void>[]): number[] {
    return locks.flatMap(({ state }, i) => (state === 'resolved' ? [i + 1] : []));
  }

  it('gives the lock to the next waiter in one command, without a message', async () => {
    const locks = await contenders(3);
    const before = client.executor.sent.length;
    await client.lock().unlock(1);
    await turn();
    expect(inside(locks)).to.deep.equal([1, 2]);
    expect(client.executor.names.slice(before)).to.deep.equal(['lock.handOver']);
    expect(client.redis.published).to.deep.equal([]);
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(2)]);
  });

  it('keeps the order of asking', async () => {
    const locks = await contenders(5);
    const order: number[] = [];
    for (let turnOf = 1; turnOf <= 5; turnOf++) {
      order.push(inside(locks).at(-1)!);
      await client.lock().unlock(turnOf);
      await turn();
    }
    expect(order).to.deep.equal([1, 2, 3, 4, 5]);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect([client.subscriptions.size, client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  });

  it('gives the heir its own lease, counted from the hand-over', async () => {
    await client.lock().lock(5_000, undefined, 1);
    const second = new Outcome(client.lock().lock(6_000, undefined, 2));
    await turn();
    await clock.tickAsync(10);
    await client.lock().unlock(1);
    await turn();
    expect(second.state).to.equal('resolved');
    expect(client.executor.count('lock.handOver')).to.equal(1);
    expect(client.redis.pttl(NAME)).to.equal(6_000);
    await clock.tickAsync(6_000);
    expect(client.lost.map(({ threadId }) => threadId)).to.deep.equal([2]);
  });

  it('really unlocks before a waiter that wants it for less: the other processes sleep for as long as it had to live', async () => {
    await client.lock().lock(5_000, undefined, 1);
    const second = new Outcome(client.lock().lock(3_000, undefined, 2));
    await turn();
    await client.lock().unlock(1);
    await turn();
    expect(second.state).to.equal('resolved');
    expect(client.executor.count('lock.handOver')).to.equal(0);
    expect(client.redis.published).to.deep.equal([`${CHANNEL} 0`]);
    const third = new Outcome(client.lock().lock(2_500, undefined, 3));
    await turn();
    await client.lock().unlock(2);
    await turn();
    // They come too late by half a second at most, which is not worth a message.
    expect(third.state).to.equal('resolved');
    expect(client.executor.count('lock.handOver')).to.equal(1);
  });

  it('really unlocks when several waiters in a row each want it for a little less: together it is more than a second', async () => {
    await client.lock().lock(5_000, undefined, 1);
    const leases = [4_400, 3_800, 3_700];
    const heirs = leases.map((leaseMs, i) => new Outcome(client.lock().lock(leaseMs, undefined, i + 2)));
    await turn();
    await client.lock().unlock(1);
    await turn();
    await client.lock().unlock(2);
    await turn();
    expect(client.executor.count('lock.handOver')).to.equal(1);
    expect(client.redis.published).to.deep.equal([`${CHANNEL} 0`]);
    // The others were told by that message: a new turn.
    await client.lock().unlock(3);
    await turn();
    expect(heirs.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved', 'resolved']);
    expect(client.executor.count('lock.handOver')).to.equal(2);
    expect(client.redis.published.length).to.equal(1);
    await client.lock().unlock(4);
  });

  it('really unlocks after 64 times in a row, so that other processes get their turn', async () => {
    await contenders(70);
    for (let threadId = 1; threadId <= 65; threadId++) {
      await client.lock().unlock(threadId);
      await turn();
    }
    expect(client.executor.count('lock.handOver')).to.equal(64);
    expect(client.redis.published).to.deep.equal([`${CHANNEL} 0`]);
  });

  it('really unlocks when the process has had the lock for 20 ms', async () => {
    await contenders(3);
    await clock.tickAsync(19);
    await client.lock().unlock(1);
    expect(client.executor.count('lock.handOver')).to.equal(1);
    await clock.tickAsync(1);
    await client.lock().unlock(2);
    expect(client.executor.count('lock.handOver')).to.equal(1);
    expect(client.redis.published).to.deep.equal([`${CHANNEL} 0`]);
  });

  it('begins a new turn when it has got the lock from Redis again', async () => {
    const locks = await contenders(4);
    await clock.tickAsync(20);
    await client.lock().unlock(1);
    await turn();
    // Nobody else is subscribed: there is nobody to give way to.
    expect(inside(locks)).to.deep.equal([1, 2]);
    await client.lock().unlock(2);
    await turn();
    expect(inside(locks)).to.deep.equal([1, 2, 3]);
    expect(client.executor.count('lock.handOver')).to.equal(1);
  });

  it('does not happen while a thread gives back one of several holds', async () => {
    const locks = await contenders(2);
    await client.lock().lock(-1, undefined, 1);
    await client.lock().unlock(1);
    await turn();
    expect(inside(locks)).to.deep.equal([1]);
    expect(client.executor.count('lock.handOver')).to.equal(0);
    await client.lock().unlock(1);
    await turn();
    expect(inside(locks)).to.deep.equal([1, 2]);
  });

  it('lets the heir look for itself when the holder has lost the lock', async () => {
    const locks = await contenders(2);
    client.redis.seize(NAME, 'other', 1_000);
    const unlock = new Outcome(client.lock().unlock(1));
    await turn();
    expect((unlock.error as Error).message).to.contain('not locked by current thread');
    expect(inside(locks)).to.deep.equal([1]);
    await clock.tickAsync(1_000);
    expect(inside(locks)).to.deep.equal([1, 2]);
  });

  for (const code of ['OOM', 'WRONGTYPE', 'NOPERM', 'ERR']) {
    it(`A6: becomes a plain release where Redis refuses it (${code}); the heir goes on waiting and gets in`, async () => {
      const locks = await contenders(2);
      client.executor.fail('lock.handOver', new CommandError('hand over lock', new Error(`${code} no`)));
      const unlock = new Outcome(client.lock().unlock(1));
      await clock.tickAsync(10);
      expect([unlock.state, locks[1]!.state]).to.deep.equal(['resolved', 'resolved']);
      expect(client.executor.count('lock.release')).to.equal(1);
      expect(client.redis.owners(NAME)).to.deep.equal([client.owner(2)]);
      await client.lock().unlock(2);
      await clock.tickAsync(100_000);
      expect(client.ownerships.size).to.equal(0);
    });
  }

  it('A6: whose answer is lost is no error of the heir, who looks for itself', async () => {
    const locks = await contenders(2);
    client.executor.fail('lock.handOver', new ConnectionError('lost', true), { runs: true, breaks: true });
    const unlock = new Outcome(client.lock().unlock(1));
    await clock.tickAsync(10);
    expect([unlock.state, locks[1]!.state]).to.deep.equal(['rejected', 'resolved']);
    expect(client.redis.holds(NAME, client.owner(2))).to.equal(1);
    await client.lock().unlock(2);
    await clock.tickAsync(100_000);
    expect(client.ownerships.size).to.equal(0);
  });

  it('does not go to a thread whose own release is under way', async () => {
    await contenders(1);
    const held = client.ownerships.get([...client.ownerships.all()][0]!.key)!;
    const waiter = new Outcome(client.lock().lock(-1, undefined, 2));
    await turn();
    const heir = [...client.ownerships.all()].find((ownership) => ownership !== held)!;
    const unblock = heir.lane.block();
    await client.lock().unlock(1);
    await turn();
    expect(client.executor.count('lock.handOver')).to.equal(0);
    unblock();
    await clock.tickAsync(30_000);
    expect(waiter.state).to.equal('resolved');
  });

  for (const handed of [true, false]) {
    it(`has to end before an heir that has gone is undone: ${handed ? 'handed over' : 'not handed over'} by then`, async () => {
      const released = pDefer<ReleaseReply>();
      const handOver = (): Promise<ReleaseReply> => released.promise;
      const kind: LockKind = { ...client.kind, handOver };
      await client.lock(NAME, kind).lock(-1, undefined, 1);
      const stop = new AbortController();
      const options = { threadId: 2, signal: stop.signal };
      const heir = new Outcome(client.lock(NAME, kind).lock(-1, undefined, options));
      await turn();
      const unlock = new Outcome(client.lock(NAME, kind).unlock(1));
      stop.abort();
      await turn();
      // It asks again at once; that must not be what is undone.
      const again = new Outcome(client.lock(NAME, kind).tryLock({ threadId: 2 }));
      await turn();
      expect([heir.state, again.state]).to.deep.equal(['rejected', 'pending']);
      // The server did not know the script, say: the command is sent once more, and runs only now.
      client.redis.delete(NAME);
      if (handed) client.redis.seize(NAME, client.owner(2));
      released.resolve({ kind: handed ? 'handed' : 'notHeld' });
      await turn();
      expect([unlock.state, again.value]).to.deep.equal([handed ? 'resolved' : 'rejected', true]);
      expect(client.executor.count('lock.release')).to.equal(handed ? 1 : 0);
      expect(client.redis.holds(NAME, client.owner(2))).to.equal(1);
      await client.lock(NAME, kind).unlock(2);
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(100_000);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  for (const [answer, steps] of [
    ['is not there yet', -1],
    ['will be lost', -1],
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((microtasks) => ['was lost', microtasks] as const),
  ] as const) {
    const when = steps < 0 ? '' : ` ${steps} microtasks before`;
    it(`is undone when its heir has gone, who has sent nothing; its answer ${answer}${when}`, async () => {
      await contenders(2);
      const stop = new AbortController();
      // It queues behind the other one, without an attempt.
      const heir = new Outcome(client.lock().lock(-1, undefined, { threadId: 3, signal: stop.signal }));
      await client.lock().unlock(1);
      await turn();
      expect(client.executor.sent.some(({ args }) => args['owner'] === client.owner(3))).to.equal(false);
      client.executor.mute();
      const isLost = answer !== 'is not there yet';
      const how = { runs: true, breaks: true };
      if (isLost) client.executor.fail('lock.handOver', new ConnectionError('lost', true), how);
      const unlock = new Outcome(client.lock().unlock(2));
      await turn();
      expect([heir.state, client.redis.holds(NAME, client.owner(3))]).to.deep.equal(['pending', 1]);
      if (steps >= 0) client.executor.resume();
      for (let i = 0; i < steps; i++) await Promise.resolve();
      stop.abort();
      await turn();
      client.executor.resume();
      await clock.tickAsync(10_000);
      expect([unlock.state, heir.state]).to.deep.equal([isLost ? 'rejected' : 'resolved', 'rejected']);
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(100_000);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  it('is the release of the holder: the heir cannot call it off', async () => {
    const requests: { from: ReleaseRequest; heir: AttemptRequest }[] = [];
    const kind: LockKind = {
      ...client.kind,
      handOver: (from, heir) => {
        requests.push({ from, heir });
        return client.kind.handOver!(from, heir);
      },
    };
    await client.lock(NAME, kind).lock(-1, undefined, 1);
    const stop = new AbortController();
    const waiter = client.lock(NAME, kind).lock(-1, undefined, { threadId: 2, signal: stop.signal });
    const second = new Outcome(waiter);
    await turn();
    client.executor.mute();
    void client.lock(NAME, kind).unlock(1);
    stop.abort();
    await turn();
    expect(second.state).to.equal('rejected');
    const [{ from, heir }] = requests as [(typeof requests)[0]];
    expect([from.sendRecord.cancelled, heir.acquisition.sendRecord.cancelled]).to.deep.equal([false, true]);
    expect(from.sendRecord.sends).to.equal(1);
    client.executor.resume();
    await turn();
    expect(client.redis.exists(NAME)).to.equal(false);
  });
});
