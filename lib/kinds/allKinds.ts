import type { ObjectKind } from '../api';
import { FAIR } from '../locks/kinds/fair';
import { FENCED } from '../locks/kinds/fenced';
import { GROUP } from '../locks/kinds/group';
import type { Kind } from '../locks/kinds/Kind';
import { NON_REENTRANT, NON_REENTRANT_FAIR } from '../locks/kinds/nonReentrant';
import { READ } from '../locks/kinds/read';
import { LOCK, MULTI, RED } from '../locks/kinds/reentrant';
import { SPIN } from '../locks/kinds/spin';
import { WRITE } from '../locks/kinds/write';
import { LATCH } from '../synchronizers/latchScripts';
import { PERMIT } from '../synchronizers/permitScripts';
import { SEMAPHORE } from '../synchronizers/semaphoreScripts';

/**
 * Every kind of object by its name. A kind that is missing here does not compile once `ObjectKind` has its name, and a
 * test names a descriptor that is not here. The order is that of lists for people.
 */
export const KINDS = {
  lock: LOCK,
  fair: FAIR,
  fenced: FENCED,
  spin: SPIN,
  nonReentrant: NON_REENTRANT,
  nonReentrantFair: NON_REENTRANT_FAIR,
  read: READ,
  write: WRITE,
  group: GROUP,
  multi: MULTI,
  red: RED,
  semaphore: SEMAPHORE,
  permit: PERMIT,
  latch: LATCH,
} as const satisfies { readonly [Name in ObjectKind]: Kind & { readonly name: Name } };

/** The same as a list. */
export const ALL_KINDS: readonly Kind[] = Object.values(KINDS);
