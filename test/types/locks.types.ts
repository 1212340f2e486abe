import {
  TimeUnit,
  type AcquireOptions,
  type LockHold,
  type LockOptions,
  type RFencedLock,
  type RLock,
  type RObject,
  type ThreadOptions,
} from '../../lib';
import { exactly } from './exactly';

// Locks, holds and threads. Never run.

export async function locking(lock: RLock, signal: AbortSignal): Promise<void> {
  exactly<string>()(lock.name);
  exactly<string>()(lock.getName());
  for (const method of ['lock', 'lockInterruptibly'] as const) {
    exactly<Promise<void>>()(lock[method]());
    void lock[method](1_000);
    void lock[method](10, TimeUnit.SECONDS);
    void lock[method](-1, undefined, 5);
    void lock[method](undefined, undefined, { threadId: 5 });
    void lock[method](-1, TimeUnit.DAYS, { threadId: 5, signal });
  }
  exactly<Promise<void>>()(lock.unlock());
  void lock.unlock(5);
  void lock.unlock({ threadId: 5 });
  exactly<Promise<boolean>>()(lock.forceUnlock());
  exactly<Promise<boolean>>()(lock.isLocked());
  exactly<Promise<boolean>>()(lock.isHeldByCurrentThread());
  exactly<Promise<boolean>>()(lock.isHeldByThread(5));
  exactly<Promise<number>>()(lock.getHoldCount());
  exactly<Promise<number>>()(lock.remainTimeToLive());
  // @ts-expect-error a unit is a TimeUnit
  void lock.lock(10, 'SECONDS');
  // @ts-expect-error times are numbers
  void lock.lock('10s');
  // @ts-expect-error no such option
  void lock.lock(-1, undefined, { thread: 5 });
  // @ts-expect-error a thread is needed
  void lock.isHeldByThread();
  // @ts-expect-error names do not change
  lock.name = 'b';
  const object: RObject = lock;
  void object;
}

export async function trying(lock: RLock, signal: AbortSignal): Promise<void> {
  exactly<Promise<boolean>>()(lock.tryLock());
  exactly<Promise<boolean>>()(lock.tryLock({ threadId: 5 }));
  exactly<Promise<boolean>>()(lock.tryLock({ signal }));
  exactly<Promise<boolean>>()(lock.tryLock(500));
  exactly<Promise<boolean>>()(lock.tryLock(5, TimeUnit.SECONDS));
  exactly<Promise<boolean>>()(lock.tryLock(500, 1_000));
  exactly<Promise<boolean>>()(lock.tryLock(500, -1));
  exactly<Promise<boolean>>()(lock.tryLock(5, 10, TimeUnit.SECONDS));
  exactly<Promise<boolean>>()(lock.tryLock(5, undefined, TimeUnit.SECONDS));
  exactly<Promise<boolean>>()(lock.tryLock(500, -1, undefined, 5));
  exactly<Promise<boolean>>()(lock.tryLock(500, -1, undefined, { threadId: 5, signal }));
  exactly<Promise<number | null>>()(lock.tryAcquire());
  exactly<Promise<number | null>>()(lock.tryAcquire(10, TimeUnit.SECONDS));
  exactly<Promise<number | null>>()(lock.tryAcquire(-1, undefined, { threadId: 5 }));
  // @ts-expect-error the unit comes before the options
  void lock.tryLock(500, { threadId: 5 });
  // @ts-expect-error the lease comes before the unit, when there are options
  void lock.tryLock(5, TimeUnit.SECONDS, undefined, 5);
  // @ts-expect-error may be null
  exactly<Promise<number>>()(lock.tryAcquire());
}

export async function holding(lock: RLock, signal: AbortSignal, options: AcquireOptions): Promise<void> {
  exactly<Promise<LockHold>>()(lock.acquire());
  exactly<Promise<LockHold | null>>()(lock.tryAcquireHold());
  void lock.acquire(options);
  void lock.acquire({ waitTime: 1, leaseTime: 2, unit: TimeUnit.SECONDS, threadId: 3, signal, maxRenewTimes: 4 });
  void lock.tryAcquireHold({ waitTime: 100 });
  exactly<Promise<number>>()(lock.withLock(() => 1));
  exactly<Promise<string>>()(lock.withLock(async () => 'a', { waitTime: 100 }));
  exactly<Promise<void>>()(lock.withLock(async () => undefined as void));
  exactly<Promise<boolean>>()(lock.withLock((hold) => hold.isHeld));
  await using hold = await lock.acquire();
  exactly<string>()(hold.name);
  exactly<number>()(hold.threadId);
  exactly<AbortSignal>()(hold.signal);
  exactly<bigint | undefined>()(hold.token);
  exactly<boolean>()(hold.isHeld);
  exactly<Promise<void>>()(hold.extend(5, TimeUnit.SECONDS));
  exactly<Promise<string>>()(hold.detach());
  exactly<Promise<string>>()(hold.detach({ leaseTime: 5, unit: TimeUnit.SECONDS }));
  exactly<Promise<void>>()(hold.unlock());
  exactly<Promise<void>>()(hold[Symbol.asyncDispose]());
  // @ts-expect-error it may be null
  await (await lock.tryAcquireHold()).unlock();
  // @ts-expect-error the token is read
  hold.token = 1n;
  // @ts-expect-error no such option
  void lock.acquire({ wait: 5 });
  // @ts-expect-error there must be something to do
  void lock.withLock();
  // `undefined` is as good as left out, also under exactOptionalPropertyTypes.
  void lock.acquire({
    waitTime: undefined,
    leaseTime: undefined,
    unit: undefined,
    threadId: undefined,
    signal: undefined,
  });
}

export async function fencing(lock: RFencedLock): Promise<void> {
  exactly<Promise<bigint>>()(lock.lockAndGetToken());
  exactly<Promise<bigint>>()(lock.lockAndGetToken(10, TimeUnit.SECONDS, 5));
  exactly<Promise<bigint | null>>()(lock.tryLockAndGetToken());
  exactly<Promise<bigint | null>>()(lock.tryLockAndGetToken({ threadId: 5 }));
  exactly<Promise<bigint | null>>()(lock.tryLockAndGetToken(5, TimeUnit.SECONDS));
  exactly<Promise<bigint | null>>()(lock.tryLockAndGetToken(5, 10, TimeUnit.SECONDS, { threadId: 5 }));
  exactly<Promise<bigint>>()(lock.getToken());
  const asLock: RLock = lock;
  void asLock;
}

export function options(): (LockOptions | ThreadOptions)[] {
  const thread: LockOptions = 5;
  const both: ThreadOptions = { threadId: 5, signal: AbortSignal.timeout(10) };
  return [thread, both, {}];
}
