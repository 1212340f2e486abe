// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { fakeClock, turn } from '../../support';
import { FakeClient, Outcome } from '../../support/fakeClient';

describe('giving way to other processes', () => {
  let clock: SinonFakeTimers;
  let one: FakeClient;
  let two: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    one = new FakeClient();
    two = new FakeClient(one.redis);
  });

  it('A3: who frees a lock that another process waits for lets that one try before it asks again', async () => {
    await one.lock().lock(-1, undefined, 1);
    const other = new Outcome(two.lock().lock(-1, undefined, 1));
    await turn();
    // Behind each other, as a loop sends them.
    const unlocked = one.lock().unlock(1);
    const again = unlocked.then(() => one.lock().lock(-1, undefined, 1));
    const mine = new Outcome(again);
    await turn();
    await turn();
    expect([other.state, mine.state]).to.deep.equal(['resolved', 'pending']);
    // It listens, so that it need not wait for longer than the other does.
    await two.lock().unlock(1);
    await turn();
    await turn();
    expect(mine.state).to.equal('resolved');
    expect(clock.now).to.equal(0);
  });

  it('A3: it gives way once, and takes the lock if nobody has', async () => {
    await one.lock().lock(-1, undefined, 1);
    // Listens, but does not try: a process that hangs.
    await two.subscriber.subscribe(one.kind.channelOf('a', ''));
    await one.lock().unlock(1);
    const mine = new Outcome(one.lock().lock(-1, undefined, 1));
    await clock.tickAsync(4);
    expect(mine.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(mine.state).to.equal('resolved');
  });

  it('A3: it gives way after each of its unlocks, not only after the first of a loop', async () => {
    await two.subscriber.subscribe(one.kind.channelOf('a', ''));
    await one.lock().lock(-1, undefined, 1);
    for (let round = 1; round <= 3; round++) {
      // It has left the channel by then.
      await turn();
      await one.lock().unlock(1);
      const mine = new Outcome(one.lock().lock(-1, undefined, 1));
      await clock.tickAsync(4);
      expect(mine.state, `round ${round}`).to.equal('pending');
      await clock.tickAsync(1);
      expect(mine.state, `round ${round}`).to.equal('resolved');
    }
  });

  it('one attempt, a short wait and a re-entry do not give way', async () => {
    await two.subscriber.subscribe(one.kind.channelOf('a', ''));
    for (const take of [
      () => one.lock().tryLock({ threadId: 1 }),
      () => one.lock().tryLock(20, -1, undefined, { threadId: 1 }),
    ]) {
      await one.lock().lock(-1, undefined, 1);
      await one.lock().unlock(1);
      const taken = new Outcome(take());
      await turn();
      expect(taken.state).to.equal('resolved');
      await one.lock().unlock(1);
      await clock.tickAsync(5);
    }
  });

  it('a wait that giving way would take up does not give way, where Redis is far', async () => {
    const client = new FakeClient(one.redis, { maxHandOvers: 1 });
    const inside = [1, 2].map((threadId) => new Outcome(client.lock().lock(-1, undefined, threadId)));
    await two.subscriber.subscribe(one.kind.channelOf('a', ''));
    await turn();
    client.executor.mute();
    const unlocked = client.lock().unlock(1);
    await clock.tickAsync(50);
    client.executor.resume();
    await unlocked;
    await turn();
    expect(inside.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved']);
    await client.lock().unlock(2);
    const short = new Outcome(client.lock().tryLock(150, -1, undefined, { threadId: 3 }));
    const long = new Outcome(client.lock().tryLock(300, -1, undefined, { threadId: 4 }));
    await turn();
    expect([short.value, long.state]).to.deep.equal([true, 'pending']);
    await client.lock().unlock(3);
    await clock.tickAsync(100);
    expect(long.value).to.equal(true);
  });

  it('a process that is alone waits for nobody, also right after its own waiters', async () => {
    for (let i = 0; i < 3; i++) {
      await one.lock().lock(-1, undefined, 1);
      const waiter = new Outcome(one.lock().lock(-1, undefined, 2));
      await turn();
      await one.lock().unlock(1);
      await turn();
      expect(waiter.state).to.equal('resolved');
      await one.lock().unlock(2);
      const mine = new Outcome(one.lock().lock(-1, undefined, 1));
      await turn();
      expect(mine.state).to.equal('resolved');
      await one.lock().unlock(1);
    }
  });

  for (const limit of [0, 1, 3]) {
    it(`A14: maxHandOvers: ${limit}: hands the lock on so often in a row, and then tells everybody`, async () => {
      const client = new FakeClient(undefined, { maxHandOvers: limit });
      const inside: Outcome<void>[] = [];
      for (let threadId = 1; threadId <= 10; threadId++) {
        inside.push(new Outcome(client.lock().lock(-1, undefined, threadId)));
        await turn();
      }
      for (let threadId = 1; threadId < 10; threadId++) {
        expect(inside[threadId - 1]!.state, `thread ${threadId}`).to.equal('resolved');
        await client.lock().unlock(threadId);
        await turn();
      }
      const releases = client.executor.names.filter((name) => name === 'lock.release' || name === 'lock.handOver');
      const cycle = [...Array<string>(limit).fill('lock.handOver'), 'lock.release'];
      expect(releases).to.deep.equal(Array.from({ length: 9 }, (_, i) => cycle[i % cycle.length]));
    });
  }
});
