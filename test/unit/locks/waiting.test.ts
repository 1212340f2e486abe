// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { CommandTimeoutError, ConnectionError, ShutdownError } from '../../../lib/errors';
import { fakeClock, turn } from '../../support';
import { CHANNEL, FakeClient, NAME, Outcome } from '../../support/fakeClient';
import { FakeRedis } from '../../support/fakeRedis';

describe('waiting for a lock', () => {
  let clock: SinonFakeTimers;
  let redis: FakeRedis;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    redis = new FakeRedis();
    client = new FakeClient(redis);
  });

  function attempts(): number {
    return client.executor.count('lock.acquire');
  }

  it('subscribes after a failed attempt, attempts again, and gets in by the message of the unlock', async () => {
    redis.seize(NAME, 'other');
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    expect(client.subscriber.log).to.deep.equal([`SUB ${CHANNEL}`]);
    expect(attempts()).to.equal(2);
    await clock.tickAsync(10_000);
    expect([lock.state, attempts()]).to.deep.equal(['pending', 2]);
    redis.delete(NAME);
    redis.publish(CHANNEL, '0');
    await turn();
    expect([lock.state, attempts()]).to.deep.equal(['resolved', 3]);
    await turn();
    expect(client.subscriber.log).to.deep.equal([`SUB ${CHANNEL}`, `UNSUB ${CHANNEL}`]);
  });

  it('misses no unlock between the first attempt and the subscription', async () => {
    redis.seize(NAME, 'other');
    client.subscriber.manual = true;
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    redis.delete(NAME);
    redis.publish(CHANNEL, '0');
    client.subscriber.acknowledge(CHANNEL);
    await turn();
    expect(lock.state).to.equal('resolved');
  });

  it('C9: counts the ttl from the sending of the attempt, although its reply is read late', async () => {
    redis.seize(NAME, 'other', 6_000);
    client.subscriber.manual = true;
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    client.executor.mute();
    client.subscriber.acknowledge(CHANNEL);
    await turn();
    await clock.tickAsync(5_500);
    client.executor.resume();
    await turn();
    expect(lock.state).to.equal('pending');
    await clock.tickAsync(600);
    expect(lock.state).to.equal('resolved');
  });

  for (const [how, error] of [
    ['finds the lock gone', undefined],
    ['fails', new ConnectionError('lost', true)],
  ] as const) {
    it(`C9: an unlock that ${how} wakes the waiters of its own process`, async () => {
      await client.lock().lock(-1, undefined, 1);
      const waiter = new Outcome(client.lock().lock(-1, undefined, 2));
      await turn();
      expect(waiter.state).to.equal('pending');
      redis.delete(NAME);
      if (error !== undefined) client.executor.fail('lock.handOver', error, { breaks: true });
      const unlock = new Outcome(client.lock().unlock(1));
      await turn();
      await turn();
      expect([unlock.state, waiter.state]).to.deep.equal(['rejected', 'resolved']);
    });
  }

  it('gets in when the ttl has passed without a message', async () => {
    redis.seize(NAME, 'other', 2_000);
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await clock.tickAsync(1_999);
    expect([lock.state, attempts()]).to.deep.equal(['pending', 2]);
    await clock.tickAsync(1);
    expect([lock.state, attempts()]).to.deep.equal(['resolved', 3]);
  });

  it('sleeps no longer than its deadline and makes no attempt after it', async () => {
    redis.seize(NAME, 'other', 2_000);
    const lock = new Outcome(client.lock().tryLock(500, -1, undefined, 1));
    await clock.tickAsync(500);
    expect([lock.value, attempts()]).to.deep.equal([false, 2]);
    await clock.tickAsync(10_000);
    expect(attempts()).to.equal(2);
    expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  });

  it('tryLock() makes one attempt, tryLock(0) too, and neither subscribes', async () => {
    redis.seize(NAME, 'other');
    expect(await client.lock().tryLock()).to.equal(false);
    expect(await client.lock().tryLock(0)).to.equal(false);
    expect(await client.lock().tryLock(-5, 1_000)).to.equal(false);
    expect(attempts()).to.equal(3);
    expect(client.subscriber.log).to.deep.equal([]);
  });

  it('tryLock() attempts although others wait: it is not in the queue', async () => {
    redis.seize(NAME, 'other');
    const waiter = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    const before = attempts();
    expect(await client.lock().tryLock()).to.equal(false);
    expect(attempts()).to.equal(before + 1);
    redis.delete(NAME);
    expect(await client.lock().tryLock({ threadId: 2 })).to.equal(true);
    await client.lock().unlock(2);
    await turn();
    expect(waiter.state).to.equal('resolved');
  });

  it('tryAcquire tells the pttl, and -1 where there is none', async () => {
    redis.seize(NAME, 'other', 1_500);
    await clock.tickAsync(500);
    expect(await client.lock().tryAcquire()).to.equal(1_000);
    redis.seize(NAME, 'other', Infinity);
    expect(await client.lock().tryAcquire()).to.equal(-1);
    redis.delete(NAME);
    expect(await client.lock().tryAcquire(700, undefined, 1)).to.equal(null);
    expect(redis.pttl(NAME)).to.equal(700);
  });

  describe('1000 waiters of one process', () => {
    let waiters: Outcome<void>[];

    beforeEach(async () => {
      redis.seize(NAME, 'other');
      waiters = Array.from({ length: 1_000 }, (_, i) => new Outcome(client.lock().lock(10_000, undefined, i)));
      await turn();
    });

    it('cost nothing while nothing happens', async () => {
      const before = client.executor.sent.length;
      await clock.tickAsync(29_000);
      expect(client.executor.sent.length).to.equal(before);
      expect(client.subscriber.channels).to.deep.equal([CHANNEL]);
      expect(clock.countTimers()).to.equal(1);
    });

    it('look again through one of them when the ttl has passed', async () => {
      const before = attempts();
      redis.seize(NAME, 'other', 60_000);
      await clock.tickAsync(30_000);
      expect(attempts()).to.equal(before + 1);
      await clock.tickAsync(29_000);
      expect(attempts()).to.equal(before + 1);
    });

    it('send one command when somebody unlocks', async () => {
      const before = attempts();
      redis.delete(NAME);
      redis.publish(CHANNEL, '0');
      await turn();
      expect(attempts()).to.equal(before + 1);
      expect(waiters.filter(({ state }) => state === 'resolved')).to.have.length(1);
    });

    it('all learn at once, each by an error of its own, that Redis is gone', async () => {
      const error = (): ConnectionError => new ConnectionError('gone', false);
      for (let i = 0; i < 1_000; i++) client.executor.fail('lock.acquire', error());
      redis.publish(CHANNEL, '0');
      await turn();
      await turn();
      expect(waiters.filter(({ state }) => state === 'rejected')).to.have.length(1_000);
      expect(new Set(waiters.map(({ error: one }) => one)).size).to.equal(1_000);
      expect(client.subscriptions.size).to.equal(0);
    });

    it('are all rejected by a shutdown, and leave no timer', async () => {
      await client.shutdown();
      await turn();
      for (const { error } of waiters) expect(error).to.be.instanceOf(ShutdownError);
      expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
    });
  });

  it('one whose attempt got no answer out of turn asks again: it may have the lock', async () => {
    redis.seize(NAME, 'other');
    const [first, second, third] = [1, 2, 3].map((id) => new Outcome(client.lock().lock(-1, undefined, id)));
    await turn();
    // The first one finds Redis gone, which has the others ask as well: one in vain, and the answer to the other is
    // lost.
    client.executor.fail('lock.acquire', new ConnectionError('gone', false));
    client.executor.fail('lock.acquire', new CommandTimeoutError('lock', 3_000, true));
    client.executor.fail('lock.acquire', new CommandTimeoutError('lock', 3_000, true), { runs: true });
    redis.delete(NAME);
    redis.publish(CHANNEL, '0');
    await turn();
    await turn();
    expect(redis.owners(NAME)).to.deep.equal([client.owner(3)]);
    expect([first!.state, second!.state, third!.state]).to.deep.equal(['rejected', 'pending', 'pending']);
    await clock.tickAsync(500);
    expect([second!.state, third!.state]).to.deep.equal(['pending', 'resolved']);
    await client.lock().unlock(3);
    await turn();
    expect(second!.state).to.equal('resolved');
  });

  it('AS-03: 300 waiters of which each lets the next one in all get their turn', async () => {
    let inside = 0;
    const order: number[] = [];
    await client.lock().lock(-1, undefined, 1_000);
    const done = Array.from({ length: 300 }, async (_, i) => {
      await client.lock().lock(-1, undefined, i);
      inside += 1;
      expect(inside).to.equal(1);
      await turn();
      order.push(i);
      inside -= 1;
      await client.lock().unlock(i);
    });
    await turn();
    await client.lock().unlock(1_000);
    const all = new Outcome(Promise.all(done));
    for (let i = 0; i < 2_000 && all.state === 'pending'; i++) await clock.tickAsync(1);
    expect(all.state).to.equal('resolved');
    expect(order).to.deep.equal([...Array(300).keys()]);
    expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
    expect(redis.exists(NAME)).to.equal(false);
  });

  describe('two processes', () => {
    let other: FakeClient;

    beforeEach(() => {
      other = new FakeClient(redis);
    });

    it('wake each other', async () => {
      await client.lock().lock(-1, undefined, 1);
      const lock = new Outcome(other.lock().lock(-1, undefined, 1));
      await turn();
      expect(lock.state).to.equal('pending');
      await client.lock().unlock(1);
      await turn();
      expect(lock.state).to.equal('resolved');
    });

    it('take turns: one that has had the lock gives way to as many as its unlock woke', async () => {
      const third = new FakeClient(redis);
      const processes = [client, other, third];
      const order: number[] = [];
      const inside: FakeClient[] = [];
      await client.lock().lock(-1, undefined, 1_000);
      processes.forEach((process, index) => {
        for (let threadId = 0; threadId < 2; threadId++) {
          void process
            .lock()
            .lock(-1, undefined, threadId)
            .then(async () => {
              order.push(index);
              inside.push(process);
              // Longer than a process may hand the lock on among its own.
              await new Promise((resolve) => setTimeout(resolve, 21));
              await process.lock().unlock(threadId);
            });
        }
      });
      await turn();
      await clock.tickAsync(21);
      await client.lock().unlock(1_000);
      await clock.tickAsync(1_000);
      expect(order).to.have.length(6);
      for (const index of [0, 1, 2]) expect(order.slice(0, 3)).to.include(index);
      expect(redis.exists(NAME)).to.equal(false);
      for (const process of processes)
        expect([process.subscriptions.size, process.ownerships.size]).to.deep.equal([0, 0]);
      expect(clock.countTimers()).to.equal(0);
    });

    it('a process whose turn it is, but that is dead, costs the others 5 ms', async () => {
      await client.lock().lock(-1, undefined, 1);
      const mine = new Outcome(client.lock().lock(-1, undefined, 2));
      const theirs = new Outcome(other.lock().lock(-1, undefined, 1));
      await turn();
      await clock.tickAsync(20);
      other.executor.freeze();
      await client.lock().unlock(1);
      await turn();
      expect([mine.state, theirs.state]).to.deep.equal(['pending', 'pending']);
      await clock.tickAsync(5);
      expect([mine.state, theirs.state]).to.deep.equal(['resolved', 'pending']);
    });
  });

  it('the lease is counted from when the request was sent: waiting for a connection costs nothing of it', async () => {
    client.executor.down();
    const lock = new Outcome(client.lock().tryLock(0, 100, undefined, 1));
    await clock.tickAsync(2_000);
    client.executor.resume();
    await turn();
    expect(lock.value).to.equal(true);
    expect(client.executor.names).to.deep.equal(['lock.acquire']);
    await client.lock().unlock(1);
  });

  it('L-04: a deadline that passes before the attempt could be sent is no "not acquired", but an error', async () => {
    client.executor.down();
    const lock = new Outcome(client.lock().tryLock(5_000, 10_000, undefined, 1));
    await clock.tickAsync(5_000);
    expect(lock.error).to.be.instanceOf(ConnectionError);
    client.executor.resume();
    await turn();
    expect(client.executor.sent).to.deep.equal([]);
    expect([client.ownerships.size, client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0, 0]);
  });

  it('a reconnect of the subscriber wakes the head, which finds out', async () => {
    redis.seize(NAME, 'other');
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    client.subscriber.events?.interrupted();
    redis.delete(NAME);
    client.subscriber.events?.restored();
    await turn();
    expect(lock.state).to.equal('resolved');
  });

  it('forceUnlock wakes the waiters and tells the holder', async () => {
    const hold = await client.lock().acquire();
    const waiter = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    expect(await client.lock().forceUnlock()).to.equal(true);
    await turn();
    expect([waiter.state, hold.isHeld, hold.signal.aborted]).to.deep.equal(['resolved', false, true]);
    expect(client.lost).to.have.length(1);
    expect(await new FakeClient().lock().forceUnlock()).to.equal(false);
  });

  it('an answer that takes longer than the lease is not believed: the lock is given back and taken again', async () => {
    client.executor.mute();
    const lock = new Outcome(client.lock().lock(100, undefined, 1));
    await clock.tickAsync(150);
    client.executor.resume();
    await clock.tickAsync(50);
    expect(lock.state).to.equal('resolved');
    expect(client.executor.names.slice(0, 3)).to.deep.equal(['lock.acquire', 'lock.release', 'lock.acquire']);
    expect(redis.holds(NAME, client.owner(1))).to.equal(1);
  });
});
