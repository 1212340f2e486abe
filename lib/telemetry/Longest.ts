/** Something that is under way: a wait or a hold. */
export interface UnderWay<L extends object> {
  /** The series that it belongs to. */
  readonly labels: L;
  /** When it began, monotonic, in ms. */
  readonly since: number;
}

/**
 * How long the oldest of each series has been under way. A histogram sees a wait only when it is over: a hang would not
 * show for as long as it lasts.
 */
export class Longest<L extends object> {
  /** Series that have been read: they go on with 0 when nothing is under way any more, instead of ending. */
  readonly #known = new Map<string, L>();

  /** @param observe - told the age of the oldest of each series, in s */
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
