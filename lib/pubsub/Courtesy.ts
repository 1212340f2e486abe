import { GIVE_WAY_MS } from './Rotation';

/**
 * Names that this client has just freed while others were told. Who asks for one of them at once would be there before they
 * can, each time: a process with a single caller that loops has no waiter, so no {@link Rotation} makes it give way. After such
 * an unlock a fresh acquisition therefore listens first, until a message says that another had its turn, or
 * {@link GIVE_WAY_MS} have passed. Nothing is kept of a name nobody else waits for.
 */
export class Courtesy {
  /** Raw name -> when to stop (monotonic), the earliest first. */
  readonly #until = new Map<string, number>();

  /** Others were told that it is free. */
  toldOthers(rawName: string): void {
    const now = performance.now();
    for (const [one, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(one);
    }
    this.#until.delete(rawName);
    this.#until.set(rawName, now + GIVE_WAY_MS);
  }

  /** Nobody else was told, or somebody has given way. */
  forget(rawName: string): void {
    if (this.#until.size > 0) this.#until.delete(rawName);
  }

  /** How long a fresh acquisition shall wait, in ms; 0 = not at all. */
  waitMs(rawName: string): number {
    if (this.#until.size === 0) return 0;
    const until = this.#until.get(rawName);
    return until === undefined ? 0 : Math.max(0, Math.ceil(until - performance.now()));
  }
}
