import type { Redisson, RLock } from '../../lib';
import { LOCK_KINDS } from './kinds';

/** Something the contenders compete for. */
export interface Prize {
  readonly name: string;
  /** The name of the other prize with the same channel. */
  readonly twin: string;
  readonly shared: boolean;
  readonly reentrant: boolean;
  /** @param name - @default the prize's own */
  of(client: Redisson, name?: string): RLock;
}

/**
 * Two prizes of every kind of lock, whose names differ by nothing but braces: they share a channel. Both halves of a
 * read/write lock are one.
 * @param prefix - of the names
 */
export function prizes(prefix: string): Prize[] {
  return LOCK_KINDS.flatMap((kind) => {
    const shared = kind.title === 'read lock';
    const bare = `${prefix}:${shared || kind.title === 'write lock' ? 'rw' : kind.title.replaceAll(' ', '-')}`;
    // The names of a multi-lock are those of its members, which no brace is left open in.
    return [bare, `{${bare}}`].map((name) => ({
      name,
      twin: name === bare ? `{${bare}}` : bare,
      shared,
      reentrant: kind.reentrant,
      of: (client, other = name) => kind.of(client, other),
    }));
  });
}

/** A fair lock that other processes compete for as well; they leave no marks. @param prefix - of the name */
export function fleetPrize(prefix: string): Prize {
  const name = `${prefix}:fleet`;
  return { name, twin: name, shared: false, reentrant: true, of: (client, other = name) => client.getFairLock(other) };
}
