import type { ObjectKind } from '../api';
import { FAIR } from './fair';
import { FENCED } from './fenced';
import { GROUP } from './group';
import type { Kind } from './Kind';
import { NON_REENTRANT, NON_REENTRANT_FAIR } from './nonReentrant';
import { READ, WRITE } from './readWrite';
import { LOCK, MULTI, RED } from './reentrant';
import { SPIN } from './spin';
import { LATCH } from './latch';
import { PERMIT } from './permit';
import { scriptsOf } from './scriptsOf';
import { SEMAPHORE } from './semaphore';

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
export const ALL_KINDS: readonly Kind[] = /* @__PURE__ */ Object.values(KINDS);

export { scriptsOf };

/** The commands that the scripts of some kinds call. */
export function commandsOf(...kinds: readonly Kind[]): readonly string[] {
  const scripts = kinds.flatMap(scriptsOf);
  const called = scripts.flatMap(({ lua }) => [...lua.matchAll(/redis\.p?call\(\s*'([a-z]+)'/g)]);
  return [...new Set(called.map(([, name]) => name!))];
}
