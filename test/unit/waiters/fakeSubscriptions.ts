import type { SinonFakeTimers } from 'sinon';
import { Subscriptions } from '../../../lib/waiters/Subscriptions';
import type { WaitingKind, WaitOrder } from '../../../lib/waiters/Waiter';
import type { WakeRule } from '../../../lib/waiters/wakeRules';
import { fakeClock } from '../../support';
import { FakeRedis } from '../../support/fakeRedis';
import { FakeSubscriber } from '../../support/fakes';

/** Subscriptions whose messages and whose time the test makes. */
export interface FakeSubscriptions {
  readonly clock: SinonFakeTimers;
  /** What is published here, they hear. */
  readonly redis: FakeRedis;
  readonly subscriptions: Subscriptions;
}

/** Subscriptions on a fake Redis and a fake clock, with the time-outs of the default configuration. */
export function openFakeSubscriptions(): FakeSubscriptions {
  const clock = fakeClock();
  const redis = new FakeRedis();
  const subscriptions = new Subscriptions(new FakeSubscriber(redis), { subscriptionTimeout: 7_500, timeout: 3_000 });
  return { clock, redis, subscriptions };
}

/** A kind whose callers wait so. */
export function waiting(wakeRule: WakeRule, waitOrder: WaitOrder = 'shared'): WaitingKind {
  return { name: 'lock', waitOrder, wakeRule };
}
