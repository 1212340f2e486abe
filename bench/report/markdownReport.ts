import { type ScenarioReport } from '../harness/runScenario';
import { atDistance, disturbances, formatNumber, formatSummary } from './format';
import { type RunReport } from './runReport';

/** The results of a run as Markdown tables, for docs/benchmarks.md: the targets, then every scenario. */
export function markdownReport(report: RunReport): string {
  const { startedAt, plan, machine, distanceMs } = report;
  const head = `${startedAt.slice(0, 10)}, ${plan} run, Node ${machine.node}, Redis ${machine.redis}, ${machine.processors} processors${atDistance(distanceMs)}.`;
  return [head, verdictTable(report), ...report.scenarios.map(scenarioTable)].filter(Boolean).join('\n\n') + '\n';
}

function verdictTable({ targets }: RunReport): string {
  if (targets.length === 0) return '';
  const lines = targets.map(({ target, value, passed }) => [
    target.text,
    `${target.must} ${target.limit}`,
    value === undefined ? '-' : formatNumber(value),
    passed ? 'pass' : '**missed**',
  ]);
  return table(['target', 'must be', 'measured', ''], lines);
}

function scenarioTable({ title, metrics, rows }: ScenarioReport): string {
  const lines = rows.map((row) => [
    row.contestant,
    ...metrics.map((metric) => (row.error === undefined ? formatSummary(row.metrics[metric.id]) : 'failed')),
  ]);
  return [`### ${title}`, table(['', ...metrics.map(({ label }) => label)], lines), ...disturbances(rows)].join('\n\n');
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
