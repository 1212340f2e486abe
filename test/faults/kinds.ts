import type { Redis } from 'ioredis';
import type { Redisson, RLock } from '../../lib';
import { EVERY_LOCK, isComposed, makeLock, membersOf } from '../support/kinds';

/** A kind of lock, as the tests of all kinds need it. */
export interface FaultyLock {
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

/** Every kind of lock there is. */
export const LOCK_KINDS: readonly FaultyLock[] = EVERY_LOCK.map((kind) => {
  // Of a group one value, so that its counts are those of the lock.
  const of = (client: Redisson, name: string): RLock =>
    kind.data === 'values' ? client.getMultiLock(name, ['a']) : makeLock(kind, client, name);
  return {
    title: kind.noun,
    of,
    rival: kind.name === 'read' ? (client, name) => client.getReadWriteLock(name).writeLock() : of,
    keys: isComposed(kind) ? membersOf : (name) => [name],
    reentrant: kind.reentrant !== false,
    ...('token' in kind.keysOf('', '') && { fenced: true }),
    ...(kind.data === 'values' && { counter: /:lock_count$/ }),
  };
});

/** The hold counts of a lock, of each of its keys: all owners together. */
export function holdCounts(direct: Redis, kind: FaultyLock, name: string): Promise<number[]> {
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
