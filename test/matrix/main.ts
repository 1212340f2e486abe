import { Command, Option } from 'commander';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import {
  allCells,
  AXES,
  CORE,
  onEachAxis,
  OTHER_RUNTIME,
  productIn,
  SHORT,
  VALUES,
  WHOLE,
  type Axis,
  type Cell,
  type Topology,
} from './axes';
import { chosen } from './chosen';
import { page, type MatrixRun, type Outcome } from './page';
import { pairwise } from './pairwise';
import { runCell, type Equipment } from './runCell';
import { findServer } from './servers';
import { findIoredis, findRuntime, VERSIONS, type Found } from './versions';

const PAGE = path.join(projectRoot, 'docs', 'compatibility.md');

const FILES = { short: SHORT, core: CORE, whole: WHOLE };

/** So long the tests of one cell may take. */
const CELL_MS = { short: 240_000, core: 10 * 60_000, whole: 60 * 60_000 };

interface Flags {
  readonly only?: string;
  readonly pairwise?: true;
  readonly short?: true;
  readonly whole?: true;
  readonly list?: true;
  readonly prepare?: true;
  readonly write?: true;
  readonly resume?: true;
  readonly jobs: string;
  readonly within?: string;
}

/** What was found for the values of the axes, by their ids. */
type Stock = ReadonlyMap<string, Found<{ readonly path: string }>>;

/** What a run is to do. */
interface Plan {
  readonly cells: readonly Cell[];
  /** Of cells that need not run again. */
  readonly before: readonly Outcome[];
  readonly stock: Stock;
  readonly tests: MatrixRun['tests'];
  /** Instead of those of {@link Plan.tests}. */
  readonly files: readonly string[];
  readonly jobs: number;
  /** No cell begins after so many ms of `performance.now()`. */
  readonly deadline: number;
}

/** `npm run test:matrix`: the tests on each combination of what the package runs on. */
async function main(): Promise<void> {
  const command = commandLine();
  command.parse();
  const flags = command.opts<Flags>();
  const wanted = chosen(flags.only, (message) => command.error(message));
  const jobs = numberOf(flags.jobs, 1, (message) => command.error(`--jobs: ${message}`));
  const within = numberOf(flags.within ?? 'Infinity', 0, (message) => command.error(`--within: ${message}`));
  const select = flags.pairwise === true ? pairwise : allCells;
  if (flags.list === true) return print(select(wanted));
  const stock = await prepare(wanted);
  for (const [id, found] of stock) {
    console.log(found.version === undefined ? `not available: ${id}: ${found.reason}` : `${id}: ${found.version}`);
  }
  const there = (id: string): boolean => !stock.has(id) || stock.get(id)?.version !== undefined;
  const cells = select(onEachAxis((axis) => wanted[axis].filter(there)));
  if (flags.prepare === true) return print(cells);
  const tests: MatrixRun['tests'] = flags.short === true ? 'short' : flags.whole === true ? 'whole' : 'core';
  const before = flags.resume === true ? readResults(tests) : [];
  const plan = { cells, before, stock, tests, files: command.args, jobs, deadline: within * 1000 };
  const outcomes = await runAll(plan);
  console.log(`${outcomes.length} of ${cells.length} cells in ${Math.round(performance.now() / 1000)} s`);
  if (flags.write === true) {
    const date = new Date().toISOString().slice(0, 10);
    const releases = new Map([...stock].map(([id, found]) => [id, found.version ?? found] as const));
    fs.writeFileSync(PAGE, page({ date, tests, outcomes, releases }));
    console.log(`wrote ${path.relative(process.cwd(), PAGE)}`);
  }
  // A run in which nothing ran shows nothing; with `--within`, downloads may have taken all of the time.
  const nothing = outcomes.length === 0 && within === Infinity;
  if (nothing || outcomes.some(({ succeeded }) => !succeeded)) process.exitCode = 1;
}

function commandLine(): Command {
  const known = AXES.flatMap((axis) => VALUES[axis]).join(', ');
  return new Command('npm run test:matrix --')
    .description('Runs tests on each combination of runtime, ioredis, server and topology.')
    .option('--only <values>', `comma-separated, beginnings will do: ${known}`)
    .option('--pairwise', 'few cells, in which every pair of values of two axes occurs')
    .option('--list', 'only prints the cells')
    .option('--prepare', 'only downloads what the cells need')
    .option('--write', 'writes docs/compatibility.md from this run')
    .option('--resume', 'takes over what has passed in runs before, with the same tests')
    .option('--jobs <count>', 'so many cells beside each other', '2')
    .option('--within <seconds>', 'begins no cell after that')
    .addOption(new Option('--short', 'a few seconds for each cell').conflicts('whole'))
    .option('--whole', 'everything that sees a server')
    .argument('[files...]', 'test files instead');
}

/** In the order of the cells, whichever ended first. */
async function runAll({ cells, before, stock, tests, files, jobs, deadline }: Plan): Promise<Outcome[]> {
  // Once, and not by several cells at a time.
  ensureBuilt();
  const outcomes = cells.map((cell) => before.find((one) => titleOf(one.cell) === titleOf(cell)));
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < cells.length) {
      const index = next++;
      const cell = cells[index]!;
      if (outcomes[index] !== undefined) continue;
      if (performance.now() > deadline) {
        console.log(`not run  ${titleOf(cell)}: no time left`);
        continue;
      }
      const own = productIn(cell.node) === 'node' ? FILES[tests][cell.topology as Topology] : OTHER_RUNTIME;
      const chosenFiles = files.length > 0 ? files : own;
      const end = await runCell(cell, equipment(cell, stock), chosenFiles, CELL_MS[tests]);
      const { passed, failed, skipped, succeeded } = end;
      outcomes[index] = { cell, passed, failed, skipped, succeeded };
      if (files.length === 0) addResult(tests, outcomes[index]);
      const counts = `${end.passed} passed, ${end.failed} failed, ${end.skipped} skipped`;
      console.log(`${end.succeeded ? 'pass' : 'FAIL'}  ${titleOf(cell)}  ${counts}, ${end.seconds} s`);
      if (!end.succeeded) console.log(end.output);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return outcomes.filter((one) => one !== undefined);
}

function numberOf(text: string, least: number, refuse: (message: string) => never): number {
  const number = Number(text);
  return text.trim() !== '' && number >= least ? number : refuse(`"${text}" is no number from ${least} on`);
}

function print(cells: readonly Cell[]): void {
  console.log([...cells.map(titleOf), `${cells.length} cells`].join('\n'));
}

/** Downloads what is not there yet, everything beside each other. */
async function prepare(wanted: Record<Axis, readonly string[]>): Promise<Stock> {
  const finding: (readonly [id: string, Promise<Found<{ readonly path: string }>>])[] = [
    ...wanted.node.map((id) => [id, findRuntime(id)] as const),
    ...wanted.server.map((id) => [id, findServer(id)] as const),
    ...wanted.ioredis.map((id) => [id, findIoredis(id)] as const),
  ];
  return new Map(await Promise.all(finding.map(async ([id, found]) => [id, await found] as const)));
}

/** Where the results of runs with such tests are kept. */
function resultsFile(tests: MatrixRun['tests']): string {
  return path.join(VERSIONS, `results-${tests}.jsonl`);
}

/** What has passed. */
function readResults(tests: MatrixRun['tests']): Outcome[] {
  if (!fs.existsSync(resultsFile(tests))) return [];
  const lines = fs.readFileSync(resultsFile(tests), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Outcome).filter(({ succeeded }) => succeeded);
}

function addResult(tests: MatrixRun['tests'], outcome: Outcome): void {
  fs.appendFileSync(resultsFile(tests), `${JSON.stringify(outcome)}\n`);
}

function equipment(cell: Cell, stock: Stock): Equipment {
  const pathOf = (id: string): string => (stock.get(id) as { readonly path: string }).path;
  return { node: pathOf(cell.node), ioredis: pathOf(cell.ioredis), server: pathOf(cell.server) };
}

function titleOf(cell: Cell): string {
  return AXES.map((axis) => cell[axis].padEnd(Math.max(...VALUES[axis].map(({ length }) => length)))).join('  ');
}

void main();
