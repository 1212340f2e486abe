import type { Redisson } from '../../../lib';
import type { SemaphoreUnderTest } from '../../contracts/SemaphoreUnderTest';

/** The plain semaphore, for the contract. */
export function plainSemaphore(client: Redisson, name: string): SemaphoreUnderTest {
  const semaphore = client.getSemaphore(name);
  return {
    trySetPermits: (permits) => semaphore.trySetPermits(permits),
    acquire: async (permits = 1, signal) => {
      await semaphore.acquire(permits, { signal });
      return permits;
    },
    tryAcquire: async (permits = 1, waitMs, signal) => {
      const taken =
        waitMs === undefined
          ? semaphore.tryAcquire(permits)
          : semaphore.tryAcquire(permits, waitMs, undefined, { signal });
      return (await taken) ? permits : undefined;
    },
    withPermits: (permits, fn, options) => semaphore.withPermits(permits, fn, options),
    release: (taken) => semaphore.release(taken as number),
    addPermits: (permits) => semaphore.addPermits(permits),
    availablePermits: () => semaphore.availablePermits(),
    delete: () => semaphore.delete(),
  };
}

/** The semaphore with leased permits, for the contract. */
export function leasedSemaphore(client: Redisson, name: string): SemaphoreUnderTest {
  const semaphore = client.getPermitExpirableSemaphore(name);
  return {
    trySetPermits: (permits) => semaphore.trySetPermits(permits),
    acquire: (permits = 1, signal) => semaphore.acquireMany(permits, undefined, undefined, { signal }),
    tryAcquire: async (permits = 1, waitMs, signal) => {
      const ids = await semaphore.tryAcquireMany(permits, waitMs, undefined, undefined, { signal });
      return permits !== 0 && ids.length === 0 ? undefined : ids;
    },
    withPermits: (permits, fn, options) => semaphore.withPermits(permits, fn, options),
    release: (taken) => semaphore.releaseMany(taken as string[]),
    addPermits: (permits) => semaphore.addPermits(permits),
    availablePermits: () => semaphore.availablePermits(),
    delete: () => semaphore.delete(),
  };
}
