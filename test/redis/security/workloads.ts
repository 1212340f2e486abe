import { setTimeout as sleep } from 'node:timers/promises';
import { type LockHold, type ObjectKind, type RedissonClient, type RLock, TimeUnit } from '../../../lib';
import { Inspector } from '../../../lib/operators/inspection';

/** Two clients of a user that has the rights of the page and no more, and a look at what others cannot do. */
export interface Stage {
  readonly a: RedissonClient;
  readonly b: RedissonClient;
  readonly url: string;
  /** Waits until somebody listens on a channel, so that what follows has to wake them. */
  untilWaiting(): Promise<void>;
}

/**
 * All that a kind of object is for but renewing: taking, waiting, waking, handing over, aborting, giving back, force.
 */
export type Workload = (stage: Stage) => Promise<void>;

/** Awaited later, or never where something else fails first. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

type LockOf = (client: RedissonClient) => RLock;

function lockWorkload(lockOf: LockOf): Workload {
  return async (stage) => {
    const [mine, theirs] = [lockOf(stage.a), lockOf(stage.b)];
    const first = await mine.acquire();
    // Two in one client: the lock is handed on.
    const waiting = [quiet(theirs.acquire()), quiet(theirs.acquire())];
    await stage.untilWaiting();
    await first.unlock();
    for (const hold of await Promise.all(waiting.map((one) => one.then((hold) => hold.unlock().then(() => hold))))) {
      if (hold.isHeld) throw new Error('still held');
    }
    const again = await mine.acquire({ leaseTime: 10_000 });
    const abort = new AbortController();
    const aborted = theirs.acquire({ signal: abort.signal }).catch(() => undefined);
    await stage.untilWaiting();
    abort.abort();
    await aborted;
    await theirs.tryLock(50, 1_000, TimeUnit.MILLISECONDS);
    const late = quiet(theirs.acquire());
    await stage.untilWaiting();
    await again.unlock();
    await (await late).unlock();
    await stage.a.runInThread(async () => {
      await mine.lock();
      await mine.lock();
      await mine.unlock();
      await mine.unlock();
    });
  };
}

function observed(lockOf: LockOf): Workload {
  return async (stage) => {
    const lock = lockOf(stage.a);
    await stage.a.runInThread(async () => {
      await lock.lock();
      await lock.isLocked();
      await lock.isHeldByCurrentThread();
      await lock.getHoldCount();
      await lock.remainTimeToLive();
      await lock.unlock();
    });
    await lock.acquire();
    await lockOf(stage.b).forceUnlock();
  };
}

function both(lockOf: LockOf): Workload {
  return async (stage) => {
    await lockWorkload(lockOf)(stage);
    await observed(lockOf)(stage);
  };
}

const readWrite: Workload = async (stage) => {
  const [a, b] = [stage.a.getReadWriteLock('app:x'), stage.b.getReadWriteLock('app:x')];
  await lockWorkload((client) => client.getReadWriteLock('app:x').writeLock())(stage);
  await observed((client) => client.getReadWriteLock('app:x').writeLock())(stage);
  await observed((client) => client.getReadWriteLock('app:x').readLock())(stage);
  const readers = [await a.readLock().acquire(), await b.readLock().acquire()];
  const writer = quiet(a.writeLock().acquire());
  await stage.untilWaiting();
  for (const reader of readers) await reader.unlock();
  await (await writer).unlock();
  await stage.a.runInThread(async () => {
    await a.writeLock().lock();
    await a.readLock().lock();
    await a.writeLock().unlock();
    await a.readLock().unlock();
  });
};

function nonReentrant(lockOf: LockOf): Workload {
  return async (stage) => {
    const hold = await lockOf(stage.a).acquire();
    const waiting = quiet(lockOf(stage.b).acquire());
    await stage.untilWaiting();
    await hold.unlock();
    await (await waiting).unlock();
    await observed(lockOf)(stage);
  };
}

const members: Workload = async ({ a }) => {
  for (const lock of [a.getMultiLock(a.getLock('app:x'), a.getLock('app:y')), a.getRedLock(a.getLock('app:z'))]) {
    const hold = await lock.acquire();
    await hold.unlock();
  }
};

/** A hold of each kind that the watchdog renews. */
export const HOLDS: Readonly<
  Record<
    Exclude<ObjectKind, 'semaphore' | 'permit' | 'latch'>,
    (client: RedissonClient, name: string) => Promise<LockHold>
  >
> = {
  lock: (client, name) => client.getLock(name).acquire(),
  fair: (client, name) => client.getFairLock(name).acquire(),
  fenced: (client, name) => client.getFencedLock(name).acquire(),
  spin: (client, name) => client.getSpinLock(name).acquire(),
  nonReentrant: (client, name) => client.getNonReentrantLock(name).acquire(),
  nonReentrantFair: (client, name) => client.getNonReentrantFairLock(name).acquire(),
  read: (client, name) => client.getReadWriteLock(name).readLock().acquire(),
  write: (client, name) => client.getReadWriteLock(name).writeLock().acquire(),
  multi: (client, name) => client.getMultiLock(client.getLock(name), client.getLock(`${name}:2`)).acquire(),
  red: (client, name) => client.getRedLock(client.getLock(name)).acquire(),
  group: (client, name) => client.getMultiLock(name, ['a', 'b']).acquire(),
};

/** What each kind is for. The test runs it with the rights of the kind's block in docs/security.md. */
export const WORKLOADS: Readonly<Record<ObjectKind | 'inspection', Workload>> = {
  lock: both((client) => client.getLock('app:x')),
  fair: both((client) => client.getFairLock('app:x')),
  fenced: async (stage) => {
    await both((client) => client.getFencedLock('app:x'))(stage);
    const lock = stage.a.getFencedLock('app:x');
    await stage.a.runInThread(async () => {
      await lock.lockAndGetToken();
      await lock.getToken();
      await lock.unlock();
    });
  },
  spin: async (stage) => {
    const lock = stage.a.getSpinLock('app:x');
    const hold = await lock.acquire();
    const waiting = quiet(stage.b.getSpinLock('app:x').acquire());
    await sleep(50);
    await hold.unlock();
    await (await waiting).unlock();
    await observed((client) => client.getSpinLock('app:x'))(stage);
  },
  nonReentrant: nonReentrant((client) => client.getNonReentrantLock('app:x')),
  nonReentrantFair: nonReentrant((client) => client.getNonReentrantFairLock('app:x')),
  read: readWrite,
  write: readWrite,
  multi: members,
  red: members,
  group: async (stage) => {
    await lockWorkload((client) => client.getMultiLock('app:x', ['a', 'b']))(stage);
    const lock = stage.a.getMultiLock('app:x', ['a', 'b']);
    await lock.acquire();
    await lock.isLocked();
    await lock.isHeldByThread(1);
    await stage.b.getMultiLock('app:x', ['a', 'b']).forceUnlock();
  },
  semaphore: async (stage) => {
    const [a, b] = [stage.a.getSemaphore('app:x'), stage.b.getSemaphore('app:x')];
    await a.trySetPermits(1);
    await a.addPermits(1);
    await a.acquire(2);
    const waiting = quiet(b.acquire());
    await stage.untilWaiting();
    await a.release(2);
    await waiting;
    await a.tryAcquire(5, 20, TimeUnit.MILLISECONDS);
    await a.availablePermits();
    await a.releaseIfExists();
    await a.drainPermits();
    await a.delete();
    await a.trySetPermits(1, 10, TimeUnit.SECONDS);
    await a.delete();
  },
  permit: async (stage) => {
    const [a, b] = [stage.a, stage.b].map((client) => client.getPermitExpirableSemaphore('app:x')) as [
      ReturnType<RedissonClient['getPermitExpirableSemaphore']>,
      ReturnType<RedissonClient['getPermitExpirableSemaphore']>,
    ];
    await a.trySetPermits(2);
    const ids = await a.acquireMany(2);
    const waiting = quiet(b.acquire(10, TimeUnit.SECONDS));
    await stage.untilWaiting();
    await a.release(ids[0]!);
    const id = await waiting;
    await b.updateLeaseTime(id, 5, TimeUnit.SECONDS);
    await b.getLeaseTime(id);
    await b.tryRelease(id);
    await a.releaseMany([ids[1]!]);
    await a.acquire(1);
    await sleep(20);
    await a.tryAcquire(0, 1_000, TimeUnit.MILLISECONDS);
    await Promise.all([a.availablePermits(), a.acquiredPermits(), a.getPermits()]);
    await a.addPermits(1);
    await a.setPermits(5);
    await a.delete();
  },
  latch: async (stage) => {
    const latch = stage.a.getCountDownLatch('app:x');
    await latch.trySetCount(2);
    const waiting = quiet(stage.b.getCountDownLatch('app:x').await());
    await stage.untilWaiting();
    await latch.countDown();
    await latch.getCount();
    await latch.countDown();
    await waiting;
    await latch.trySetCount(1);
    await latch.delete();
  },
  inspection: async ({ url }) => {
    const inspector = Inspector.open(url);
    try {
      await inspector.list();
      for (const name of ['app:lock', 'app:fair', 'app:fenced', 'app:rw', 'app:permits', 'app:big', 'app:text'])
        await inspector.inspect(name);
    } finally {
      await inspector.close();
    }
  },
};
