import type { SinonFakeTimers } from 'sinon';
import { CommandTimeoutError } from '../../lib/errors';
import { resolveConfig } from '../../lib/config/resolveConfig';
import type { Settings } from '../../lib/config/Settings';
import type { LockDriver } from '../../lib/locks/drivers/LockDriver';
import { lockChannel, reentrantDriver } from '../../lib/locks/drivers/reentrant';
import { DistributedLock } from '../../lib/locks/DistributedLock';
import { HandleThread } from '../../lib/locks/HandleThread';
import type { LockContext } from '../../lib/locks/LockContext';
import { LockEngine } from '../../lib/locks/LockEngine';
import { ChannelHub } from '../../lib/pubsub/ChannelHub';
import { hashRenewal } from '../../lib/renewal/hashRenewal';
import { HoldTable, type LockLost } from '../../lib/renewal/HoldTable';
import { RenewalScheduler } from '../../lib/renewal/RenewalScheduler';
import { Rollback } from '../../lib/wait/Rollback';
import { SelfWaits } from '../../lib/locks/SelfWaits';
import { FakeRedis } from './fakeRedis';
import { FakeExecutor, FakeSubscriber } from './fakes';

/** The name of the lock of most tests. */
export const NAME = 'a';
/** Its channel. */
export const CHANNEL = lockChannel(NAME);

/** The settings a unit test may change. */
export type FakeSettings = Partial<
  Pick<
    Settings,
    | 'lockWatchdogTimeout'
    | 'lockWatchdogBatchSize'
    | 'maxRenewTimes'
    | 'maxHandOvers'
    | 'strictThreads'
    | 'subscriptionTimeout'
    | 'timeout'
  >
>;

let clients = 0;

/** A client as `Redisson.ts` composes it, on a fake server instead of connections. */
export class FakeClient {
  readonly id = `client-${(clients += 1)}`;
  readonly redis: FakeRedis;
  readonly executor: FakeExecutor;
  readonly subscriber: FakeSubscriber;
  readonly holds = new HoldTable();
  readonly watchdog: RenewalScheduler;
  readonly hub: ChannelHub;
  readonly context: LockContext;
  readonly driver: LockDriver;
  /** What `onLockLost` was told. */
  readonly lost: LockLost[] = [];
  /** As of `Redisson`. */
  readonly closing = new AbortController();
  /** Names of locks that were re-entered through a handle. */
  readonly reentries: string[] = [];
  /** Names of locks that were waited for in a scope that may hold them itself. */
  readonly selfWaits: string[] = [];

  constructor(redis = new FakeRedis(), settings: FakeSettings = {}) {
    const full = resolveConfig({ ...settings }, {});
    this.redis = redis;
    this.executor = new FakeExecutor(redis);
    this.subscriber = new FakeSubscriber(redis);
    this.watchdog = new RenewalScheduler(this.holds, full.lockWatchdogBatchSize);
    this.executor.onReply = () => this.watchdog.catchUp();
    this.hub = new ChannelHub(this.subscriber, full);
    this.holds.onLost((event) => this.lost.push(event));
    this.context = {
      clientId: this.id,
      settings: full,
      holds: this.holds,
      watchdog: this.watchdog,
      rollback: new Rollback(),
      hub: this.hub,
      closing: this.closing.signal,
      selfWaits: new SelfWaits(this.holds, (name) => this.selfWaits.push(name)),
      warnReentry: (name) => this.reentries.push(name),
      warnUnheard: () => undefined,
    };
    this.driver = reentrantDriver(this.executor, this.id, hashRenewal(this.executor));
  }

  /** A fresh handle. */
  lock(name = NAME, driver = this.driver): DistributedLock {
    return new DistributedLock(new LockEngine(this.context, driver, name), new HandleThread());
  }

  /** The owner's field of a thread. */
  owner(threadId: number): string {
    return this.driver.ownerOf(threadId);
  }

  /** As `Redisson.shutdown`. */
  async shutdown(): Promise<void> {
    this.closing.abort();
    this.hub.close();
    this.holds.turns.close();
    this.holds.clear();
    await this.executor.close();
    this.context.rollback.close();
  }
}

/** A hold that must have been taken. */
export function mustHold<H extends object>(taken: H | CommandTimeoutError | undefined): H {
  if (taken === undefined || taken instanceof CommandTimeoutError) throw taken ?? new Error('not taken');
  return taken;
}

/** Follows a promise without waiting for it. */
export class Outcome<T> {
  state: 'pending' | 'resolved' | 'rejected' = 'pending';
  value: T | undefined;
  error: unknown;

  constructor(promise: Promise<T>) {
    promise.then(
      (value) => {
        this.state = 'resolved';
        this.value = value;
      },
      (error: unknown) => {
        this.state = 'rejected';
        this.error = error;
      },
    );
  }
}

/** What is left in the tables of a client and of its clock: for a test's end, when it must all be 0. */
export function leftIn(client: FakeClient, clock: SinonFakeTimers): number[] {
  return [client.holds.size, client.hub.size, client.holds.turns.size, clock.countTimers()];
}
