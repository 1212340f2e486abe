// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { Subscriptions } from '../../../lib/waiters/Subscriptions';
import type { Waiter } from '../../../lib/waiters/Waiter';
import { latchWakeRule, lockWakeRule, semaphoreWakeRule, type WakeRule } from '../../../lib/waiters/wakeRules';
import { turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import type { FakeRedis } from '../../support/fakeRedis';
import { openFakeSubscriptions, waiting } from './fakeSubscriptions';

const CHANNEL = 'channel';
const NAME = 'name';

describe('WaitQueue: shared', () => {
  let clock: SinonFakeTimers;
  let redis: FakeRedis;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    ({ clock, redis, subscriptions } = openFakeSubscriptions());
  });

  /** So many, subscribed and asleep. */
  async function contenders(
    rule: WakeRule,
    length: number,
    ttl = Infinity,
  ): Promise<{ waiters: Waiter<string>[]; sleeps: Outcome<unknown>[] }> {
    const waiters = Array.from({ length }, () => subscriptions.join<string>(waiting(rule), CHANNEL, NAME));
    for (const waiter of waiters) await waiter.listen();
    const sleeps = waiters.map((waiter) => new Outcome(waiter.sleep(ttl)));
    await turn();
    return { waiters, sleeps };
  }

  function awake(sleeps: Outcome<unknown>[]): boolean[] {
    return sleeps.map(({ state }) => state === 'resolved');
  }

  it('lets everybody attempt', async () => {
    const { waiters } = await contenders(lockWakeRule, 3);
    expect(waiters.map(({ isTurn }) => isTurn)).to.deep.equal([true, true, true]);
  });

  it('is woken as a whole by an unlock', async () => {
    const { sleeps } = await contenders(lockWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, true]);
  });

  it('PC-01: tells each of ten waiters of a latch once that it is at zero', async () => {
    const { waiters, sleeps } = await contenders(latchWakeRule, 10);
    redis.publish(CHANNEL, '0');
    await turn();
    expect(awake(sleeps)).to.deep.equal(Array(10).fill(true));
    expect(waiters.map(({ kept }) => kept)).to.deep.equal(Array(10).fill(undefined));
  });

  it('wakes as many waiters of a semaphore as there are permits, the longest waiting first', async () => {
    const { sleeps } = await contenders(semaphoreWakeRule, 4);
    redis.publish(CHANNEL, '2');
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, false, false]);
  });

  it('a writer that readers of its process have passed goes before them the next time', async () => {
    const order: string[] = [];
    const writer = subscriptions.join<string>(waiting(lockWakeRule, 'fifo'), CHANNEL, NAME);
    const reader = subscriptions.join<string>(waiting(lockWakeRule), CHANNEL, NAME);
    for (const waiter of [writer, reader]) await waiter.listen();
    for (let message = 0; message < 3; message++) {
      const sleeps = [writer, reader].map((waiter) => waiter.sleep(Infinity).then(() => order.push(waiter.order)));
      redis.publish(CHANNEL, '1');
      await Promise.all(sleeps);
    }
    expect(order).to.deep.equal(['shared', 'fifo', 'fifo', 'shared', 'shared', 'fifo']);
  });

  it('wakes each at its own time', async () => {
    const waiters = [100, 200].map((ttl) => ({
      ttl,
      waiter: subscriptions.join<string>(waiting(lockWakeRule), CHANNEL, NAME),
    }));
    const sleeps = waiters.map(({ waiter, ttl }) => new Outcome(waiter.sleep(ttl)));
    await clock.tickAsync(100);
    expect(awake(sleeps)).to.deep.equal([true, false]);
    await clock.tickAsync(100);
    expect(awake(sleeps)).to.deep.equal([true, true]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('hands a wake-up on when the woken one gives up', async () => {
    const { waiters, sleeps } = await contenders(semaphoreWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    waiters[0]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, false]);
  });

  it('hands a kept wake-up on when the one who has it gives up', async () => {
    const { waiters, sleeps } = await contenders(semaphoreWakeRule, 2);
    waiters[0]!.wake();
    waiters[0]!.wake();
    waiters[0]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true]);
  });

  it('hands a kept wake-up on when the one who has it acquires: it was meant for the next permit', async () => {
    const { waiters, sleeps } = await contenders(semaphoreWakeRule, 2);
    waiters[0]!.wake();
    redis.publish(CHANNEL, '1');
    await turn();
    waiters[0]!.leave(1_000);
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true]);
  });

  it('hands nothing on when the woken one acquires, or when a sleeper gives up', async () => {
    const { waiters, sleeps } = await contenders(semaphoreWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    waiters[0]!.leave(1_000);
    waiters[1]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, false, false]);
  });

  it('AS-03: a chain of 300 waiters, each waking the next, neither overflows nor strands anybody', async () => {
    const waiters = Array.from({ length: 300 }, () =>
      subscriptions.join<string>(waiting(semaphoreWakeRule), CHANNEL, NAME),
    );
    for (const waiter of waiters) void waiter.sleep(Infinity).then(() => waiter.leave());
    waiters[0]!.wake();
    await turn();
    expect(subscriptions.size).to.equal(0);
  });

  it('AS-01: a wake-up before the sleep and one during it end the sleep alike', async () => {
    const { waiters, sleeps } = await contenders(lockWakeRule, 1);
    waiters[0]!.wake();
    await turn();
    waiters[0]!.wake();
    const second = new Outcome(waiters[0]!.sleep(Infinity));
    await turn();
    expect([sleeps[0]!.state, second.state]).to.deep.equal(['resolved', 'resolved']);
  });
});
