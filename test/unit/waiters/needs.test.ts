import { expect } from 'chai';
import { Subscriptions } from '../../../lib/waiters/Subscriptions';
import type { Waiter } from '../../../lib/waiters/Waiter';
import { latchWakeRule, permitWakeRule, semaphoreWakeRule, type WakeRule } from '../../../lib/waiters/wakeRules';
import { fakeClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeRedis } from '../../support/fakeRedis';
import { FakeSubscriber } from '../../support/fakes';
import { waiting } from './fakeSubscriptions';

const CHANNEL = 'channel';
const NAME = 'name';

describe('WaitQueue: waiters that need several permits', () => {
  let redis: FakeRedis;
  let subscriptions: Subscriptions;

  beforeEach(() => {
    fakeClock();
    redis = new FakeRedis();
    subscriptions = new Subscriptions(new FakeSubscriber(redis), { subscriptionTimeout: 7_500, timeout: 3_000 });
  });

  /** One waiter per need, subscribed and asleep. */
  async function contenders(rule: WakeRule, needs: readonly number[]): Promise<Sleeper[]> {
    const waiters = needs.map((need) => subscriptions.join<string>(waiting(rule), CHANNEL, NAME, undefined, need));
    for (const waiter of waiters) await waiter.listen();
    const sleepers = waiters.map((waiter) => new Sleeper(waiter));
    await turn();
    return sleepers;
  }

  async function publish(message: string): Promise<void> {
    redis.publish(CHANNEL, message);
    await turn();
  }

  it('are woken when there is enough for them, and leave what is there to those who need less', async () => {
    const sleepers = await contenders(semaphoreWakeRule, [5, 2, 3, 1, 1]);
    await publish('4');
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([false, true, false, true, true]);
    await publish('5');
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([true, true, false, true, true]);
  });

  it('are woken one by one where the message may be less than what is there', async () => {
    const sleepers = await contenders(permitWakeRule, [5, 3, 1]);
    await publish('1');
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([true, false, false]);
  });

  it('wake those who need less when they try in vain, and nobody by going to sleep unwoken', async () => {
    const sleepers = await contenders(permitWakeRule, [3, 4, 2, 1]);
    await publish('1');
    sleepers[0]!.sleepAgain();
    await turn();
    // At most two permits are there: enough for the third, and then for nobody.
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([false, false, true, false]);
    sleepers[2]!.sleepAgain();
    await turn();
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([false, false, false, true]);
    sleepers[3]!.sleepAgain();
    await turn();
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([false, false, false, false]);
  });

  it('hand their wake-up on to the longest waiting, whatever it needs, when they give up', async () => {
    const sleepers = await contenders(semaphoreWakeRule, [2, 5, 1]);
    await publish('3');
    expect(sleepers.map(({ awake }) => awake)).to.deep.equal([true, false, true]);
    sleepers[0]!.waiter.leave();
    await turn();
    expect(sleepers.slice(1).map(({ awake }) => awake)).to.deep.equal([true, true]);
  });

  it('are not woken by what is no number of permits', async () => {
    for (const rule of [semaphoreWakeRule, permitWakeRule]) {
      for (const message of ['0', '-3', '', 'x', '1.5', '9007199254740993']) expect(rule(message)).to.equal('none');
    }
    expect([latchWakeRule('0'), latchWakeRule('1'), latchWakeRule('2')]).to.deep.equal(['all', 'all', 'none']);
  });
});

/** A waiter that sleeps, and may be sent to sleep again. */
class Sleeper {
  readonly waiter: Waiter<string>;
  #sleep: Outcome<unknown>;

  constructor(waiter: Waiter<string>) {
    this.waiter = waiter;
    this.#sleep = new Outcome(waiter.sleep(Infinity));
  }

  get awake(): boolean {
    return this.#sleep.state === 'resolved';
  }

  /** Its attempt was in vain. */
  sleepAgain(): void {
    this.#sleep = new Outcome(this.waiter.sleep(Infinity));
  }
}
