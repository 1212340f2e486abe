import { AXES, VALUES, productIn, serverLine, versionIn, type Axis, type Cell } from './axes';

/** What a cell came to. */
export interface Outcome {
  readonly cell: Cell;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly succeeded: boolean;
}

/** What docs/compatibility.md is made from. */
export interface MatrixRun {
  /** `2026-11-22`. */
  readonly date: string;
  /** Which tests a cell ran. */
  readonly tests: 'short' | 'core' | 'whole';
  readonly outcomes: readonly Outcome[];
  /** The release of each value by its id, or why there was none. */
  readonly releases: ReadonlyMap<string, string | { readonly reason: string }>;
}

const TESTS = {
  short: 'the tests that `--short` runs',
  core: 'the core tests (locks, synchronizers, faults, the command)',
  whole: 'all tests that see a server',
};

/** The text of docs/compatibility.md. */
export function page(run: MatrixRun): string {
  const failed = run.outcomes.filter(({ succeeded }) => !succeeded);
  const tests = run.outcomes.reduce((sum, { passed }) => sum + passed, 0);
  const skipped = run.outcomes.reduce((sum, { skipped: some }) => sum + some, 0);
  return `${[
    '# Compatibility',
    'What ioredisson was run on. `npm run test:matrix -- --write` writes this page from a run; do not edit it' +
      ' (the texts are in test/matrix/page.ts).',
    '## What is needed',
    table(
      ['', 'needed', 'tried here'],
      [
        ['runtime', 'Node 20.19 or later, Bun, Deno', released(run, 'node')],
        ['ioredis', '5.6 or later, or 6; iovalkey as ioredis', released(run, 'ioredis')],
        ['server', 'Redis 6.2 or later, or Valkey', released(run, 'server')],
        ['topology', 'single, Sentinel, Cluster, [managed](managed.md)', released(run, 'topology')],
      ],
    ),
    unavailable(run),
    '## The run',
    `${run.date}: ${run.outcomes.length} of the ${AXES.reduce((product, axis) => product * VALUES[axis].length, 1)}` +
      ` combinations, each with ${TESTS[run.tests]}: ${tests} tests passed, ${skipped} were skipped,` +
      ` ${failed.length} combinations failed.`,
    'A number is how many combinations with these two values passed; - is a pair that was not run.',
    ...[
      ['server', 'topology'],
      ['server', 'node'],
      ['server', 'ioredis'],
      ['node', 'ioredis'],
    ].map(([rows, columns]) => pairs(run, rows as Axis, columns as Axis)),
    '## What depends on the version',
    ...NOTES,
    '## Every combination',
    table(
      ['runtime', 'ioredis', 'server', 'topology', 'passed', 'skipped', 'failed'],
      run.outcomes.map(({ cell, passed, skipped: some, failed: bad, succeeded }) => [
        labelOf(cell.node),
        labelOf(cell.ioredis),
        nameOf(run, cell.server),
        cell.topology,
        String(passed),
        String(some),
        succeeded ? '0' : `**${bad || 'ended early'}**`,
      ]),
    ),
  ]
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

/** Facts that no number shows. */
const NOTES: readonly string[] = [
  [
    '- **Older servers.** Nothing is known that fails on Redis 5 and 6.0, but nobody tries them. `ioredisson doctor`',
    '  warns below 6 and refuses below 5.',
    '- **Redis 6.2 has no sharded pub/sub.** On a cluster, each wake-up goes to all of its nodes, as a classic message.',
    '  `shardedSubscriptionMode` `AUTO` (the default) sees that by itself. `ON` is refused there: every call rejects with',
    '  a `ConnectionError` (`CONNECTION`) that says so. `ioredisson doctor` finds it, too.',
    '- **Redis 6.2 on an overloaded machine.** A fair lock with 100 clients in one process and a lease of 0.9 s lost',
    '  that lease in about every third run at a load of 12 and more on two cores; on the other servers it did not. The table',
    '  has runs in which it passed.',
    '- **Redis 6.2 has no `ACL DRYRUN`.** `ioredisson doctor` cannot check the rights of the user there, and says so.',
    '- **Servers before Redis 7.2 do not know which library a client is of** (`lib-name`). The inspector is less sure there',
    '  whether a holder is alive ([inspection.md](inspection.md)).',
    '- **Valkey** needs no settings of its own. `valkey://` and `valkeys://` addresses are understood. Valkey 9 with a',
    "  password, and with `HELLO` renamed away, does not let ioredis 6 in: it answers `NOAUTH` instead of 'unknown command',",
    '  so ioredis does not try without. Do not rename `HELLO` there, or use ioredis 5.',
    '- **Node 20 and 22** have no `await using`; TypeScript can translate it. Node 24 has it.',
    '- **Bun and Deno** run a program of their own (`test/matrix/program.cjs`: every kind of lock, synchronizers, threads,',
    '  renewal, loss, the end of the process), and not the test suites. `watchdogThread` is refused there (`CONFIG`).',
    '- **Frameworks** are no axis of the run. `npm run test:frameworks` has NestJS 10, 11 and 12, Fastify 5, Express 5, the',
    '  bundlers and test runners; older versions beside the package, [which say at load](bundlers.md#versions-beside-it)',
    '  what they need, are a test of the package.',
    '- **`trackHolds`** speaks RESP3 with ioredis 6, and RESP2 with ioredis 5; both are tested. It needs Redis 6.',
    '- **managed** is a server behind each of the profiles of [managed.md](managed.md) in turn.',
  ].join('\n'),
];

function unavailable(run: MatrixRun): string {
  const lines = [...run.releases].flatMap(([id, release]) =>
    typeof release === 'string' ? [] : [`- ${labelOf(id)}: ${release.reason}.`],
  );
  return lines.length === 0 ? '' : ['Not to be had where this was run, and so not tried:', '', ...lines].join('\n');
}

/** A table of two axes. */
function pairs(run: MatrixRun, rows: Axis, columns: Axis): string {
  const count = (row: string, column: string): string => {
    const both = run.outcomes.filter(({ cell }) => cell[rows] === row && cell[columns] === column);
    const bad = both.filter(({ succeeded }) => !succeeded).length;
    if (both.length === 0) return '-';
    return bad === 0 ? String(both.length) : `${both.length - bad}, **${bad} failed**`;
  };
  return table(
    [`${rows} \\ ${columns}`, ...VALUES[columns].map((column) => nameOf(run, column))],
    VALUES[rows].map((row) => [nameOf(run, row), ...VALUES[columns].map((column) => count(row, column))]),
  );
}

function released(run: MatrixRun, axis: Axis): string {
  return VALUES[axis]
    .filter((id) => run.outcomes.some(({ cell }) => cell[axis] === id))
    .map((id) => (axis === 'topology' ? id : nameOf(run, id)))
    .join(', ');
}

/** `Redis 7.0.15`, `Node 22.1.0`. */
function nameOf(run: MatrixRun, id: string): string {
  const release = run.releases.get(id);
  if (VALUES.server.includes(id) && typeof release === 'string') return `${serverLine(id).product} ${release}`;
  return labelOf(id);
}

function labelOf(id: string): string {
  if (VALUES.server.includes(id)) return `${serverLine(id).product} ${serverLine(id).line}`;
  if (VALUES.node.includes(id)) return `${id[0]!.toUpperCase()}${productIn(id).slice(1)} ${versionIn(id)}`;
  return id.replace('-', ' ');
}

/** As prettier writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((text, i) => Math.max(3, text.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, i) => text.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
