import type { Redisson, RLock } from '../../lib';
import { tokenKey } from '../../lib/locks/kinds/fenced';
import { latchSuite } from '../contracts/latchContract';
import { type LockKind, lockContract } from '../contracts/lockContract';
import { semaphoreSuite } from '../contracts/semaphoreContract';
import { inMemory } from '../contracts/world';
import { leasedSemaphore, plainSemaphore } from '../redis/synchronizers/underTest';

const ORDINARY = { reentrant: true, pubsub: true } as const;

function members(name: string): string[] {
  return [name, `${name}:1`, `${name}:2`];
}

function locks(client: Redisson, name: string): RLock[] {
  return members(name).map((member) => client.getLock(member));
}

const KINDS: Readonly<Record<string, LockKind>> = {
  'a plain lock': { make: (client, name) => client.getLock(name), traits: ORDINARY },
  'a fair lock': { make: (client, name) => client.getFairLock(name), traits: { ...ORDINARY, fair: true } },
  'a fenced lock': {
    make: (client, name) => client.getFencedLock(name),
    traits: { ...ORDINARY, fenced: true },
    persistentKeys: (name) => [tokenKey(name)],
  },
  'a spin lock': { make: (client, name) => client.getSpinLock(name), traits: { reentrant: true, pubsub: false } },
  'a non-reentrant lock': {
    make: (client, name) => client.getNonReentrantLock(name),
    traits: { reentrant: false, pubsub: true },
  },
  'a non-reentrant fair lock': {
    make: (client, name) => client.getNonReentrantFairLock(name),
    traits: { reentrant: false, pubsub: true, fair: true },
  },
  'a read lock': {
    make: (client, name) => client.getReadWriteLock(name).readLock(),
    blocker: (client, name) => client.getReadWriteLock(name).writeLock(),
    contender(client, name, i) {
      const both = client.getReadWriteLock(name);
      return i % 3 === 0 ? { lock: both.writeLock(), exclusive: true } : { lock: both.readLock(), exclusive: false };
    },
    traits: { ...ORDINARY, shared: true },
  },
  'a write lock': { make: (client, name) => client.getReadWriteLock(name).writeLock(), traits: ORDINARY },
  'a multi-lock': {
    make: (client, name) => client.getMultiLock(...locks(client, name)),
    traits: { ...ORDINARY, single: false },
    keys: members,
  },
  'a red lock': {
    make: (client, name) => client.getRedLock(...locks(client, name)),
    traits: { ...ORDINARY, single: false },
    keys: members,
  },
  'the lock of a group': {
    make: (client, name) => client.getMultiLock(name, ['test1', 'test2']),
    traits: { ...ORDINARY, counted: false },
  },
};

// The suites that every kind keeps on a server, with the clients of createTestRedisson.
inMemory(() => {
  for (const [name, kind] of Object.entries(KINDS)) lockContract(name, kind);
  describe('a semaphore', () => semaphoreSuite(plainSemaphore));
  describe('a latch', () => latchSuite());
  describe('a semaphore of leased permits', () => semaphoreSuite(leasedSemaphore));
});
