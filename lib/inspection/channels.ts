import { prefixName } from '../util/names';

/** The channels of the objects of a key (protocol.md, 15.1). */
export const channelOf = {
  lock: (key: string): string => prefixName('redisson_lock__channel', key),
  /** Each waiter of a fair lock has one. */
  fairWaiter: (key: string, owner: string): string => `${prefixName('redisson_lock__channel', key)}:${owner}`,
  readWrite: (key: string): string => prefixName('redisson_rwlock', key),
  semaphore: (key: string): string => prefixName('redisson_sc', key),
  latch: (key: string): string => `redisson_countdownlatch__channel__{${key}}`,
};
