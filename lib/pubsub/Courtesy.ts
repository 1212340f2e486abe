import { GIVE_WAY_MS } from './Rotation';

/** What a fresh acquisition lets pass. */
interface Debt {
  /** When to stop (monotonic). */
  readonly until: number;
  /** How many were told. */
  readonly told: number;
}

/**
 * Names that this client has just freed while others were told. Who asks for one of them at once would be there before they
 * can, each time: a process with a single caller that loops has no waiter, so no {@link Rotation} makes it give way. After such
 * an unlock a fresh acquisition therefore listens first, until as many messages as others were told say that each had its turn
 * (after the first alone, two would pass the lock to and fro, and a third would never get it), or {@link GIVE_WAY_MS} have
 * passed. Nothing is kept of a name nobody else waits for.
 */
export class Courtesy {
  /** By raw name, the earliest to stop first. */
  readonly #debts = new Map<string, Debt>();

  /** So many others were told that it is free. */
  toldOthers(rawName: string, told: number): void {
    const now = performance.now();
    for (const [one, { until }] of this.#debts) {
      if (until > now) break;
      this.#debts.delete(one);
    }
    this.#debts.delete(rawName);
    this.#debts.set(rawName, { until: now + GIVE_WAY_MS, told });
  }

  /** Nobody else was told. */
  forget(rawName: string): void {
    if (this.#debts.size > 0) this.#debts.delete(rawName);
  }

  /** Somebody gives way from now on. @returns how many others to; 0 = nobody */
  take(rawName: string): number {
    if (this.waitMs(rawName) === 0) return 0;
    const { told } = this.#debts.get(rawName)!;
    this.#debts.delete(rawName);
    return told;
  }

  /** How long a fresh acquisition shall wait, in ms; 0 = not at all. */
  waitMs(rawName: string): number {
    if (this.#debts.size === 0) return 0;
    const until = this.#debts.get(rawName)?.until;
    return until === undefined ? 0 : Math.max(0, Math.ceil(until - performance.now()));
  }
}
