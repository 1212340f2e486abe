import { expect } from 'chai';
import * as sinon from 'sinon';
import type { Subscriptions } from '../../../lib/waiters/Subscriptions';
import { Waiter, type WaitOrder } from '../../../lib/waiters/Waiter';
import { lockWakeRule, semaphoreWakeRule } from '../../../lib/waiters/wakeRules';
import { turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import type { FakeRedis } from '../../support/fakeRedis';
import { openFakeSubscriptions, waiting } from './fakeSubscriptions';

const CHANNEL = 'channel';
const NAME = 'name';
const WAITERS = 1_000;

describe('an outage', () => {
  let redis: FakeRedis;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    ({ redis, subscriptions } = openFakeSubscriptions());
  });

  /** So many that sleep. */
  async function sleepers(order: WaitOrder, length: number): Promise<Waiter<unknown>[]> {
    const kind = waiting(order === 'shared' ? semaphoreWakeRule : lockWakeRule, order);
    const waiters = Array.from({ length }, () => subscriptions.join<unknown>(kind, CHANNEL, NAME));
    for (const waiter of waiters) await waiter.listen();
    for (const waiter of waiters) void waiter.sleep(Infinity);
    await turn();
    return waiters;
  }

  for (const order of ['shared', 'fifo'] as const) {
    it(`is told once per queue, however many of its ${order} waiters find out`, async () => {
      const waiters = await sleepers(order, WAITERS);
      const woken = sinon.spy(Waiter.prototype, 'wake');
      for (const waiter of waiters) {
        waiter.connectionLost();
        waiter.leave();
      }
      // Once by the outage, and once where a head leaves.
      expect(woken.callCount).to.be.within(WAITERS, 2 * WAITERS);
    });

    it(`is told anew to ${order} waiters that sleep again`, async () => {
      const [first, second] = await sleepers(order, 2);
      first!.connectionLost();
      const sleep = new Outcome(second!.sleep(Infinity));
      await turn();
      expect(sleep.state).to.equal('pending');
      first!.connectionLost();
      await turn();
      expect(sleep.state).to.equal('resolved');
    });
  }

  it('wakes who is about to sleep, where somebody sleeps', async () => {
    const [first, second] = await sleepers('shared', 2);
    second!.wake();
    first!.connectionLost();
    const sleep = new Outcome(second!.sleep(Infinity));
    await turn();
    expect(sleep.state).to.equal('resolved');
  });

  it('does not take a message from those who are left', async () => {
    const [first, second, third] = await sleepers('shared', 3);
    redis.publish(CHANNEL, '1');
    await turn();
    // The first has the permit's message, and gives up.
    const sleeps = [second!, third!].map((waiter) => {
      waiter.wake('everyone');
      return new Outcome(waiter.sleep(Infinity));
    });
    first!.leave();
    await turn();
    expect(sleeps.map(({ state }) => state)).to.deep.equal(['resolved', 'pending']);
  });
});
