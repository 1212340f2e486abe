import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Row, type ScenarioReport } from '../harness/runScenario';
import { type Metric } from '../harness/scenario';
import { type Verdict } from '../targets';
import { atDistance, disturbances, formatHeading, formatNumber, formatSummary } from './format';
import { pageScript, pageStyle } from './pageParts';
import { type RunReport } from './runReport';

/** What the charts of the page are drawn from. */
export interface ChartData {
  readonly scenario: string;
  readonly id: string;
  readonly label: string;
  readonly names: readonly string[];
  readonly kinds: readonly string[];
  readonly medians: readonly number[];
  readonly spreads: readonly (readonly [number, number])[];
  readonly target: number | null;
}

/** The page of a run: one file with everything in it, readable without a network and, as tables, without scripts. */
export function htmlReport(report: RunReport): string {
  const chartLibrary = readChartLibrary();
  const charts = chartLibrary === undefined ? [] : report.scenarios.flatMap((each) => chartsOf(each, report.targets));
  const scripts =
    chartLibrary === undefined
      ? ''
      : `<script>${inScript(chartLibrary)}</script>
<script id="charts" type="application/json">${inScript(JSON.stringify(charts))}</script>
<script>${pageScript}</script>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ioredisson benchmark</title><style>${pageStyle}</style></head><body><main>
<h1>ioredisson benchmark</h1>
<p class="meta">${escapeHtml(metaLine(report))}</p>
<p>Every ratio compares a contestant with a reference measured right next to it, round by round in the same run;
shown is the median over the rounds (smallest&ndash;largest). Bars: median; whisker: the rounds; dashed line: what ioredisson has to reach.</p>
${verdictSection(report.targets)}
${report.scenarios.map((each) => scenarioSection(each, charts)).join('\n')}
<h2>Contestants</h2><dl>${Object.entries(report.contestants)
    .map(([id, about]) => `<dt>${escapeHtml(id)}</dt><dd>${escapeHtml(about)}</dd>`)
    .join('')}</dl>
</main>${scripts}</body></html>
`;
}

function metaLine({ startedAt, plan, machine, distanceMs }: RunReport): string {
  const { node, redis, processors, platform } = machine;
  return `${startedAt} · ${plan} run · Node ${node} · Redis ${redis} · ${processors} processors · ${platform}${atDistance(distanceMs)}`;
}

export function readChartLibrary(): string | undefined {
  const file = path.resolve(__dirname, '..', 'node_modules', 'chart.js', 'dist', 'chart.umd.min.js');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, '') : undefined;
}

function chartsOf(report: ScenarioReport, verdicts: readonly Verdict[]): ChartData[] {
  const rows = report.rows.filter((row) => row.error === undefined);
  return report.metrics
    .filter((metric, index) => index === 0 || metric.charted)
    .map((metric) => chartOf(report, metric, rows, verdicts));
}

function chartOf(
  report: ScenarioReport,
  metric: Metric,
  rows: readonly Row[],
  verdicts: readonly Verdict[],
): ChartData {
  const summaries = rows.map((row) => row.metrics[metric.id] ?? { median: NaN, min: NaN, max: NaN });
  const verdict = verdicts.find(({ target }) => target.scenario === report.id && target.metric === metric.id);
  return {
    scenario: report.id,
    id: `${report.id}-${metric.id}`,
    label: formatHeading(metric),
    names: rows.map((row) => row.contestant),
    kinds: rows.map((row) => row.kind),
    medians: summaries.map(({ median }) => median),
    spreads: summaries.map(({ min, max }) => [min, max] as const),
    target: verdict?.target.limit ?? null,
  };
}

function verdictSection(verdicts: readonly Verdict[]): string {
  if (verdicts.length === 0) return '';
  const lines = verdicts.map(({ target, value, passed }) => {
    const measured = value === undefined ? '-' : formatNumber(value);
    const mark = passed ? '<td class="pass">pass</td>' : '<td class="fail">fail</td>';
    return `<tr><td>${escapeHtml(target.text)}</td><td>${target.must} ${target.limit}</td><td>${measured}</td>${mark}</tr>`;
  });
  return `<h2>Targets</h2><table><thead><tr><th>target</th><th>must be</th><th>measured</th><th></th></tr></thead>
<tbody>${lines.join('')}</tbody></table>`;
}

function scenarioSection(report: ScenarioReport, charts: readonly ChartData[]): string {
  const canvases = charts
    .filter(({ scenario }) => scenario === report.id)
    .map(({ id, names }) => `<div style="height:${70 + 24 * names.length}px"><canvas id="chart-${id}"></canvas></div>`);
  const head = report.metrics.map((metric) => `<th>${escapeHtml(formatHeading(metric))}</th>`).join('');
  const body = report.rows.map((row) => {
    const cells =
      row.error === undefined
        ? report.metrics.map((metric) => `<td>${escapeHtml(formatSummary(row.metrics[metric.id]))}</td>`).join('')
        : `<td class="fail" colspan="${report.metrics.length}">${escapeHtml(row.error.split('\n')[0] ?? '')}</td>`;
    return `<tr class="${row.kind}"><td>${escapeHtml(row.contestant)}</td>${cells}</tr>`;
  });
  return `<h2>${escapeHtml(report.title)}</h2><p>${escapeHtml(report.about)}</p><div class="charts">${canvases.join('')}</div>
<table><thead><tr><th></th>${head}</tr></thead><tbody>${body.join('')}</tbody></table>
${disturbances(report.rows)
  .map((line) => `<p class="meta">${escapeHtml(line)}</p>`)
  .join('')}`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A `</script` inside a script would end it. */
export function inScript(text: string): string {
  return text.replace(/<\/(script)/gi, '<\\/$1');
}
