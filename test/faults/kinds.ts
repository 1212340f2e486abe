import type { Redis } from 'ioredis';
import type { Redisson, RLock } from '../../lib';

/** A kind of lock, as the tests of all kinds need it. */
export interface LockKind {
  readonly title: string;
  /** The lock under test. */
  of(client: Redisson, name: string): RLock;
  /** What excludes it: for another client to hold meanwhile. */
  rival(client: Redisson, name: string): RLock;
  /** The hashes with its hold counts. */
  keys(name: string): string[];
  /** Whether a thread that holds it may take it once more. */
  readonly reentrant: boolean;
  /** Whether its holds carry a token. */
  readonly fenced?: true;
  /** The field of a hash with the hold count of an owner. Default: every field is one. */
  readonly counter?: RegExp;
}

function plain(title: string, of: LockKind['of'], more?: Partial<LockKind>): LockKind {
  return { title, of, rival: of, keys: (name) => [name], reentrant: true, ...more };
}

function members(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${name}:${i}`);
}

/** Every kind of lock there is. */
export const LOCK_KINDS: readonly LockKind[] = [
  plain('lock', (client, name) => client.getLock(name)),
  plain('fair lock', (client, name) => client.getFairLock(name)),
  plain('fenced lock', (client, name) => client.getFencedLock(name), { fenced: true }),
  plain('spin lock', (client, name) => client.getSpinLock(name)),
  plain('non-reentrant lock', (client, name) => client.getNonReentrantLock(name), { reentrant: false }),
  plain('non-reentrant fair lock', (client, name) => client.getNonReentrantFairLock(name), { reentrant: false }),
  plain('read lock', (client, name) => client.getReadWriteLock(name).readLock(), {
    rival: (client, name) => client.getReadWriteLock(name).writeLock(),
  }),
  plain('write lock', (client, name) => client.getReadWriteLock(name).writeLock()),
  plain('group lock', (client, name) => client.getMultiLock(name, ['a']), { counter: /:lock_count$/ }),
  plain('multi-lock', (client, name) => client.getMultiLock(...members(name, 2).map((one) => client.getLock(one))), {
    keys: (name) => members(name, 2),
  }),
  plain('red lock', (client, name) => client.getRedLock(...members(name, 3).map((one) => client.getLock(one))), {
    keys: (name) => members(name, 3),
  }),
];

/** The hold counts of a lock, of each of its keys: all owners together. */
export function holdCounts(direct: Redis, kind: LockKind, name: string): Promise<number[]> {
  return Promise.all(
    kind.keys(name).map(async (key) => {
      const fields = Object.entries(await direct.hgetall(key));
      const counts = fields.filter(([field]) =>
        kind.counter === undefined ? field !== 'mode' : kind.counter.test(field),
      );
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    }),
  );
}
