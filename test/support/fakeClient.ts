import type { SinonFakeTimers } from 'sinon';

import { resolveConfig } from '../../lib/config/builder/resolveConfig';
import type { Settings } from '../../lib/config/Settings';
import type { Heir, LockKind } from '../../lib/kinds/Kind';
import { clientKind, renewalsOf } from '../../lib/kinds/clientKind';
import { GROUP, groupValues } from '../../lib/kinds/group';
import { LOCK, lockChannel } from '../../lib/kinds/reentrant';
import { Lock } from '../../lib/locks/Lock';
import type { LockContext } from '../../lib/locks/core/LockContext';
import { LockEngine } from '../../lib/locks/core/LockEngine';
import { HandleThread } from '../../lib/thread/threadScope';
import { ObjectListeners } from '../../lib/listeners/ObjectListeners';
import { LongWaits } from '../../lib/waiters/LongWaits';
import { Subscriptions } from '../../lib/waiters/Subscriptions';
import { OwnershipTable, type LockLost } from '../../lib/watchdog/OwnershipTable';
import { Watchdog } from '../../lib/watchdog/Watchdog';
import { Closing } from '../../lib/acquire/Closing';
import { Rollback } from '../../lib/acquire/Rollback';
import { selfWaits } from '../../lib/locks/core/selfWaits';
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
    | 'localHandOver'
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
  readonly ownerships = new OwnershipTable();
  readonly watchdog: Watchdog;
  readonly subscriptions: Subscriptions<Heir>;
  readonly context: LockContext;
  readonly kind: LockKind;
  /** What `onLockLost` was told. */
  readonly lost: LockLost[] = [];
  /** As of `Redisson`. */
  readonly closing = new Closing();
  /** Names of locks that were re-entered through a handle. */
  readonly reentries: string[] = [];
  /** Names of locks that were waited for in a scope that may hold them itself. */
  readonly selfWaits: string[] = [];

  /** @param values - its lock is that of these values of a group. @default the plain lock */
  constructor(redis = new FakeRedis(), settings: FakeSettings = {}, values?: readonly string[]) {
    const full = resolveConfig({ ...settings }, {});
    this.redis = redis;
    this.executor = new FakeExecutor(redis);
    this.subscriber = new FakeSubscriber(redis);
    this.watchdog = new Watchdog(this.ownerships, full.lockWatchdogBatchSize, this.id);
    this.executor.onReply = this.watchdog.catchUp;
    this.subscriptions = new Subscriptions(this.subscriber, full);
    this.ownerships.onLost((event) => this.lost.push(event));
    const renewals = renewalsOf(this.executor, (renewal) => renewal);
    this.context = {
      renewals,
      fairQueues: {
        notified: () => undefined,
        joined: () => undefined,
        unheard: () => undefined,
        left: () => undefined,
      },
      threadStarter: { maxStallMs: 0, use: () => undefined, check: () => undefined },
      clientId: this.id,
      settings: full,
      ownerships: this.ownerships,
      watchdog: this.watchdog,
      rollback: new Rollback(this.executor),
      executor: this.executor,
      subscriptions: this.subscriptions,
      objectListeners: new ObjectListeners({ database: 0, open: () => this.subscriber }, this.executor, full),
      closing: this.closing,
      introspection: undefined,
      selfWaits: selfWaits(this.ownerships, (name) => this.selfWaits.push(name)),
      undoneAttach: new Map(),
      warnReentry: (name) => this.reentries.push(name),
      warnUnheard: () => undefined,
      permitWaits: new LongWaits(
        () => undefined,
        () => undefined,
      ),
      warnKeptPermits: () => undefined,
      warnChangedPermits: () => undefined,
      warnAbandoned: () => undefined,
    };
    this.kind = values === undefined ? clientKind(LOCK, this.context) : this.groupOf(...values);
  }

  /** The kind of lock of some values of a group. */
  groupOf(...values: readonly string[]): LockKind {
    return clientKind(GROUP, this.context, groupValues(values));
  }

  /** A fresh handle. */
  lock(name = NAME, kind = this.kind): Lock {
    return new Lock(new LockEngine(this.context, kind, name), new HandleThread());
  }

  /** The owner's field of a thread. */
  owner(threadId: number): string {
    return this.kind.ownerOf(threadId);
  }

  /** As `Redisson.shutdown`. */
  async shutdown(): Promise<void> {
    this.closing.begin('closed');
    this.subscriptions.close();
    this.ownerships.sectionQueues.wakeAll();
    this.ownerships.close();
    await this.executor.close();
    this.context.rollback.close();
  }
}

/** A hold that must have been taken. */
export function mustHold<T>(taken: T): Exclude<T, Error | undefined> {
  if (taken === undefined || taken instanceof Error) throw taken instanceof Error ? taken : new Error('not taken');
  return taken as Exclude<T, Error | undefined>;
}

/** Follows a promise without waiting for it. */
export class Outcome<T> {
  state: 'pending' | 'resolved' | 'rejected' = 'pending';
  value: T | undefined;
  error: unknown;
  /** When it was settled (monotonic). */
  at: number | undefined;

  constructor(promise: Promise<T>) {
    promise.then(
      (value) => {
        this.at = performance.now();
        this.state = 'resolved';
        this.value = value;
      },
      (error: unknown) => {
        this.at = performance.now();
        this.state = 'rejected';
        this.error = error;
      },
    );
  }
}

/** What is left in the tables of a client and of its clock: for a test's end, when it must all be 0. */
export function leftIn(client: FakeClient, clock: SinonFakeTimers): number[] {
  return [client.ownerships.size, client.subscriptions.size, client.ownerships.sectionQueues.size, clock.countTimers()];
}
