// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { Subscriptions } from '../../../lib/waiters/Subscriptions';
import type { Waiter } from '../../../lib/waiters/Waiter';
import type { WaitQueue } from '../../../lib/waiters/WaitQueue';
import { lockWakeRule } from '../../../lib/waiters/wakeRules';
import { turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import type { FakeRedis } from '../../support/fakeRedis';
import { openFakeSubscriptions, waiting } from './fakeSubscriptions';

const CHANNEL = 'channel';
const NAME = 'name';

describe('WaitQueue: FIFO', () => {
  let clock: SinonFakeTimers;
  let redis: FakeRedis;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    ({ clock, redis, subscriptions } = openFakeSubscriptions());
  });

  function join(): Waiter<string> {
    return subscriptions.join(waiting(lockWakeRule, 'fifo'), CHANNEL, NAME);
  }

  function queue(): WaitQueue {
    return subscriptions.queue(CHANNEL, NAME)!;
  }

  /** A subscribed queue of so many, all asleep; the head's sleep is bounded by `ttl`. */
  async function line(length: number, ttl: number): Promise<{ waiters: Waiter<string>[]; sleeps: Outcome<unknown>[] }> {
    const waiters = Array.from({ length }, join);
    await waiters[0]!.listen();
    const sleeps = waiters.map((waiter, i) => new Outcome(waiter.sleep(i === 0 ? ttl : Infinity)));
    await turn();
    return { waiters, sleeps };
  }

  function states(sleeps: Outcome<unknown>[]): string[] {
    return sleeps.map(({ state }) => state);
  }

  it('lets only its head attempt', () => {
    const waiters = [join(), join(), join()];
    expect(waiters.map(({ isTurn }) => isTurn)).to.deep.equal([true, false, false]);
    for (const waiter of waiters) waiter.leave();
    expect(subscriptions.size).to.equal(0);
  });

  it('wakes its head by a message, and nobody else', async () => {
    const { sleeps } = await line(3, 10_000);
    redis.publish(CHANNEL, '0');
    await turn();
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending', 'pending']);
  });

  it('wakes nobody by a message it does not know', async () => {
    const { sleeps } = await line(2, 10_000);
    redis.publish(CHANNEL, 'hello');
    await turn();
    expect(states(sleeps)).to.deep.equal(['pending', 'pending']);
  });

  it('wakes its head when the ttl has passed, not before, and nobody else', async () => {
    const { sleeps } = await line(3, 500);
    await clock.tickAsync(499);
    expect(states(sleeps)).to.deep.equal(['pending', 'pending', 'pending']);
    await clock.tickAsync(1);
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending', 'pending']);
    expect(clock.countTimers()).to.equal(0);
  });

  it('needs one timer, however many wait, and none where there is no expiry', async () => {
    const { waiters } = await line(100, 10_000);
    expect(clock.countTimers()).to.equal(1);
    for (const waiter of waiters) waiter.leave();
    await line(100, Infinity);
    expect(clock.countTimers()).to.equal(0);
  });

  it('leaves a timer that fires early alone, and sleeps on', async () => {
    const { waiters, sleeps } = await line(1, 100);
    waiters[0]!.wake();
    const again = new Outcome(waiters[0]!.sleep(1_000));
    await clock.tickAsync(999);
    expect([...states(sleeps), again.state]).to.deep.equal(['resolved', 'pending']);
    await clock.tickAsync(1);
    expect(again.state).to.equal('resolved');
  });

  it('sleeps longer than a timer can', async () => {
    const month = 30 * 24 * 3_600_000;
    const { sleeps } = await line(1, month);
    await clock.tickAsync(month - 1);
    expect(states(sleeps)).to.deep.equal(['pending']);
    await clock.tickAsync(1);
    expect(states(sleeps)).to.deep.equal(['resolved']);
  });

  it('banks a wake-up that comes while the head is awake, once', async () => {
    const { waiters } = await line(1, 10_000);
    const head = waiters[0]!;
    head.wake();
    expect([head.wake(), head.wake()], 'news').to.deep.equal([true, false]);
    expect(new Outcome(head.sleep(1_000))).to.be.an('object');
    const kept = new Outcome(head.sleep(1_000));
    await turn();
    expect(kept.state).to.equal('pending');
  });

  it('leaves the successor asleep when the head acquires, to look again when that lease is over', async () => {
    const { waiters, sleeps } = await line(3, 10_000);
    waiters[0]!.wake();
    waiters[0]!.leave(2_000);
    await clock.tickAsync(1_999);
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending', 'pending']);
    await clock.tickAsync(1);
    expect(states(sleeps)).to.deep.equal(['resolved', 'resolved', 'pending']);
  });

  it('hands the wake-up on when the head was woken and gives up', async () => {
    const { waiters, sleeps } = await line(3, 10_000);
    redis.publish(CHANNEL, '0');
    await turn();
    waiters[0]!.leave();
    await turn();
    expect(states(sleeps)).to.deep.equal(['resolved', 'resolved', 'pending']);
  });

  it('gives the successor the bound of a head that gave up in its sleep', async () => {
    const { waiters, sleeps } = await line(3, 1_000);
    await clock.tickAsync(400);
    waiters[0]!.leave();
    await clock.tickAsync(599);
    expect(states(sleeps)).to.deep.equal(['pending', 'pending', 'pending']);
    await clock.tickAsync(1);
    expect(states(sleeps)).to.deep.equal(['pending', 'resolved', 'pending']);
  });

  it('wakes the successor of a head that left before anybody was subscribed', async () => {
    const [head, next] = [join(), join()];
    const sleep = new Outcome(next.sleep(Infinity));
    head.leave(1_000);
    await turn();
    expect(sleep.state).to.equal('resolved');
  });

  it('lets one who is not at its head leave without a trace', async () => {
    const { waiters, sleeps } = await line(3, 1_000);
    waiters[1]!.leave();
    expect(queue().size).to.equal(2);
    await clock.tickAsync(1_000);
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending', 'pending']);
    waiters[0]!.leave();
    await turn();
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending', 'resolved']);
  });

  it('gives a sleeper an attempt that its predecessor makes for it', async () => {
    const { waiters, sleeps } = await line(2, 1_000);
    const attempt = Promise.resolve({ ok: true, value: 'handed' } as const);
    waiters[0]!.wakeWith(attempt);
    await turn();
    expect(sleeps[0]!.value).to.deep.equal({ attempt });
    expect(waiters[0]!.asleep).to.equal(false);
  });

  it('hands on a wake-up that came while the head was acquiring, 5 ms later unless the lock is handed on', async () => {
    const { waiters, sleeps } = await line(2, 10_000);
    redis.publish(CHANNEL, '0');
    await turn();
    // During its attempt: mostly the message of the unlock that let it in.
    redis.publish(CHANNEL, '0');
    await turn();
    waiters[0]!.leave(30_000);
    await clock.tickAsync(4);
    expect(states(sleeps)).to.deep.equal(['resolved', 'pending']);
    // In case it was a later one, of a forced unlock.
    await clock.tickAsync(1);
    expect(states(sleeps)).to.deep.equal(['resolved', 'resolved']);
    waiters[1]!.leave();
    expect(clock.countTimers()).to.equal(0);
  });

  it('AS-07: keeps nothing of 10 000 waiters that gave up', async () => {
    const { waiters } = await line(10_000, 60_000);
    for (const waiter of waiters.slice(5_000)) waiter.leave();
    expect(queue().size).to.equal(5_000);
    for (const waiter of waiters.slice(0, 5_000)) waiter.leave();
    expect(subscriptions.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('leaves no timer of its turns when the last waiter leaves during an unlock', async () => {
    const { waiters } = await line(1, 60_000);
    const left = queue();
    left.turns.releasing();
    waiters[0]!.leave();
    left.turns.released(4);
    expect(clock.countTimers()).to.equal(0);
  });
});
