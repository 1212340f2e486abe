import type { PermitRunOptions, Redisson } from '../../lib';

/** What was acquired: a number of permits, or their ids. */
export type Taken = number | readonly string[];

/** One semaphore of either kind, as the contract uses it. */
export interface SemaphoreUnderTest {
  trySetPermits(permits: number): Promise<boolean>;
  acquire(permits?: number, signal?: AbortSignal): Promise<Taken>;
  /** `undefined`: not acquired. */
  tryAcquire(permits?: number, waitMs?: number, signal?: AbortSignal): Promise<Taken | undefined>;
  withPermits<T>(permits: number, fn: () => T | PromiseLike<T>, options?: PermitRunOptions): Promise<T>;
  release(taken: Taken): Promise<void>;
  addPermits(permits: number): Promise<void>;
  availablePermits(): Promise<number>;
  delete(): Promise<boolean>;
}

/** Makes the semaphore of a name. */
export type SemaphoreFactory = (client: Redisson, name: string) => SemaphoreUnderTest;
