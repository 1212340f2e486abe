import type { ObjectKind, Redisson, RLock } from '../../../lib';
import { EVERY_LOCK, isComposed, makeLock, membersOf } from '../../support/kinds';

/** A lock of each kind, and its name where that is not the given one. */
export interface KindOfLock {
  readonly kind: ObjectKind;
  make(client: Redisson, name: string): RLock;
  /** What a message calls it. */
  nameOf(name: string): string;
}

/** The locks that a lock of several is made of. */
export const partsOf = membersOf;

/** Every kind of lock. */
export const KINDS: readonly KindOfLock[] = EVERY_LOCK.map((kind) => ({
  kind: kind.name,
  make: (client, name) => makeLock(kind, client, name),
  nameOf: (name) => (isComposed(kind) ? membersOf(name).join(', ') : name),
}));
