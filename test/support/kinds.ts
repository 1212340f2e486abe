import type { Redisson, RedissonClient, RLock } from '../../lib';
import { ALL_KINDS } from '../../lib/kinds/allKinds';
import type { Kind } from '../../lib/kinds/Kind';
import type { LockUnderTest } from '../contracts/lockContract';
import { allowLeftovers } from './leaks';

type Make = (client: RedissonClient, name: string) => RLock;

/** Members of a lock of several; the first one has the name itself, so that a name that is none is found out. */
export function membersOf(name: string): string[] {
  return [name, `${name}:1`, `${name}:2`];
}

const locksOf = (client: RedissonClient, name: string): RLock[] => membersOf(name).map((one) => client.getLock(one));

/** How to make what needs more than a name. */
const MADE: Partial<Record<Kind['name'], Make>> = {
  group: (client, name) => client.getMultiLock(name, ['test1', 'test2']),
  multi: (client, name) => client.getMultiLock(...locksOf(client, name)),
  red: (client, name) => client.getRedLock(...locksOf(client, name)),
};

/** Every kind of lock. Tests of all kinds are made of it: a new descriptor is in all of them. */
export const EVERY_LOCK: readonly Kind[] = ALL_KINDS.filter(({ data }) => data !== 'number');

/** The keys, by their names in scripts, that outlive their lock. */
const OUTLIVE = ['token'];

/** The keys of an object that are there after its last release. */
export function persistentKeysOf(kind: Kind, name: string): string[] {
  return Object.entries(kind.keysOf(name, ''))
    .filter(([role]) => OUTLIVE.includes(role))
    .map(([, key]) => key);
}

/** The test may leave them behind. */
export function allowPersistentKeys(kind: Kind, name: string): void {
  const stay = persistentKeysOf(kind, name).map((key) => key.replaceAll(/[^\w:-]/g, '.'));
  if (stay.length > 0) allowLeftovers({ keys: new RegExp(stay.join('|')) });
}

/** Whether it is made of other locks. */
export function isComposed(kind: Kind): boolean {
  return Object.keys(kind.keysOf('', '')).length === 0;
}

/** A lock of a kind. */
export function makeLock(kind: Kind, client: RedissonClient, name: string): RLock {
  const make = kind.lockOf ?? MADE[kind.name];
  if (make === undefined) {
    throw new Error(`give the descriptor of '${kind.name}' a lockOf, or say in test/support/kinds.ts how to make one`);
  }
  return make(client, name);
}

/** The traits of a kind, for `lockContract`. */
export function underTest(name: Kind['name']): LockUnderTest {
  const kind = EVERY_LOCK.find((one) => one.name === name)!;
  const keys = kind.keysOf('', '');
  const make = (client: Redisson, of: string): RLock => makeLock(kind, client, of);
  const base = {
    make,
    traits: {
      reentrant: kind.reentrant !== false,
      pubsub: isComposed(kind) || kind.channelOf !== undefined,
      fair: 'queue' in keys,
      fenced: 'token' in keys,
      detachable: kind.move !== undefined,
      shared: name === 'read',
      single: !isComposed(kind),
      counted: !isComposed(kind) && kind.data !== 'values',
    },
    ...(isComposed(kind) ? { keys: membersOf } : {}),
    ...(persistentKeysOf(kind, '').length > 0 ? { persistentKeys: (of: string) => persistentKeysOf(kind, of) } : {}),
  };
  if (name !== 'read') return base;
  return {
    ...base,
    blocker: (client, of) => client.getReadWriteLock(of).writeLock(),
    contender: (client, of, i) => {
      const both = client.getReadWriteLock(of);
      return i % 3 === 0 ? { lock: both.writeLock(), exclusive: true } : { lock: both.readLock(), exclusive: false };
    },
  };
}
