import { Cluster, Redis } from 'ioredis';
import {
  Config,
  ConstantBackOff,
  ExponentialBackOff,
  Redisson,
  type LockHold,
  type LockLostError,
  type LockLostEvent,
  type RCountDownLatch,
  type RedissonClient,
  type RedissonOptions,
  type RFencedLock,
  type RLock,
  type RPermitExpirableSemaphore,
  type RReadWriteLock,
  type RSemaphore,
  type Settings,
} from '../../lib';
import { exactly } from './exactly';

// The client and its configuration. Never run: what matters is that the compiler takes it, or refuses it.

export async function creating(options: RedissonOptions): Promise<void> {
  exactly<Redisson>()(Redisson.create());
  Redisson.create('redis://127.0.0.1:6379');
  Redisson.create(new Config());
  Redisson.create(options);
  Redisson.create({ client: new Redis({ lazyConnect: true }) });
  Redisson.create({ client: new Cluster([]) });
  Redisson.create({ url: 'rediss://h', lockWatchdogTimeout: 30_000, lockWatchdogBatchSize: 100, maxRenewTimes: 0 });
  Redisson.create({ strictThreads: true, shardedSubscriptionMode: 'AUTO', checkLockSyncedSlaves: false });
  Redisson.create({ nameMapper: { map: (name) => `p:${name}`, unmap: (name) => name.slice(2) } });
  // @ts-expect-error an unknown setting
  Redisson.create({ lockWatchdogTimeuot: 1 });
  // @ts-expect-error no setting of that type
  Redisson.create({ lockWatchdogTimeout: '30s' });
  // @ts-expect-error no configuration
  Redisson.create(6379);
  // @ts-expect-error made by create() only
  new Redisson({});
}

export async function using(): Promise<void> {
  await using client = Redisson.create();
  exactly<string>()(client.getId());
  exactly<Settings>()(client.getConfig());
  exactly<number>()(client.getConfig().lockWatchdogTimeout);
  exactly<number | undefined>()(client.currentThreadId());
  exactly<LockHold | undefined>()(client.currentHold());
  exactly<Promise<LockHold>>()(client.attach('ticket'));
  exactly<Promise<LockHold>>()(client.attach('ticket', { leaseTime: 5 }));
  // @ts-expect-error a ticket is text
  void client.attach(5);
  exactly<LockHold | undefined>()(client.currentHold('a'));
  exactly<Promise<number>>()(client.runInThread(() => 1));
  exactly<Promise<string>>()(client.runInThread(async () => 'a'));
  const stop = client.onLockLost((event) => {
    exactly<LockLostEvent>()(event);
    exactly<string>()(event.name);
    exactly<number>()(event.threadId);
    exactly<LockLostError>()(event.cause);
  });
  exactly<() => void>()(stop);
  exactly<Promise<void>>()(client.shutdown());
  exactly<Promise<void>>()(client[Symbol.asyncDispose]());
  const asInterface: RedissonClient = client;
  void asInterface;
  // @ts-expect-error the settings are frozen
  client.getConfig().lockWatchdogTimeout = 1;
}

export function objects(client: Redisson): void {
  exactly<RLock>()(client.getLock('a'));
  exactly<RLock>()(client.getFairLock('a'));
  exactly<RFencedLock>()(client.getFencedLock('a'));
  exactly<RLock>()(client.getSpinLock('a'));
  exactly<RLock>()(client.getSpinLock('a', new ExponentialBackOff()));
  exactly<RLock>()(client.getSpinLock('a', new ConstantBackOff()));
  exactly<RLock>()(client.getSpinLock('a', { create: () => ({ getNextSleepPeriod: () => 5 }) }));
  exactly<RLock>()(client.getNonReentrantLock('a'));
  exactly<RLock>()(client.getNonReentrantFairLock('a'));
  exactly<RReadWriteLock>()(client.getReadWriteLock('a'));
  exactly<RLock>()(client.getReadWriteLock('a').readLock());
  exactly<RLock>()(client.getReadWriteLock('a').writeLock());
  exactly<RLock>()(client.getMultiLock(client.getLock('a'), client.getFairLock('b')));
  exactly<RLock>()(client.getRedLock(client.getLock('a'), client.getLock('b'), client.getLock('c')));
  exactly<RSemaphore>()(client.getSemaphore('a'));
  exactly<RPermitExpirableSemaphore>()(client.getPermitExpirableSemaphore('a'));
  exactly<RCountDownLatch>()(client.getCountDownLatch('a'));
  // @ts-expect-error a name is a string
  client.getLock(5);
  // @ts-expect-error a name is needed
  client.getLock();
  // @ts-expect-error locks, not names
  client.getMultiLock('a', 'b');
}
