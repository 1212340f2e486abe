import type { Redisson, RLock } from '../index';

/** The kinds of lock that `run` takes. */
export const LOCK_KINDS = ['lock', 'fair', 'fenced', 'read', 'write', 'spin'] as const;

/** One of {@link LOCK_KINDS}. */
export type LockKind = (typeof LOCK_KINDS)[number];

/** The lock of a kind and name. */
export function lockOfKind(client: Redisson, kind: LockKind, name: string): RLock {
  switch (kind) {
    case 'lock':
      return client.getLock(name);
    case 'fair':
      return client.getFairLock(name);
    case 'fenced':
      return client.getFencedLock(name);
    case 'read':
      return client.getReadWriteLock(name).readLock();
    case 'write':
      return client.getReadWriteLock(name).writeLock();
    case 'spin':
      return client.getSpinLock(name);
  }
}
