// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ShutdownError, SubscriptionTimeoutError } from '../../../lib/errors';
import { Subscriptions } from '../../../lib/waiters/Subscriptions';
import type { Waiter } from '../../../lib/waiters/Waiter';
import { lockWakeRule, permitWakeRule, semaphoreWakeRule } from '../../../lib/waiters/wakeRules';
import { fakeClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeRedis } from '../../support/fakeRedis';
import { FakeSubscriber } from '../../support/fakes';
import { waiting } from './fakeSubscriptions';

describe('Subscriptions', () => {
  let clock: SinonFakeTimers;
  let redis: FakeRedis;
  let subscriber: FakeSubscriber;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    clock = fakeClock();
    redis = new FakeRedis();
    subscriber = new FakeSubscriber(redis);
    subscriptions = new Subscriptions(subscriber, { subscriptionTimeout: 1_000, timeout: 3_000 });
  });

  function join(channel = 'a', order: 'fifo' | 'shared' = 'shared', rawName = `name of ${channel}`): Waiter<string> {
    return subscriptions.join(waiting(lockWakeRule, order), channel, rawName);
  }

  function listen(waiter: Waiter<string>): Outcome<void> {
    return new Outcome(waiter.listen() ?? Promise.resolve());
  }

  /** It attempts in vain whenever it is sent to. */
  function asleep(waiter: Waiter<string>): Outcome<never> {
    const attempts = async (): Promise<never> => {
      for (;;) {
        await waiter.sleep(Infinity);
        await waiter.listen();
      }
    };
    return new Outcome(attempts());
  }

  it('sends nothing before somebody has to listen', async () => {
    join().leave();
    await turn();
    expect(subscriber.log).to.deep.equal([]);
    expect(subscriptions.size).to.equal(0);
  });

  it('subscribes once for all waiters of a channel, and unsubscribes after the last', async () => {
    const waiters = [join(), join(), join()];
    waiters.forEach(listen);
    await turn();
    expect(waiters.map((waiter) => waiter.listen())).to.deep.equal([undefined, undefined, undefined]);
    waiters[0]!.leave();
    waiters[2]!.leave();
    expect(subscriber.log).to.deep.equal(['SUB a']);
    waiters[1]!.leave();
    // Not before those who wait for it: the one that has the lock now does not wait for this.
    expect(subscriber.log).to.deep.equal(['SUB a']);
    await turn();
    expect(subscriber.log).to.deep.equal(['SUB a', 'UNSUB a']);
    expect(subscriptions.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  for (const others of [1, 2, 3]) {
    it(`A3: a single caller lets each of ${others} others have its turn first`, async () => {
      subscriptions.released('a', 'name of a', others);
      const waiter = join('a', 'fifo');
      expect(waiter.isTurn).to.equal(false);
      const sleep = new Outcome(waiter.sleep(Infinity));
      await turn();
      for (let i = 1; i <= others; i++) {
        expect(sleep.state, `before message ${i}`).to.equal('pending');
        redis.publish('a', '0');
        await turn();
      }
      expect(sleep.state).to.equal('resolved');
      waiter.leave();
      await turn();
      expect(clock.countTimers()).to.equal(0);
    });
  }

  it('A3: a single caller waits for nobody whose message was its own', async () => {
    const former = join('a', 'fifo');
    listen(former);
    await turn();
    former.leave();
    // The unlock, sent before the channel was unsubscribed: this client is one of three that were told.
    const turns = subscriptions.turns('a', 'name of a')!;
    turns.releasing();
    redis.publish('a', '0');
    turns.released(3);
    const waiter = join('a', 'fifo');
    const sleep = new Outcome(waiter.sleep(Infinity));
    redis.publish('a', '0');
    await turn();
    expect(sleep.state).to.equal('pending');
    redis.publish('a', '0');
    await turn();
    expect(sleep.state).to.equal('resolved');
  });

  it('A3: an unlock is counted once: its own message is not taken for that of another later', async () => {
    const former = join('a', 'fifo');
    listen(former);
    await turn();
    former.leave();
    const turns = subscriptions.turns('a', 'name of a')!;
    await clock.tickAsync(5);
    turns.releasing();
    turns.message();
    turns.released(1);
    subscriptions.released('a', 'name of a', 1);
    expect(subscriptions.turns('a', 'name of a')).to.equal(turns);
    expect(turns.givesWay).to.equal(false);
  });

  it('A3: a single caller does not wait long for others that are gone', async () => {
    subscriptions.released('a', 'name of a', 3);
    const sleep = new Outcome(join('a', 'fifo').sleep(Infinity));
    await clock.tickAsync(5);
    expect(sleep.state).to.equal('resolved');
  });

  it('makes a fresh queue after the last waiter has left', async () => {
    const first = join();
    listen(first);
    await turn();
    const queue = subscriptions.queue('a', 'name of a');
    first.leave();
    await turn();
    const second = join();
    expect(subscriptions.queue('a', 'name of a')).not.to.equal(queue);
    const listening = listen(second);
    await turn();
    expect(listening.state).to.equal('resolved');
    expect(subscriber.log).to.deep.equal(['SUB a', 'UNSUB a', 'SUB a']);
    second.leave();
  });

  it('takes the subscription over when the next waiter comes at once', async () => {
    const first = join();
    listen(first);
    await turn();
    first.leave();
    const second = join();
    const listening = listen(second);
    await turn();
    expect([listening.state, subscriber.channels]).to.deep.equal(['resolved', ['a']]);
    expect(subscriber.log).not.to.include('UNSUB a');
    const sleeping = new Outcome(second.sleep(Infinity));
    redis.publish('a', '0');
    await turn();
    expect(sleeping.state).to.equal('resolved');
    second.leave();
    await turn();
    expect([subscriber.channels, subscriber.log.at(-1)]).to.deep.equal([[], 'UNSUB a']);
  });

  it('leaves nobody behind when the client is shut down in the turn in which a channel is left', async () => {
    const waiter = join();
    listen(waiter);
    await turn();
    waiter.leave();
    subscriptions.close();
    await turn();
    expect(subscriber.log).to.deep.equal(['SUB a']);
  });

  it('does not take the acknowledgement of an abandoned subscription for that of its successor', async () => {
    subscriber.manual = true;
    const first = join();
    listen(first);
    first.leave();
    const second = listen(join());
    await turn();
    expect(second.state).to.equal('pending');
    subscriber.acknowledge('a');
    await turn();
    expect(second.state).to.equal('resolved');
  });

  it('keeps channels apart', async () => {
    const [a, b] = [join('a'), join('b')];
    listen(a);
    listen(b);
    await turn();
    const [sleepA, sleepB] = [new Outcome(a.sleep(Infinity)), new Outcome(b.sleep(Infinity))];
    redis.publish('b', '0');
    await turn();
    expect([sleepA.state, sleepB.state]).to.deep.equal(['pending', 'resolved']);
    a.leave();
    await turn();
    expect(subscriber.channels).to.deep.equal(['b']);
  });

  describe('A1: two names on one channel', () => {
    it('are two queues with one subscription, which goes with the last of them', async () => {
      const [bare, braced] = [join('a', 'fifo', 'x'), join('a', 'fifo', '{x}')];
      listen(bare);
      listen(braced);
      await turn();
      expect(subscriptions.queue('a', 'x')).not.to.equal(subscriptions.queue('a', '{x}'));
      expect([bare.isTurn, braced.isTurn, subscriptions.size]).to.deep.equal([true, true, 1]);
      bare.leave();
      await turn();
      expect([subscriptions.queue('a', 'x'), subscriber.log]).to.deep.equal([undefined, ['SUB a']]);
      braced.leave();
      await turn();
      expect([subscriber.log, subscriptions.size, clock.countTimers()]).to.deep.equal([['SUB a', 'UNSUB a'], 0, 0]);
    });

    it('hear each message both', async () => {
      const waiters = [join('a', 'fifo', 'x'), join('a', 'fifo', '{x}'), join('a', 'shared', '{x}')];
      waiters.forEach(listen);
      await turn();
      const sleeps = waiters.map((waiter) => new Outcome(waiter.sleep(Infinity)));
      redis.publish('a', '0');
      await turn();
      expect(sleeps.map(({ state }) => state)).to.deep.equal(['resolved', 'resolved', 'resolved']);
    });

    it('a name that comes later is subscribed already; one that comes while it is asked for waits for the same', async () => {
      subscriber.manual = true;
      const first = listen(join('a', 'fifo', 'x'));
      const second = listen(join('a', 'fifo', '{x}'));
      await turn();
      expect([first.state, second.state, subscriber.log]).to.deep.equal(['pending', 'pending', ['SUB a']]);
      subscriber.acknowledge('a');
      await turn();
      expect([first.state, second.state]).to.deep.equal(['resolved', 'resolved']);
      expect(join('a', 'shared', 'y').listen()).to.equal(undefined);
    });

    it('a head that gives up wakes its own successor, not that of the other name', async () => {
      const waiters = ['x', 'x', '{x}', '{x}'].map((name) => join('a', 'fifo', name));
      waiters.forEach(listen);
      await turn();
      const sleeps = waiters.slice(1).map((waiter) => new Outcome(waiter.sleep(Infinity)));
      waiters[0]!.leave();
      await turn();
      expect(sleeps.map(({ state }) => state)).to.deep.equal(['resolved', 'pending', 'pending']);
    });

    it('messages of the other name neither delay nor swallow a wake-up of this one for more than 5 ms', async () => {
      const waiter = join('a', 'fifo', 'x');
      const other = join('a', 'fifo', '{x}');
      [waiter, other].forEach(listen);
      await turn();
      const queue = subscriptions.queue('a', 'x')!;
      for (const receivers of [0, 1, 2, 3]) {
        const sleeping = new Outcome(waiter.sleep(Infinity));
        queue.turns.releasing();
        redis.publish('a', '0');
        queue.turns.released(receivers);
        // The own one is either of the two.
        redis.publish('a', '0');
        await clock.tickAsync(5);
        expect(sleeping.state).to.equal('resolved');
        // One too many is harmless: it tries in vain, and sleeps again.
        while (waiter.kept !== undefined) await waiter.sleep(Infinity);
      }
    });

    it('of the waiters for two sets of values of a group, who gives way attempts behind the others', async () => {
      const woken: string[] = [];
      const waitKeys = ['x\u0000ab', 'x\u0000bc'];
      const waiters = waitKeys.map((waitKey) =>
        subscriptions.join(waiting(lockWakeRule, 'fifo'), 'a', 'x', undefined, undefined, waitKey),
      );
      await waiters[0]!.listen();
      for (const [i, waiter] of waiters.entries()) void waiter.sleep(Infinity).then(() => woken.push(waitKeys[i]!));
      const [first, second] = waitKeys.map((waitKey) => subscriptions.queue('a', waitKey));
      first!.turns.releasing();
      first!.turns.released(1);
      expect([first!.turns.givesWay, second!.turns.givesWay]).to.deep.equal([true, false]);
      redis.publish('a', '0');
      await turn();
      expect(woken).to.deep.equal(waitKeys.reverse());
    });

    it('objects of one name whose messages mean different things are two queues as well', async () => {
      const some = subscriptions.join(waiting(permitWakeRule), 'a', 'x', undefined, 2, 'permits');
      const enough = subscriptions.join(waiting(semaphoreWakeRule), 'a', 'x', undefined, 2, 'semaphore');
      await some.listen();
      const sleeps = [some, enough].map((waiter) => new Outcome(waiter.sleep(Infinity)));
      redis.publish('a', '1');
      await turn();
      expect(sleeps.map(({ state }) => state)).to.deep.equal(['resolved', 'pending']);
    });
  });

  it("PS-01: one waiter's time-out fails no other, and the next one gets a promise that can be kept", async () => {
    subscriber.manual = true;
    const early = join();
    listen(early);
    const failing = asleep(early);
    await clock.tickAsync(600);
    const late = join();
    const waiting = listen(late);
    await clock.tickAsync(399);
    expect(failing.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(failing.error).to.be.instanceOf(SubscriptionTimeoutError);
    expect(waiting.state).to.equal('pending');
    early.leave();
    expect(subscriber.log).to.deep.equal(['SUB a']);
    const third = listen(join());
    subscriber.acknowledge('a');
    await turn();
    expect([waiting.state, third.state]).to.deep.equal(['resolved', 'resolved']);
    expect(clock.countTimers()).to.equal(0);
  });

  it('A7: who is not subscribed is sent to attempt after pauses that double up to the command time-out', async () => {
    subscriber.manual = true;
    const waiter = join('a', 'fifo');
    waiter.timed = true;
    const startedAt = performance.now();
    const looks: number[] = [];
    void (async () => {
      for (;;) {
        await waiter.listen();
        looks.push(performance.now() - startedAt);
        await waiter.sleep(Infinity);
      }
    })();
    await clock.tickAsync(9_600);
    expect(looks).to.deep.equal([500, 1_500, 3_500, 6_500, 9_500]);
    // What was published before the subscription is lost.
    subscriber.acknowledge('a');
    await turn();
    expect(looks).to.have.length(6);
    await clock.tickAsync(60_000);
    expect(looks).to.have.length(6);
    expect(clock.countTimers()).to.equal(0);
  });

  it('begins with the first pause again when the connection is gone once more', async () => {
    for (let gap = 0; gap < 2; gap++) {
      subscriber.manual = true;
      const waiter = join('a', 'fifo');
      waiter.timed = true;
      const startedAt = performance.now();
      const looks: number[] = [];
      const waits = (async () => {
        for (;;) {
          await waiter.listen();
          looks.push(performance.now() - startedAt);
          await waiter.sleep(Infinity);
        }
      })().catch(() => undefined);
      await clock.tickAsync(2_000);
      expect(looks, `gap ${gap}`).to.deep.equal([500, 1_500]);
      subscriber.acknowledge('a');
      await turn();
      waiter.reject(new Error('end'));
      await waits;
      waiter.leave();
      await turn();
    }
  });

  it('attempts after pauses in each gap of a live subscription, and the pauses begin anew', async () => {
    const waiter = join('a', 'fifo');
    await waiter.listen();
    const looks: number[] = [];
    let startedAt = 0;
    void (async () => {
      for (;;) {
        await waiter.sleep(Infinity);
        looks.push(performance.now() - startedAt);
        await waiter.listen();
      }
    })();
    for (let gap = 0; gap < 2; gap++) {
      startedAt = performance.now();
      looks.length = 0;
      subscriber.events!.interrupted();
      await clock.tickAsync(6_500);
      expect(looks, `gap ${gap}`).to.deep.equal([3_000, 6_000]);
      subscriber.events!.restored();
      await clock.tickAsync(0);
    }
    expect(clock.countTimers()).to.equal(0);
  });

  it('A7: all who wait without a limit are rejected in their time wherever they stand, and those with one never', async () => {
    subscriber.manual = true;
    const waiters = [0, 1, 2, 3].map(() => join('a', 'fifo'));
    waiters[1]!.timed = true;
    listen(waiters[0]!);
    const ends = waiters.map((waiter) => asleep(waiter));
    await clock.tickAsync(300);
    const later = asleep(join('a', 'fifo'));
    await clock.tickAsync(700);
    expect(ends.map(({ state }) => state)).to.deep.equal(['rejected', 'pending', 'rejected', 'rejected']);
    await clock.tickAsync(299);
    expect(later.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(later.error).to.be.instanceOf(SubscriptionTimeoutError);
  });

  it('A7: one who joins late is rejected when its own time is up, be it the only one without a limit', async () => {
    subscriber.manual = true;
    const first = join('a', 'fifo');
    first.timed = true;
    listen(first);
    asleep(first);
    for (const joinsAt of [300, 1_500, 3_700, 6_600]) {
      await clock.tickAsync(joinsAt - clock.now);
      const late = join('a', 'fifo');
      const end = asleep(late);
      await clock.tickAsync(999);
      expect(end.state, `joined at ${joinsAt}`).to.equal('pending');
      await clock.tickAsync(1);
      expect(end.error, `joined at ${joinsAt}`).to.be.instanceOf(SubscriptionTimeoutError);
      late.leave();
    }
  });

  it('A7: some of the shared waiters that hear nothing look at a time, each in its turn', async () => {
    subscriber.manual = true;
    const contenders = Array.from({ length: 25 }, () => join());
    const looked = new Set<number>();
    contenders.forEach((waiter, i) => {
      waiter.timed = true;
      void waiter.listen()?.then(() => looked.add(i));
    });
    await clock.tickAsync(500);
    expect([...looked]).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await clock.tickAsync(1_000);
    expect(looked.size).to.equal(20);
    await clock.tickAsync(2_000);
    expect(looked.size).to.equal(25);
  });

  it('PS-02: a subscription that is refused fails those who wait for it, and holds up nobody after them', async () => {
    subscriber.manual = true;
    const waiters = [join(), join()];
    const failed = waiters.map(listen);
    await turn();
    subscriber.refuse('a', new Error('NOPERM'));
    await turn();
    expect(failed.map(({ error }) => (error as Error).message)).to.deep.equal(['NOPERM', 'NOPERM']);
    const next = listen(join());
    subscriber.acknowledge('a');
    await turn();
    expect(next.state).to.equal('resolved');
    expect(subscriber.log).to.deep.equal(['SUB a', 'SUB a']);
    expect(clock.countTimers()).to.equal(0);
  });

  it('leaves no timer of waiters that leave while they subscribe', async () => {
    subscriber.manual = true;
    const [first, second] = [join(), join()];
    listen(first);
    listen(second);
    first.leave();
    expect(clock.countTimers()).to.equal(1);
    second.leave();
    expect(clock.countTimers()).to.equal(0);
  });

  it('wakes every waiter that may attempt after a resubscription', async () => {
    const waiters = [join('a', 'fifo'), join('a', 'fifo'), join('a'), join('b', 'fifo')];
    waiters.forEach(listen);
    await turn();
    const sleeps = waiters.map((waiter) => new Outcome(waiter.sleep(Infinity)));
    subscriber.events?.interrupted();
    await clock.tickAsync(10);
    subscriber.events?.restored();
    await turn();
    expect(sleeps.map(({ state }) => state)).to.deep.equal(['resolved', 'pending', 'resolved', 'resolved']);
    expect(clock.countTimers()).to.equal(0);
  });

  it('sends waiters to find out what became of Redis while the connection stays away', async () => {
    const waiter = join('a', 'fifo');
    listen(waiter);
    await turn();
    const first = new Outcome(waiter.sleep(Infinity));
    subscriber.events?.interrupted();
    await clock.tickAsync(2_999);
    expect(first.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(first.state).to.equal('resolved');
    // The command connection is well, so it sleeps again; nobody but its subscription can wake it.
    const second = new Outcome(waiter.sleep(Infinity));
    await clock.tickAsync(3_000);
    expect(second.state).to.equal('resolved');
    waiter.leave();
    subscriber.events?.restored();
    expect(clock.countTimers()).to.equal(0);
  });

  it('AS-08: close rejects the waiters: those asleep, those who subscribe, and those who are about to sleep', async () => {
    subscriber.manual = true;
    const [asleep, behind, subscribing, attempting] = [join('a', 'fifo'), join('a', 'fifo'), join('b'), join('c')];
    const outcomes = [asleep.sleep(1_000), behind.sleep(Infinity), subscribing.listen()].map(
      (one) => new Outcome<unknown>(Promise.resolve(one)),
    );
    subscriptions.close();
    outcomes.push(new Outcome(attempting.sleep(1_000)));
    await turn();
    for (const { error } of outcomes) expect(error).to.be.instanceOf(ShutdownError);
    expect(() => join('d')).to.throw(ShutdownError);
    for (const waiter of [asleep, behind, subscribing, attempting]) waiter.leave();
    expect(subscriptions.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });
});
