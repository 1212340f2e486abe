import { type Hold, Ownership, ownershipKey, type Renewable, type Renewal } from '../../../lib/watchdog/Ownership';
import { OwnershipTable, type LockLost } from '../../../lib/watchdog/OwnershipTable';
import { Watchdog } from '../../../lib/watchdog/Watchdog';
import { turn } from '../../support';

/** One renewal command. */
export interface Batch {
  readonly names: readonly string[];
  readonly leaseMs: number;
  readonly at: number;
}

/** A watchdog, its table and a kind of lock that answers what the test says. */
export class FakeOwnerships {
  readonly table = new OwnershipTable();
  readonly watchdog: Watchdog;
  readonly batches: Batch[] = [];
  readonly lost: LockLost[] = [];
  /** What a renewal comes to. Default: every lock is still held. */
  answer: (batch: readonly Renewable[]) => Promise<boolean[]> = async (batch) => batch.map(() => true);
  /** The slot of an ownership. */
  slot: (ownership: Renewable) => number = () => 0;
  readonly kind: Renewal = {
    renew: (owned, leaseMs) => {
      this.batches.push({ names: owned.map(({ rawName }) => rawName), leaseMs, at: performance.now() });
      return this.answer(owned);
    },
    batchOf: (ownership) => this.slot(ownership),
  };

  constructor(batchSize = 100) {
    this.watchdog = new Watchdog(this.table, batchSize, 'client');
    this.table.onLost((event) => this.lost.push(event));
  }

  /** A thread takes a lock, once more where it has it. Without `leaseMs` the watchdog keeps it. */
  take(
    name: string,
    how: { leaseMs?: number; watchdogMs?: number; maxRenewals?: number; maxStallMs?: number; thread?: number } = {},
  ): Hold {
    const { leaseMs = -1, watchdogMs = 30_000, maxRenewals = 0, maxStallMs = 0, thread = 1 } = how;
    const now = performance.now();
    const end = now + (leaseMs === -1 ? watchdogMs : leaseMs);
    const leaseEnd = leaseMs === -1 ? Infinity : end;
    const hold: Hold = {
      since: now,
      callSite: undefined,
      leaseMs,
      leaseEnd,
      watchdogMs,
      maxRenewals,
      renewals: 0,
      maxStallMs,
      released: false,
    };
    this.table.add(this.ownership(name, thread), hold, end);
    return hold;
  }

  /** The ownership of a thread, made where there is none. */
  ownership(name: string, thread = 1): Ownership {
    const owner = `client:${thread}`;
    const key = ownershipKey(name, owner);
    const identity = { kind: 'lock', key, name, rawName: name, threadId: thread, owner, renewal: this.kind } as const;
    return this.table.get(key) ?? this.table.open(new Ownership(identity));
  }

  /** The thread gives a hold back, or the last one. */
  giveBack(name: string, hold?: Hold, thread = 1): void {
    const ownership = this.ownership(name, thread);
    const given = hold ?? ownership.holds.at(-1);
    if (given !== undefined && this.table.release(ownership, given)) this.table.update(ownership);
  }

  /** Its holds turn out to be gone. */
  lose(name: string): void {
    this.table.lose([{ ownership: this.ownership(name), why: 'gone' }]);
  }

  /** When renewal commands were sent. */
  get times(): number[] {
    return this.batches.map(({ at }) => at);
  }

  /** Why holds were lost. */
  get reasons(): string[] {
    return this.lost.map(({ cause }) => cause.message);
  }
}

/** Lets the answers of renewals arrive. */
export const settled = turn;
