import { NO_LEASE } from '../util/duration';
import type { Hold, Ownership } from './Ownership';
import type { OwnershipTable } from './OwnershipTable';

/** The signal of a hold. Made when it is first read: most holds are short, and their signal is not used. */
export function signalOf(hold: Hold): AbortSignal {
  if (hold.signal === undefined) {
    // The hold must not keep its object reachable.
    const controller = new AbortController();
    hold.signal = controller.signal;
    if (hold.lost === undefined) hold.onLost = (cause) => controller.abort(cause);
    else controller.abort(hold.lost);
  }
  return hold.signal;
}

/** What is left of the object of a hold that was dropped. */
interface Abandoned {
  readonly client: { readonly ownerships: OwnershipTable; warnAbandoned(name: string): void };
  readonly ownership: Ownership;
  readonly hold: Hold;
}

/** The object of a hold was dropped without a release: nobody can release it, so it is renewed no longer. */
const abandonment = new FinalizationRegistry<Abandoned>(({ client, ownership, hold }) => {
  if (hold.leaseMs !== NO_LEASE || !ownership.holds.includes(hold)) return;
  client.ownerships.letExpire(ownership, hold);
  client.warnAbandoned(ownership.name);
});

/** Has a hold left to expire, with a warning, when nobody can reach its object any more. */
export function watchForAbandonment<T extends object>(object: T, abandoned: Abandoned): T {
  abandonment.register(object, abandoned);
  return object;
}
