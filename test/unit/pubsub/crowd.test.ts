// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { ChannelHub } from '../../../lib/pubsub/ChannelHub';
import type { Place } from '../../../lib/pubsub/Place';
import { latchWakeRule, lockWakeRule, semaphoreWakeRule, type WakeRule } from '../../../lib/pubsub/wakeRules';
import { turn } from '../../support';
import { Outcome } from '../../support/fakeClient';
import type { FakeRedis } from '../../support/fakeRedis';
import { openFakeHub } from './fakeHub';

const CHANNEL = 'channel';
const NAME = 'name';

describe('WakeQueue: the crowd', () => {
  let clock: SinonFakeTimers;
  let redis: FakeRedis;
  let hub: ChannelHub;

  beforeEach(() => {
    ({ clock, redis, hub } = openFakeHub());
  });

  /** So many, subscribed and asleep. */
  async function crowd(
    rule: WakeRule,
    length: number,
    ttl = Infinity,
  ): Promise<{ places: Place<string>[]; sleeps: Outcome<unknown>[] }> {
    const places = Array.from({ length }, () => hub.join<string>(CHANNEL, NAME, rule, 'crowd'));
    for (const place of places) await place.listen();
    const sleeps = places.map((place) => new Outcome(place.sleep(ttl)));
    await turn();
    return { places, sleeps };
  }

  function awake(sleeps: Outcome<unknown>[]): boolean[] {
    return sleeps.map(({ state }) => state === 'resolved');
  }

  it('lets everybody attempt', async () => {
    const { places } = await crowd(lockWakeRule, 3);
    expect(places.map(({ isTurn }) => isTurn)).to.deep.equal([true, true, true]);
  });

  it('is woken as a whole by an unlock', async () => {
    const { sleeps } = await crowd(lockWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, true]);
  });

  it('PC-01: tells each of ten waiters of a latch once that it is at zero', async () => {
    const { places, sleeps } = await crowd(latchWakeRule, 10);
    redis.publish(CHANNEL, '0');
    await turn();
    expect(awake(sleeps)).to.deep.equal(Array(10).fill(true));
    expect(places.map(({ banked }) => banked)).to.deep.equal(Array(10).fill(false));
  });

  it('wakes as many waiters of a semaphore as there are permits, the longest waiting first', async () => {
    const { sleeps } = await crowd(semaphoreWakeRule, 4);
    redis.publish(CHANNEL, '2');
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, false, false]);
  });

  it('wakes each at its own time', async () => {
    const places = [100, 200].map((ttl) => ({ ttl, place: hub.join<string>(CHANNEL, NAME, lockWakeRule, 'crowd') }));
    const sleeps = places.map(({ place, ttl }) => new Outcome(place.sleep(ttl)));
    await clock.tickAsync(100);
    expect(awake(sleeps)).to.deep.equal([true, false]);
    await clock.tickAsync(100);
    expect(awake(sleeps)).to.deep.equal([true, true]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('hands a wake-up on when the woken one gives up', async () => {
    const { places, sleeps } = await crowd(semaphoreWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    places[0]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true, false]);
  });

  it('hands a banked wake-up on when the one who has it gives up', async () => {
    const { places, sleeps } = await crowd(semaphoreWakeRule, 2);
    places[0]!.wake();
    places[0]!.wake();
    places[0]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true]);
  });

  it('hands a banked wake-up on when the one who has it acquires: it was meant for the next permit', async () => {
    const { places, sleeps } = await crowd(semaphoreWakeRule, 2);
    places[0]!.wake();
    redis.publish(CHANNEL, '1');
    await turn();
    places[0]!.acquiredFor(1_000);
    places[0]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, true]);
  });

  it('hands nothing on when the woken one acquires, or when a sleeper gives up', async () => {
    const { places, sleeps } = await crowd(semaphoreWakeRule, 3);
    redis.publish(CHANNEL, '1');
    await turn();
    places[0]!.acquiredFor(1_000);
    places[0]!.leave();
    places[1]!.leave();
    await turn();
    expect(awake(sleeps)).to.deep.equal([true, false, false]);
  });

  it('AS-03: a chain of 300 waiters, each waking the next, neither overflows nor strands anybody', async () => {
    const places = Array.from({ length: 300 }, () => hub.join<string>(CHANNEL, NAME, semaphoreWakeRule, 'crowd'));
    for (const place of places) void place.sleep(Infinity).then(() => place.leave());
    places[0]!.wake();
    await turn();
    expect(hub.size).to.equal(0);
  });

  it('AS-01: a wake-up before the sleep and one during it end the sleep alike', async () => {
    const { places, sleeps } = await crowd(lockWakeRule, 1);
    places[0]!.wake();
    await turn();
    places[0]!.wake();
    const second = new Outcome(places[0]!.sleep(Infinity));
    await turn();
    expect([sleeps[0]!.state, second.state]).to.deep.equal(['resolved', 'resolved']);
  });
});
