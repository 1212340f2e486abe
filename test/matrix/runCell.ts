import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { type Cell, productIn } from './axes';
import { IOREDIS_FOLDER } from './ioredisFolder';
import { runCommand } from './runCommand';
import { VERSIONS } from './versions';

/** What was found for the values of a cell. */
export interface Equipment {
  /** Node, or another runtime. */
  readonly node: string;
  /** The folder of ioredis. */
  readonly ioredis: string;
  /** The server's program. */
  readonly server: string;
}

/** What came of a cell. */
export interface CellEnd {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Whether the run ended by itself with nothing failed. */
  readonly succeeded: boolean;
  readonly seconds: number;
  readonly output: string;
}

/** The environment variable that names the runtime of a cell, where that is not Node. */
export const RUNTIME = 'IOREDISSON_TEST_RUNTIME';

/** Runs test files with the runtime, the ioredis and the server of a cell. */
export async function runCell(
  cell: Cell,
  { node, ioredis, server }: Equipment,
  files: readonly string[],
  limitMs: number,
): Promise<CellEnd> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-matrix-'));
  const isNode = productIn(cell.node) === 'node';
  // Another runtime runs a program of its own, and what starts that and its servers runs on this Node.
  const runner = isNode ? node : process.execPath;
  const countsFile = path.join(folder, 'counts');
  const env = {
    ...process.env,
    PATH: [path.dirname(runner), process.env['PATH'] ?? ''].join(path.delimiter),
    [RUNTIME]: isNode ? '' : node,
    REDIS_URL: '',
    REDIS_SERVER: server,
    [IOREDIS_FOLDER]: ioredis,
    IOREDISSON_TEST_TOPOLOGY: cell.topology,
    IOREDISSON_TEST_TRANSPILED: path.join(VERSIONS, 'transpiled'),
    COUNTS_FILE: countsFile,
  };
  const mocha = path.join(projectRoot, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const startedAt = performance.now();
  try {
    const { succeeded, output } = await runCommand(runner, [mocha, ...files], { cwd: projectRoot, env, limitMs });
    const counts = fs.existsSync(countsFile) ? fs.readFileSync(countsFile, 'utf8') : '';
    const [passed = 0, failed = 0, skipped = 0] = counts.trim().split(' ').map(Number);
    handOn(counts);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return { passed, failed, skipped, succeeded: succeeded && passed > 0, seconds, output };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** `.ci/run` sums them up. */
function handOn(counts: string): void {
  const file = process.env['COUNTS_FILE'];
  if (file !== undefined && file !== '') fs.appendFileSync(file, counts);
}
