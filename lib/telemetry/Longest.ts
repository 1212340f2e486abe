/** A wait or a hold in progress. */
export interface UnderWay<L extends object> {
  /** The series that it belongs to. */
  readonly labels: L;
  /** When it began (monotonic), in ms. */
  readonly since: number;
}

/**
 * The age of the oldest wait or hold of each series. A histogram records a wait only when it ends, so it would not show
 * a hang while it lasts.
 */
export class Longest<L extends object> {
  /** All series read so far. When nothing is in progress, a series reports 0 instead of disappearing. */
  readonly #known = new Map<string, L>();

  /** @param observe - called with the age of the oldest of each series, in s */
  read(underWay: Iterable<UnderWay<L>>, observe: (seconds: number, labels: L) => void): void {
    const now = performance.now();
    const oldest = new Map<string, number>();
    for (const { labels, since } of underWay) {
      const series = JSON.stringify(labels);
      this.#known.set(series, labels);
      oldest.set(series, Math.min(oldest.get(series) ?? now, since));
    }
    for (const [series, labels] of this.#known) observe((now - (oldest.get(series) ?? now)) / 1_000, labels);
  }
}
