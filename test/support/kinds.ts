import type { Redisson, RedissonClient, RLock } from '../../lib';
import { ALL_KINDS } from '../../lib/kinds/allKinds';
import type { Kind } from '../../lib/kinds/Kind';
import type { LockUnderTest } from '../contracts/lockContract';

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
    ...('token' in keys ? { persistentKeys: (of: string) => [kind.keysOf(of, '')['token']!] } : {}),
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
