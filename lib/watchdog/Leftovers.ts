import type { Hold, Ownership } from './Ownership';

/** A renewal stuck in a slow or broken connection may still run when its lease plus this time (ms) has passed. */
const LATE_MS = 60_000;

/** The number of leftovers at which expired ones are removed for the first time. */
const MIN_LEFTOVERS = 64;

/** Ownerships that Redis may still have although this client gave them up, each with a monotonic end time. */
export class Leftovers {
  readonly #until = new Map<string, number>();
  /** The number of leftovers at which expired ones are removed next. */
  #sweepAt = MIN_LEFTOVERS;

  /** The number of leftovers kept, including expired ones that have not been removed yet. */
  get size(): number {
    return this.#until.size;
  }

  /** How long Redis may still have a leftover of this ownership, in ms; 0 if it has none. */
  remainingMs({ key }: Ownership): number {
    return Math.max(0, (this.#until.get(key) ?? 0) - performance.now());
  }

  /** Keeps an ownership whose holds Redis may still have. */
  add({ key }: Ownership, holds: readonly Hold[]): void {
    const now = performance.now();
    const longestMs = Math.max(...holds.map(({ leaseMs, watchdogMs }) => Math.max(leaseMs, watchdogMs)));
    this.#until.set(key, now + longestMs + LATE_MS);
    if (this.#until.size < this.#sweepAt) return;
    // Checks every entry, because leases differ and insertion order is not expiry order. This is rare, so it costs
    // little.
    for (const [one, until] of this.#until) if (until <= now) this.#until.delete(one);
    this.#sweepAt = Math.max(MIN_LEFTOVERS, 2 * this.#until.size);
  }
}
