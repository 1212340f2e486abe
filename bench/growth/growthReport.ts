import Table from 'cli-table3';
import { formatNumber } from '../report/format';
import { escapeHtml, inScript, readChartLibrary } from '../report/htmlReport';
import { pageStyle } from '../report/pageParts';
import { type RunReport } from '../report/runReport';
import { type Column, type CurveReport, exponent } from './curve';

/** A run of `--only growth`. */
export interface GrowthReport {
  readonly startedAt: string;
  readonly machine: RunReport['machine'];
  readonly curves: readonly CurveReport[];
}

/** A cost of one unit that grows by less than this power of the work is flat: a factor of 2 over three orders. */
const FLAT = 0.1;
const SHOULD_NOT = ', which it should not';

/** The columns that grow and should not, in words. */
export function grownTooMuch(curves: readonly CurveReport[]): string[] {
  return curves.flatMap((report) =>
    report.columns
      .map((column) => [column.label, verdict(report, column)] as const)
      .filter(([, words]) => words.endsWith(SHOULD_NOT))
      .map(([label, words]) => `${report.title}: ${label} ${words}`),
  );
}

/** How the column grows, in words. */
function verdict(report: CurveReport, column: Column): string {
  if (column.growth === 'work') return '';
  const power = exponent(report, column.id);
  if (power === undefined) return '-';
  if (power < FLAT) return 'flat';
  const grows = `grows as n^${power.toFixed(2)}`;
  return column.growth === 'wire' ? `${grows}: the wire demands it` : `${grows}${SHOULD_NOT}`;
}

function cells(report: CurveReport): string[][] {
  const rows = report.rows.map(({ point, values }) => [
    String(point),
    ...report.columns.map(({ id }) => formatNumber(values[id] ?? NaN)),
  ]);
  return [...rows, ['growth', ...report.columns.map((column) => verdict(report, column))]];
}

/** The table of one curve for the terminal: a point per line, a column per number. */
export function curveTable(report: CurveReport): string {
  const table = new Table({
    head: [report.of, ...report.columns.map(({ label }) => label)],
    style: { head: [], border: [], compact: true },
    colWidths: [10, ...report.columns.map(() => 20)],
    wordWrap: true,
  });
  table.push(...cells(report));
  return `${report.title}\n${table.toString()}`;
}

/** The tables as Markdown, for bench/archive.md. */
export function growthMarkdown({ startedAt, machine, curves }: GrowthReport): string {
  const head = `${startedAt.slice(0, 10)}, Node ${machine.node}, Redis ${machine.redis}, ${machine.processors} processors.`;
  return [head, ...curves.map(section)].join('\n\n') + '\n';
}

function section(report: CurveReport): string {
  const { title, about, of, columns } = report;
  const head = [of, ...columns.map(({ label }) => label)];
  const lines = [head, head.map(() => '---:'), ...cells(report)].map((line) => `| ${line.join(' | ')} |`);
  const reasons = columns.flatMap(({ label, why }) => (why === undefined ? [] : [`${label}: ${why}.`]));
  return [`### ${title}`, about, lines.join('\n'), ...reasons].join('\n\n');
}

/** A page with a chart per column, both axes logarithmic; readable without a network and, as tables, without scripts. */
export function growthPage(report: GrowthReport): string {
  const library = readChartLibrary();
  const charts = report.curves.flatMap((curve) =>
    curve.columns.map(({ id, label }) => ({
      id: `${curve.id}-${id}`,
      label,
      of: curve.of,
      points: curve.rows.map(({ point, values }) => ({ x: point, y: values[id] ?? NaN })),
    })),
  );
  const scripts =
    library === undefined
      ? ''
      : `<script>${inScript(library)}</script>
<script>const charts = ${inScript(JSON.stringify(charts))}; ${script}</script>`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>ioredisson: growth</title><style>${pageStyle}</style></head><body><main>
<h1>How costs grow with the work</h1><p class="meta">${escapeHtml(report.startedAt)}</p>
${report.curves.map(sectionOfPage).join('\n')}
</main>${scripts}</body></html>
`;
}

function sectionOfPage(report: CurveReport): string {
  const head = [report.of, ...report.columns.map(({ label }) => label)];
  const row = (tag: string, line: readonly string[]): string =>
    `<tr>${line.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  const canvases = report.columns.map(
    ({ id }) => `<div style="height:220px"><canvas id="chart-${report.id}-${id}"></canvas></div>`,
  );
  return `<h2>${escapeHtml(report.title)}</h2><p>${escapeHtml(report.about)}</p><div class="charts">${canvases.join('')}</div>
<table><thead>${row('th', head)}</thead><tbody>${cells(report)
    .map((line) => row('td', line))
    .join('')}</tbody></table>`;
}

const script = `
const css = getComputedStyle(document.documentElement);
Chart.defaults.color = css.getPropertyValue('--text');
Chart.defaults.borderColor = css.getPropertyValue('--line');
for (const { id, label, of, points } of charts) new Chart(document.getElementById('chart-' + id), {
  type: 'line',
  data: { datasets: [{ label, data: points, borderColor: '#1f77d0', backgroundColor: '#1f77d0' }] },
  options: {
    animation: false, maintainAspectRatio: false, parsing: false,
    plugins: { legend: { display: false }, title: { display: true, text: label } },
    scales: { x: { type: 'logarithmic', title: { display: true, text: of } }, y: { type: 'logarithmic' } },
  },
});
`;
