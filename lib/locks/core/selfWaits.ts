import type { Ownership } from '../../watchdog/Ownership';
import type { OwnershipTable } from '../../watchdog/OwnershipTable';
import { enclosingScopes, liveScope, type Scope } from '../../thread/threadScope';
import { LongWaits } from '../../waiters/LongWaits';

/** A waiting call in a scope. */
export interface SelfWait {
  readonly name: string;
  readonly rawName: string;
  readonly around: Scope;
  /** For a group lock: the ownership of its own thread, whose holds do not block it. */
  readonly own?: Ownership | undefined;
}

/**
 * Waiting calls in scopes. One is warned of that waits for a lock which its scope, or one around it, may hold itself.
 *
 * @param warn - called once, with the name of the lock
 */
export function selfWaits(ownerships: OwnershipTable, warn: (name: string) => void): LongWaits<SelfWait> {
  return new LongWaits(
    (due, waits) => {
      const held = new Map<string, Ownership[]>();
      for (const ownership of ownerships.all()) {
        if (ownership.holds.length === 0) continue;
        const holds = held.get(ownership.rawName);
        if (holds === undefined) held.set(ownership.rawName, [ownership]);
        else holds.push(ownership);
      }
      const own = due.find((wait) => mayHold(wait, held.get(wait.rawName) ?? []));
      if (own !== undefined) waits.found(own);
    },
    ({ name }) => warn(name),
  );
}

/**
 * Whether one of the holds was acquired in the scope of the call or in one around it, or belongs to one of their
 * threads.
 */
function mayHold({ around, own }: SelfWait, all: readonly Ownership[]): boolean {
  const fields = own && new Set(own.values!.fields);
  const ownerships =
    fields === undefined
      ? all
      : all.filter((one) => one.owner !== own!.owner && one.values?.fields.some((field) => fields.has(field)) === true);
  if (ownerships.length === 0) return false;
  const scopes = new Set<Scope | undefined>(enclosingScopes(around));
  const threads = new Set<number>();
  for (const scope of scopes) threads.add(scope!.thread.id);
  return ownerships.some(
    ({ threadId, holds }) => threads.has(threadId) || holds.some(({ scope }) => scopes.has(liveScope(scope))),
  );
}
