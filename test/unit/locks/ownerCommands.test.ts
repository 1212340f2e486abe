import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { CommandError } from '../../../lib/errors';
import { multiLock } from '../../../lib/locks/multi/multiLock';
import { ALL } from '../../../lib/locks/multi/quorum';
import type { LockHold } from '../../../lib/locks/LockHold';
import { fakeClock, turn } from '../../support';
import { FakeClient, mustHold, NAME, Outcome } from '../../support/fakeClient';

const RELEASE = 'lock.release';
const HAND_OVER = 'lock.handOver';

/** The orders in which two commands that the server refuses for a while are written again. */
const ORDERS = [
  [0, 1],
  [1, 0],
] as const;

describe('commands of one owner that are under way together', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  async function take(leaseTime?: number, threadId = 1): Promise<LockHold> {
    return mustHold(await client.lock().takeHold(Infinity, { threadId, ...(leaseTime && { leaseTime }) }));
  }

  /** What they come to when the server refuses them for a while. */
  async function refusedBoth(
    order: readonly number[],
    ...calls: readonly (() => Promise<unknown>)[]
  ): Promise<string[]> {
    client.executor.refuse(RELEASE, HAND_OVER);
    const outcomes: Outcome<unknown>[] = [];
    for (const call of calls) {
      outcomes.push(new Outcome(call()));
      await turn();
    }
    await clock.tickAsync(200);
    client.executor.serve(order);
    await turn();
    return outcomes.map(({ state }) => state);
  }

  async function expectNothingLeft(): Promise<void> {
    expect(client.redis.exists(NAME)).to.equal(false);
    await clock.tickAsync(120_000);
    expect([client.lost.length, client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  }

  for (const order of ORDERS) {
    const which = order[0] === 0 ? 'the first one first' : 'the second one first';

    it(`two releases: both have released, ${which}`, async () => {
      const [outer, inner] = [await take(), await take()];
      expect(
        await refusedBoth(
          order,
          () => inner.unlock(),
          () => outer.unlock(),
        ),
      ).to.deep.equal(['resolved', 'resolved']);
      await expectNothingLeft();
    });

    it(`a release and a longer lease: Redis keeps it for as long as its holder counts on it, ${which}`, async () => {
      const [outer, inner] = [await take(5_000), await take(4_000)];
      const states = await refusedBoth(
        order,
        () => inner.unlock(),
        () => outer.extend(60_000),
      );
      expect(states).to.deep.equal(['resolved', 'resolved']);
      expect(outer.remainingLeaseMs).to.be.within(59_000, client.redis.pttl(NAME));
      await outer.unlock();
      await expectNothingLeft();
    });

    it(`two leases, the second one shorter: its holder counts on that alone, ${which}`, async () => {
      const hold = await take(5_000);
      const states = await refusedBoth(
        order,
        () => hold.extend(60_000),
        () => hold.extend(2_000),
      );
      expect(states).to.deep.equal(['resolved', 'resolved']);
      expect(client.redis.pttl(NAME)).to.be.within(1_800, 2_000);
      expect(hold.remainingLeaseMs).to.be.at.most(client.redis.pttl(NAME));
      await hold.unlock();
      await expectNothingLeft();
    });

    it(`a lease and the release of that hold: whichever comes first frees it, and the next one gets in, ${which}`, async () => {
      const hold = await take(5_000);
      const next = new Outcome(client.lock().takeHold(Infinity, { threadId: 2 }));
      await turn();
      const [extended, released] = await refusedBoth(
        order,
        () => hold.extend(60_000),
        () => hold.unlock(),
      );
      expect([extended, released]).to.deep.equal(['rejected', 'resolved']);
      expect(client.redis.owners(NAME)).to.deep.equal([client.owner(2)]);
      await mustHold(next.value).unlock();
      await expectNothingLeft();
    });
  }

  it('two leases without a reply: the shorter one counts, since Redis may have either', async () => {
    for (const [first, second] of [
      [60_000, 2_000],
      [2_000, 60_000],
    ] as const) {
      client = new FakeClient();
      const hold = await take(30_000);
      client.executor.mute();
      for (const leaseMs of [first, second]) hold.extend(leaseMs).catch(() => undefined);
      await turn();
      expect(hold.remainingLeaseMs).to.be.within(1_900, 2_000);
      await clock.tickAsync(2_000);
      expect([hold.isHeld, hold.signal.aborted]).to.deep.equal([false, true]);
      client.executor.resume();
      await clock.tickAsync(130_000);
    }
  });

  it('a lease that a release has carried stays, although its own command was refused for good', async () => {
    const [outer, inner] = [await take(5_000), await take(4_000)];
    client.executor.fail(RELEASE, new CommandError('extend', new Error('OOM command not allowed')));
    const extended = new Outcome(outer.extend(60_000));
    const released = new Outcome(inner.unlock());
    await turn();
    expect([extended.state, released.state]).to.deep.equal(['rejected', 'resolved']);
    expect(outer.remainingLeaseMs).to.be.within(59_000, client.redis.pttl(NAME));
    await outer.unlock();
    await expectNothingLeft();
  });

  it('a release that finds the lock gone waits for the one beside it, and is a loss if nobody has released it', async () => {
    const [outer, inner] = [await take(), await take()];
    client.executor.refuse(RELEASE);
    const first = new Outcome(inner.unlock());
    const second = new Outcome(outer.unlock());
    await turn();
    client.redis.delete(NAME);
    client.executor.serve();
    await turn();
    expect([first.state, second.state]).to.deep.equal(['rejected', 'rejected']);
    expect(client.lost).to.have.length(2);
  });

  it('sets of values of a group that overlap: all are released', async () => {
    client = new FakeClient(undefined, {}, ['a', 'b']);
    const other = client.lock(NAME, client.groupOf('b', 'c'));
    for (const lock of [client.lock(), other]) await lock.lock(-1, undefined, 1);
    client.executor.refuse('groupLock.release');
    const unlocks = [client.lock(), other, client.lock()].map((lock) => new Outcome(lock.unlock(1)));
    await turn();
    client.executor.serve();
    await turn();
    expect(unlocks.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved', 'rejected']);
    await expectNothingLeft();
  });

  it('values that were given up are not taken from a set that their thread acquires meanwhile', async () => {
    client = new FakeClient(undefined, { lockWatchdogTimeout: 3_000 }, ['a', 'b']);
    const other = client.lock(NAME, client.groupOf('b'));
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1, maxRenewTimes: 1 }));
    const { signal } = hold;
    await clock.tickAsync(2_100);
    expect(signal.aborted).to.equal(true);
    client.executor.mute();
    const taken = new Outcome(other.takeHold(Infinity, { threadId: 1 }));
    await turn();
    void hold.unlock().catch(() => undefined);
    await turn();
    client.executor.resume();
    await turn();
    const inner = mustHold(taken.value);
    expect([inner.isHeld, client.redis.exists(NAME)]).to.deep.equal([true, true]);
    await inner.unlock();
    await clock.tickAsync(10_000);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('an unlock() beside the acquisition of a multi-lock takes the hold of its caller, not the member just got', async () => {
    const [x, y] = [client.lock('x'), client.lock('y')];
    const both = multiLock([x, y], ALL, 1_000);
    await x.lock(-1, undefined, 1);
    await y.lock(-1, undefined, 2);
    const acquired = new Outcome(both.lock(-1, undefined, { threadId: 1 }));
    await turn();
    expect(client.redis.holds('x', client.owner(1)), 'it has x, and waits for y').to.equal(2);
    await x.unlock(1);
    const another = new Outcome(x.unlock(1));
    await turn();
    expect(another.error, 'its caller has no other').to.have.property('code', 'ILLEGAL_MONITOR_STATE');
    expect(client.redis.holds('x', client.owner(1))).to.equal(1);
    await y.unlock(2);
    await turn();
    expect(acquired.state).to.equal('resolved');
    await both.unlock({ threadId: 1 });
    expect(['x', 'y'].map((key) => client.redis.exists(key))).to.deep.equal([false, false]);
    await expectNothingLeft();
  });

  it('a re-entry that waits for another command counts the holds that there are when it is sent', async () => {
    client = new FakeClient(undefined, { lockWatchdogTimeout: 3_000 });
    const outer = await take();
    const givenUp = mustHold(await client.lock().takeHold(Infinity, { threadId: 1, maxRenewTimes: 1 }));
    const { signal } = givenUp;
    client.executor.refuse(RELEASE);
    const extended = new Outcome(outer.extend(60_000));
    const entered = new Outcome(client.lock().takeHold(Infinity, { threadId: 1 }));
    await clock.tickAsync(2_100);
    expect(signal.aborted).to.equal(true);
    await givenUp.unlock().catch(() => undefined);
    client.executor.serve();
    await turn();
    expect([extended.state, entered.state]).to.deep.equal(['resolved', 'resolved']);
    expect([outer.isHeld, mustHold(entered.value).isHeld]).to.deep.equal([true, true]);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(2);
    await mustHold(entered.value).unlock();
    await outer.unlock();
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('a hold that was given up is kept for as long as Redis had it, however late its last renewal ran', async () => {
    client = new FakeClient(undefined, { lockWatchdogTimeout: 3_000 });
    const { signal } = mustHold(await client.lock().takeHold(Infinity, { threadId: 1, maxRenewTimes: 1 }));
    client.executor.freeze();
    await clock.tickAsync(1_900);
    client.executor.resume();
    await clock.tickAsync(200);
    expect(signal.aborted).to.equal(true);
    const inner = await take(1_000);
    const keptMs = client.redis.pttl(NAME);
    await inner.unlock();
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    expect(client.redis.pttl(NAME)).to.be.at.least(keptMs);
    await clock.tickAsync(10_000);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('a release that waits does not free the lock under the one to whom it was passed on before Redis knew', async () => {
    client = new FakeClient(undefined, { localHandOver: true });
    const [outer, inner] = [await take(), await take()];
    const next = new Outcome(client.lock().takeHold(Infinity, { threadId: 2 }));
    await turn();
    client.executor.refuse(RELEASE, HAND_OVER);
    const released = new Outcome(inner.unlock());
    await turn();
    const passedOn = new Outcome(outer.unlock());
    await turn();
    expect(next.state, 'the next one is in').to.equal('resolved');
    client.executor.serve([0]);
    await turn();
    expect(client.redis.owners(NAME), 'Redis has it for this process').to.deep.equal([client.owner(1)]);
    client.executor.serve();
    await turn();
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(2)]);
    expect([released.state, passedOn.state]).to.deep.equal(['resolved', 'resolved']);
    await mustHold(next.value).unlock();
    await expectNothingLeft();
  });
});
