import { newCallToken } from '../connection/CommandExecutor';
import type { Place } from '../pubsub/Place';
import { permitWakeRule } from '../pubsub/wakeRules';
import { PERMIT_WITHOUT_LEASE } from '../scripts/permitData';
import { acquirePermits } from '../scripts/permitExpirableSemaphore';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { NO_LEASE } from '../util/duration';
import type { Attempt } from '../wait/Attempt';
import type { Contest } from '../wait/acquireWithin';
import type { Wakeup } from '../wait/Wakeup';
import { reclaimPermits } from './leftovers';
import type { PermitKeys } from './objectKeys';
import { newPermitIds, permitIdText } from './permitIds';
import type { RedisObject } from './RedisObject';

/**
 * When the lease of a permit ends, as Redis stores it.
 *
 * @param now - epoch ms
 * @param leaseMs - in ms, or {@link NO_LEASE}
 */
export function permitExpiry(now: number, leaseMs: number): string | number {
  const expiry = now + leaseMs;
  return leaseMs === NO_LEASE || expiry >= Number(PERMIT_WITHOUT_LEASE) ? PERMIT_WITHOUT_LEASE : expiry;
}

/**
 * One wait for permits with ids. Every attempt of it asks for the same ids, so one that follows a lost answer finds what
 * the first took, and what nobody waits for any more is released by its ids.
 */
export class PermitAcquisition implements Contest<string[]> {
  readonly mustQueue = false;
  readonly #object: RedisObject<PermitKeys>;
  readonly #leaseMs: number;
  readonly #waits: boolean;
  readonly #token = newCallToken();
  #ids: readonly Buffer[];
  #place: Place<string[]> | undefined;
  /** Whether permits came whose lease was over by then. */
  #cameLate = false;

  /**
   * @param ids - new ones, at least one
   * @param leaseMs - in ms, or {@link NO_LEASE}
   * @param waits - `false`: one attempt
   */
  constructor(object: RedisObject<PermitKeys>, ids: readonly Buffer[], leaseMs: number, waits: boolean) {
    this.#object = object;
    this.#ids = ids;
    this.#leaseMs = leaseMs;
    this.#waits = waits;
  }

  async attempt(): Promise<Attempt<string[]>> {
    const sentAt = performance.now();
    const now = Date.now();
    const args = { expiry: permitExpiry(now, this.#leaseMs), now, publish: PUBLISH_COMMAND } as const;
    const options = { token: this.#token, moreArgs: this.#ids };
    const reply = await this.#object.run(acquirePermits, args, 'acquire permits of', options);
    if (!reply.acquired) return { ok: false, retryInMs: reply.ttl < 0 ? Infinity : Math.max(1, reply.ttl) };
    if (!this.#cameLate && this.#leaseMs > 0 && performance.now() - sentAt >= this.#leaseMs) {
      // The request waited for a connection, and its lease is over. Once only: a lease shorter than a round trip is
      // what the caller asked for.
      this.#cameLate = true;
      this.#ids = newPermitIds(this.#ids.length);
      return { ok: false, retryInMs: 1 };
    }
    this.#place?.acquiredFor(0);
    return { ok: true, value: this.#ids.map(permitIdText) };
  }

  outage(): Error | undefined {
    return this.#object.outage('acquire permits of');
  }

  join(): Wakeup<string[]> | undefined {
    if (!this.#waits) return undefined;
    this.#place = this.#object.join<string[]>(permitWakeRule, this.#ids.length);
    return this.#place;
  }

  giveUp(pending: Promise<Attempt<string[]>> | undefined, doubtful: boolean): void {
    this.#token.cancelled = true;
    pending?.catch(() => undefined);
    if (this.#token.sends === 0 || (pending === undefined && !doubtful)) return;
    reclaimPermits(this.#object, this.#ids, this.#token, this.#leaseMs);
  }
}
