/** What is left of one metric after all rounds. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** How many rounds it was measured in. */
  readonly rounds: number;
}

/** The values in ascending order, as a new array. */
export function ascending(values: readonly number[]): number[] {
  return [...values].sort((left, right) => left - right);
}

/**
 * The value below which a share `share` (0..1) of the values lies, interpolated between neighbours.
 * `NaN` for no values; `RangeError` for a share outside 0..1.
 */
export function percentile(values: readonly number[], share: number): number {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`share must be between 0 and 1, not ${share}`);
  const sorted = ascending(values);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) return NaN;
  // Equal neighbours are returned as they are: Infinity - Infinity would make a NaN of two missed rounds.
  return below === above ? below : below + (above - below) * (position - Math.floor(position));
}

/** The middle value; the mean of the two middle ones for an even number. `NaN` for no values. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Median, extremes and number of the values. */
export function summarize(values: readonly number[]): Summary {
  return {
    median: median(values),
    min: values.length === 0 ? NaN : Math.min(...values),
    max: values.length === 0 ? NaN : Math.max(...values),
    rounds: values.length,
  };
}

/** Summarizes every metric that occurs in the rounds, each over the rounds that have it. */
export function summarizeRounds(rounds: readonly Readonly<Record<string, number>>[]): Record<string, Summary> {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      summarize(rounds.map((round) => round[name]).filter((value) => value !== undefined)),
    ]),
  );
}
