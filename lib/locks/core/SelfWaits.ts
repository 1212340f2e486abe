import type { Ownership } from '../../watchdog/Ownership';
import type { OwnershipTable } from '../../watchdog/OwnershipTable';
import { enclosingScopes, liveScope, type Scope } from '../../thread/threadScope';
import { Alarm } from '../../util/Alarm';

/** A call in a scope that has waited this long (ms) is checked: the scope itself may hold the lock. */
const SUSPICIOUS_MS = 5_000;
/** Waits are checked together, at most once in this time (ms). */
const PAUSE_MS = 100;

/** A waiting call in a scope. */
export interface SelfWait {
  readonly name: string;
  readonly rawName: string;
  readonly around: Scope;
  /** For a group lock: the ownership of its own thread, whose holds do not block it. */
  readonly own: Ownership | undefined;
  /** Monotonic time of its next check. */
  dueAt: number;
}

/**
 * Warns, once per client, of a call that has waited 5 s in a scope for a lock that the scope, or one around it, may
 * hold itself. Such a call may wait for ever, and nothing else would report it.
 *
 * One unref'd timer serves all waits, and only while calls wait.
 */
export class SelfWaits {
  readonly #ownerships: OwnershipTable;
  readonly #warn: (name: string) => void;
  readonly #waits = new Set<SelfWait>();
  readonly #alarm = new Alarm(() => this.#check());
  #warned = false;

  /** @param warn - called once, with the name of the lock */
  constructor(ownerships: OwnershipTable, warn: (name: string) => void) {
    this.#ownerships = ownerships;
    this.#warn = warn;
  }

  /**
   * A call in the scope `around` begins to wait; {@link end} must follow.
   * @param since - monotonic time at which it began to wait. @default now
   * @param own - for a group lock: the ownership of its own thread
   */
  begin(
    name: string,
    rawName: string,
    around: Scope,
    since = performance.now(),
    own?: Ownership,
  ): SelfWait | undefined {
    if (this.#warned) return undefined;
    const wait = { name, rawName, around, own, dueAt: since + SUSPICIOUS_MS };
    this.#waits.add(wait);
    this.#alarm.setBy(wait.dueAt);
    return wait;
  }

  /** Ends the wait of a call. */
  end(wait: SelfWait): void {
    if (this.#waits.delete(wait) && this.#waits.size === 0) this.#alarm.off();
  }

  #check(): void {
    const now = performance.now();
    const due = [...this.#waits].filter(({ dueAt }) => dueAt <= now);
    if (due.length > 0) {
      const held = new Map<string, Ownership[]>();
      for (const ownership of this.#ownerships.all()) {
        if (ownership.holds.length === 0) continue;
        const holds = held.get(ownership.rawName);
        if (holds === undefined) held.set(ownership.rawName, [ownership]);
        else holds.push(ownership);
      }
      const own = due.find((wait) => mayHold(wait, held.get(wait.rawName) ?? []));
      if (own !== undefined) {
        this.#warned = true;
        this.#waits.clear();
        return this.#warn(own.name);
      }
      for (const wait of due) wait.dueAt = now + SUSPICIOUS_MS;
    }
    let next = Infinity;
    for (const { dueAt } of this.#waits) if (dueAt < next) next = dueAt;
    this.#alarm.set(Math.max(next, now + PAUSE_MS));
  }
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
