import { type Row } from '../harness/runScenario';
import { type Metric } from '../harness/scenario';
import { type Summary } from '../harness/statistics';

/** A number as the tables print it: three significant digits, and no exponent for the sizes that occur here. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '-';
  if (!Number.isFinite(value)) return 'never';
  if (Number.isInteger(value)) return String(value);
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(digits);
}

/** The median of a metric with its extremes where rounds differ: `0.97 (0.95-0.99)`; a dash when it is missing. */
export function formatSummary(summary: Summary | undefined): string {
  if (summary === undefined) return '-';
  const middle = formatNumber(summary.median);
  if (summary.rounds < 2 || summary.min === summary.max) return middle;
  return `${middle} (${formatNumber(summary.min)}-${formatNumber(summary.max)})`;
}

/** The heading of a metric's column, with its direction. */
export function formatHeading(metric: Metric): string {
  return `${metric.label} ${metric.better === 'higher' ? '(more is better)' : '(less is better)'}`;
}

/** The end of the line that describes a run: nothing where Redis is as near as it is. */
export function atDistance(distanceMs: number): string {
  return distanceMs === 0 ? '' : `, Redis ${formatNumber(distanceMs)} ms away`;
}

/** A sentence for each contestant with rounds in which something else disturbed the machine. */
export function disturbances(rows: readonly Pick<Row, 'contestant' | 'rounds'>[]): string[] {
  return rows.flatMap(({ contestant, rounds }) => {
    const reasons = rounds.flatMap(({ disturbed }) => disturbed ?? []);
    if (reasons.length === 0) return [];
    const counted = reasons.length === rounds.length ? 'they count, since there is no other' : 'left out';
    return [
      `${contestant}: ${reasons.length} of ${rounds.length} rounds disturbed, ${counted} (${reasons.join('; ')}).`,
    ];
  });
}
