/** A bar chart of a column of a Markdown table. */
export interface Chart {
  /** The file: `docs/images/bench-<name>.svg`. */
  readonly name: string;
  /** The heading above the table in bench/archive.md. */
  readonly table: string;
  /** The heading of the column. */
  readonly column: string;
  /** What the chart says, in a sentence. */
  readonly title: string;
  /** Bars grow by the factor, not by the difference: for values that differ by orders. */
  readonly log?: boolean;
  /** Only the npm packages, without the designs that one finds in the wild. */
  readonly packages?: boolean;
  /** The page of docs/ that shows it. Default: benchmarks.md */
  readonly page?: string;
}

/** What docs/benchmarks.md shows, and the first screen. */
export const CHARTS: readonly Chart[] = [
  {
    name: 'distance',
    table: 'One hot key, 1.4 ms away',
    column: 'acquisitions / floor',
    title:
      'Redis 1.4 ms away: acquisitions per second of 100 waiters on one lock, as a multiple of one process alone. More is better.',
  },
  {
    name: 'wake-up',
    table: 'Wake-up between two processes',
    column: 'p50 / raw hand-off',
    title:
      'From unlock() in one process to lock() in another: median, as a multiple of a bare message. Less is better; logarithmic.',
    log: true,
  },
  {
    name: 'commands',
    table: 'One hot key, 4 processes x 25 waiters, 5 ms inside',
    column: 'commands per acquisition',
    title: 'Commands to Redis per acquisition, while 100 waiters want one lock. Less is better; logarithmic.',
    log: true,
  },
  {
    name: 'starving',
    table: 'One hot key, 4 processes x 25 waiters, 5 ms inside',
    column: 'waiters with 0 turns',
    title: 'Of 100 waiters, how many never got the lock in 5 s. Less is better.',
  },
  {
    name: 'drain',
    table: 'One-shot drain, 4 processes x 25 waiters',
    column: 'time / raw pub/sub',
    title:
      'Time until 100 waiters in 4 processes each had the lock once, as a multiple of raw pub/sub. Less is better; logarithmic.',
    log: true,
  },
  {
    name: 'idle-waiters',
    table: '1000 waiters on one held lock',
    column: 'commands per second',
    title: 'Commands per second that 1000 waiters send while the lock is held. Less is better.',
  },
  {
    name: 'sequential',
    table: 'Sequential lock + unlock',
    column: 'throughput / floor',
    title: 'Lock and unlock of a free lock, as a multiple of two bare EVALSHA. More is better.',
  },
  {
    name: 'first-screen',
    table: 'One hot key, 4 processes x 25 waiters, 5 ms inside',
    column: 'commands per acquisition',
    title: 'Commands to Redis per acquisition, while 100 waiters want one lock. Less is better; logarithmic.',
    log: true,
    packages: true,
    page: 'index.md',
  },
];

interface Bar {
  readonly label: string;
  readonly value: number;
  /** As the table has it, without the range. */
  readonly shown: string;
}

const WIDTH = 720;
const LABELS = 160;
const VALUES = 70;
const ROW = 24;
const TOP = 8;

/** The charts of a page, as SVG by name. */
export function drawCharts(markdown: string): Map<string, string> {
  return new Map(CHARTS.map((chart) => [chart.name, draw(chart, barsOf(markdown, chart))]));
}

/** The chart as a part of a page that has the colours: without the style of its own. */
export function inlineChart(svg: string): string {
  return svg.replace(/<style>.*?<\/style>\n/, '');
}

/** The rows of a table below a heading: the first column, and the number at the beginning of the wanted one. */
export function barsOf(markdown: string, { table, column }: Pick<Chart, 'table' | 'column'>): Bar[] {
  const [, section] = markdown.split(`### ${table}\n`);
  if (section === undefined) throw new Error(`bench/archive.md has no table "${table}"`);
  const lines = section.split('\n').filter((line, i, all) => line.startsWith('|') && !all.slice(0, i).some(isHeading));
  const [head = [], , ...rows] = lines.map(cellsOf);
  const at = head.indexOf(column);
  if (at === -1) throw new Error(`the table "${table}" has no column "${column}"`);
  return rows.map((cells) => {
    const shown = cells[at]?.split(' ')[0] ?? '';
    if (!Number.isFinite(Number.parseFloat(shown))) throw new Error(`"${table}", ${cells[0]}: no number`);
    return { label: cells[0] ?? '', value: Number.parseFloat(shown), shown };
  });
}

function isHeading(line: string): boolean {
  return line.startsWith('#');
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Colours come from the classes: on the site from its style sheet, elsewhere from the file's own. */
function draw({ title, log = false, packages = false }: Chart, all: readonly Bar[]): string {
  const bars = all.filter(({ label }) => !packages || kindOf(label) !== 'base');
  const size = scaleOf(bars, log);
  const rows = bars.map(({ label, value, shown }, i) => {
    const y = TOP + i * ROW;
    const length = Math.max(2, size(value) * (WIDTH - LABELS - VALUES));
    const kind = kindOf(label);
    return [
      `<text class="${kind} label" x="${LABELS - 8}" y="${y + 15}" text-anchor="end">${label}</text>`,
      `<rect class="${kind}" x="${LABELS}" y="${y + 3}" width="${length.toFixed(1)}" height="${ROW - 7}" rx="2"/>`,
      `<text class="${kind} value" x="${(LABELS + length + 6).toFixed(1)}" y="${y + 15}">${shown}</text>`,
    ].join('\n');
  });
  const height = TOP * 2 + bars.length * ROW;
  return [
    `<svg class="bench" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

function kindOf(label: string): 'ours' | 'base' | 'other' {
  if (label.startsWith('ioredisson')) return 'ours';
  return label === 'raw-pubsub' || label.startsWith('seed-') ? 'base' : 'other';
}

function scaleOf(bars: readonly Bar[], log: boolean): (value: number) => number {
  const most = Math.max(...bars.map(({ value }) => value));
  if (!log) return (value) => (most === 0 ? 0 : value / most);
  const least = Math.min(...bars.map(({ value }) => value)) / 1.5;
  return (value) => Math.log(value / least) / Math.log(most / least);
}

const STYLE = [
  'text{font:13px system-ui,sans-serif;fill:#59636e}',
  '.ours.label,.ours.value{font-weight:700;fill:#b3261e}',
  'rect{fill:#8b949e}rect.base{fill:#c3c9d0}rect.ours{fill:#b3261e}',
  '@media (prefers-color-scheme:dark){text{fill:#9aa4af}rect{fill:#6e7781}rect.base{fill:#3d444d}' +
    '.ours.label,.ours.value{fill:#ff9b8f}rect.ours{fill:#ff8274}}',
].join('');
