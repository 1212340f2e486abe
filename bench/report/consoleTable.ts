import Table from 'cli-table3';
import { type ScenarioReport } from '../harness/runScenario';
import { type Verdict } from '../targets';
import { disturbances, formatNumber, formatSummary } from './format';

/** The table of one scenario: a contestant per line, a metric per column, this package first. */
export function scenarioTable(report: ScenarioReport): string {
  const arrows = report.metrics.map((metric) => `${metric.label} ${metric.better === 'higher' ? '^' : 'v'}`);
  const table = new Table({
    head: ['', ...arrows],
    colAligns: ['left', ...report.metrics.map(() => 'right' as const)],
    style: { head: [], border: [], compact: true },
    wordWrap: true,
    colWidths: [20, ...report.metrics.map(() => columnWidth(report.metrics.length))],
  });
  for (const row of report.rows) {
    const cells = report.metrics.map((metric) => formatSummary(row.metrics[metric.id]));
    if (row.error === undefined) table.push([row.contestant, ...cells]);
    else table.push([row.contestant, { content: row.error.split('\n')[0] ?? '', colSpan: report.metrics.length }]);
  }
  return [report.title, table.toString(), ...disturbances(report.rows)].join('\n');
}

function columnWidth(columns: number): number {
  return columns > 4 ? 18 : 24;
}

/** The table of the targets with what was measured. */
export function verdictTable(verdicts: readonly Verdict[]): string {
  const table = new Table({
    head: ['target', 'must be', 'measured', ''],
    colAligns: ['left', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const { target, value, passed } of verdicts) {
    const limit = `${target.must} ${target.limit}`;
    table.push([target.text, limit, value === undefined ? '-' : formatNumber(value), passed ? 'pass' : 'FAIL']);
  }
  return table.toString();
}
