import {
  TimeUnit,
  type PermitHold,
  type RCountDownLatch,
  type RPermitExpirableSemaphore,
  type RSemaphore,
} from '../../lib';
import { exactly } from './exactly';

// Semaphores and latches. Never run.

const { signal } = new AbortController();
const unit = TimeUnit.SECONDS;

export async function semaphore(one: RSemaphore): Promise<void> {
  exactly<string>()(one.name);
  exactly<string>()(one.getName());
  exactly<void>()(await one.acquire());
  await one.acquire(2, { signal });
  await one.acquire(2, 7);
  exactly<boolean>()(await one.tryAcquire());
  exactly<boolean>()(await one.tryAcquire(2));
  exactly<boolean>()(await one.tryAcquire(2, 5, unit, { signal }));
  exactly<void>()(await one.release());
  await one.release(2);
  exactly<boolean>()(await one.releaseIfExists(2));
  exactly<string>()(await one.withPermits(1, () => 'a'));
  exactly<number>()(await one.withPermits(2, async () => 1, { waitTime: 5, unit, signal }));
  exactly<number>()(await one.availablePermits());
  exactly<number>()(await one.drainPermits());
  exactly<boolean>()(await one.trySetPermits(2));
  exactly<boolean>()(await one.trySetPermits(2, 5, unit));
  exactly<void>()(await one.addPermits(-2));
  exactly<boolean>()(await one.delete());
  // @ts-expect-error a number
  await one.acquire('2');
  // @ts-expect-error a wait time, not its unit
  await one.tryAcquire(2, unit);
}

export async function permits(one: RPermitExpirableSemaphore): Promise<void> {
  exactly<string>()(await one.acquire());
  exactly<string>()(await one.acquire(5, unit, { signal }));
  exactly<string[]>()(await one.acquireMany(2));
  exactly<string[]>()(await one.acquireMany(2, 5, unit, { signal }));
  exactly<string | null>()(await one.tryAcquire());
  exactly<string | null>()(await one.tryAcquire(5, -1, unit, { signal }));
  exactly<string[]>()(await one.tryAcquireMany(2));
  exactly<string[]>()(await one.tryAcquireMany(2, 5, -1, unit, { signal }));
  exactly<PermitHold>()(await one.acquireHold());
  const hold = await one.acquireHold({ permits: 2, waitTime: 5, leaseTime: -1, unit, signal });
  exactly<readonly string[]>()(hold.ids);
  exactly<number>()(hold.permits);
  exactly<AbortSignal>()(hold.signal);
  exactly<boolean>()(hold.isHeld);
  exactly<void>()(await hold.release());
  exactly<void>()(await hold[Symbol.asyncDispose]());
  exactly<string>()(await one.withPermits(1, (held) => held.ids[0]!));
  await one.withPermits(1, () => 1, { waitTime: 5, unit, signal });
  // @ts-expect-error a lease is an option of acquireHold
  await one.withPermits(1, () => 1, { leaseTime: 5 });
  exactly<void>()(await one.release('id'));
  exactly<void>()(await one.releaseMany(['id']));
  exactly<boolean>()(await one.tryRelease('id'));
  exactly<number>()(await one.tryReleaseMany(['id']));
  exactly<number>()(await one.availablePermits());
  exactly<number>()(await one.acquiredPermits());
  exactly<number>()(await one.getPermits());
  exactly<boolean>()(await one.trySetPermits(2));
  exactly<void>()(await one.setPermits(2));
  exactly<void>()(await one.addPermits(2));
  exactly<boolean>()(await one.updateLeaseTime('id', 5, unit));
  exactly<number>()(await one.getLeaseTime('id'));
  exactly<boolean>()(await one.delete());
  // @ts-expect-error ids
  await one.releaseMany('id');
  // @ts-expect-error how many
  await one.acquireMany();
}

export async function latch(one: RCountDownLatch): Promise<void> {
  exactly<boolean>()(await one.await());
  exactly<boolean>()(await one.await(5, unit, { signal }));
  exactly<void>()(await one.countDown());
  exactly<number>()(await one.getCount());
  exactly<boolean>()(await one.trySetCount(2));
  exactly<boolean>()(await one.delete());
  // @ts-expect-error one at a time
  await one.countDown(2);
}
