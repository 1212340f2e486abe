import type { Hold, Ownership } from './Ownership';

/** A renewal may be stuck in a slow or broken connection for its lease and this much longer (ms), and still be run. */
const LATE_MS = 60_000;

/** The leftovers are swept for the first time when there are this many. */
const MIN_LEFTOVERS = 64;

/** Ownerships that Redis may still have although this client gave them up, and until when (monotonic). */
export class Leftovers {
  readonly #until = new Map<string, number>();
  /** When there are this many, those whose time is over are dropped. */
  #sweepAt = MIN_LEFTOVERS;

  /** How many are kept. */
  get size(): number {
    return this.#until.size;
  }

  /** For how long Redis may still have one, in ms; 0: it has none. */
  remainingMs({ key }: Ownership): number {
    return Math.max(0, (this.#until.get(key) ?? 0) - performance.now());
  }

  /** Redis may still have these holds. */
  add({ key }: Ownership, holds: readonly Hold[]): void {
    const now = performance.now();
    const longestMs = Math.max(...holds.map(({ leaseMs, watchdogMs }) => Math.max(leaseMs, watchdogMs)));
    this.#until.set(key, now + longestMs + LATE_MS);
    if (this.#until.size < this.#sweepAt) return;
    // Looks at all, since their leases differ and no order tells which are over. Seldom enough to cost next to nothing.
    for (const [one, until] of this.#until) if (until <= now) this.#until.delete(one);
    this.#sweepAt = Math.max(MIN_LEFTOVERS, 2 * this.#until.size);
  }
}
