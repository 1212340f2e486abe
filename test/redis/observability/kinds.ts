import type { ObjectKind, Redisson, RLock } from '../../../lib';

/** A lock of each kind, and its name where that is not the given one. */
export interface KindOfLock {
  readonly kind: ObjectKind;
  make(client: Redisson, name: string): RLock;
  /** What a message calls it. */
  nameOf(name: string): string;
}

const one = (kind: ObjectKind, make: (client: Redisson, name: string) => RLock): KindOfLock => ({
  kind,
  make,
  nameOf: (name) => name,
});

const several = (kind: ObjectKind, make: (client: Redisson, names: readonly string[]) => RLock): KindOfLock => ({
  kind,
  make: (client, name) => make(client, partsOf(name)),
  nameOf: (name) => partsOf(name).join(', '),
});

/** The locks that a lock of several is made of. */
export function partsOf(name: string): string[] {
  return ['a', 'b', 'c'].map((part) => `${name}:${part}`);
}

/** Every kind of lock. */
export const KINDS: readonly KindOfLock[] = [
  one('lock', (client, name) => client.getLock(name)),
  one('fair', (client, name) => client.getFairLock(name)),
  one('fenced', (client, name) => client.getFencedLock(name)),
  one('spin', (client, name) => client.getSpinLock(name)),
  one('read', (client, name) => client.getReadWriteLock(name).readLock()),
  one('write', (client, name) => client.getReadWriteLock(name).writeLock()),
  one('nonReentrant', (client, name) => client.getNonReentrantLock(name)),
  one('nonReentrantFair', (client, name) => client.getNonReentrantFairLock(name)),
  several('multi', (client, names) => client.getMultiLock(...names.map((name) => client.getLock(name)))),
  several('red', (client, names) => client.getRedLock(...names.map((name) => client.getLock(name)))),
];
