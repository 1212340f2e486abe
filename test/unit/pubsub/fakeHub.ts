import type { SinonFakeTimers } from 'sinon';
import { ChannelHub } from '../../../lib/pubsub/ChannelHub';
import { fakeClock } from '../../support';
import { FakeRedis } from '../../support/fakeRedis';
import { FakeSubscriber } from '../../support/fakes';

/** A hub whose messages and whose time the test makes. */
export interface FakeHub {
  readonly clock: SinonFakeTimers;
  /** What is published here, the hub hears. */
  readonly redis: FakeRedis;
  readonly hub: ChannelHub;
}

/** A hub on a fake Redis and a fake clock, with the time-outs of the default configuration. */
export function openFakeHub(): FakeHub {
  const clock = fakeClock();
  const redis = new FakeRedis();
  const hub = new ChannelHub(new FakeSubscriber(redis), { subscriptionTimeout: 7_500, timeout: 3_000 });
  return { clock, redis, hub };
}
