import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { Command } from 'commander';
import { projectRoot } from '../../tools/buildOutput';
import { columns, type Column } from './columns';

/** What each column runs, unless it is told otherwise. */
const SUITES = ['unit', 'redis', 'topologies'];

interface Flags {
  readonly only?: string;
  readonly files: readonly string[];
}

interface Outcome {
  readonly column: Column;
  readonly what: string;
  readonly passed: boolean;
  readonly seconds: number;
}

/** `npm run test:matrix`: the suites on each version of what the package runs on. */
function main(): void {
  const command = new Command('npm run test:matrix --')
    .description('Runs the suites on each version of what ioredisson runs on.')
    .option('--only <columns>', `comma-separated, beginnings will do: ${columns.map(({ id }) => id).join(', ')}`)
    .argument('[files...]', 'suites or test files', SUITES);
  command.parse();
  const { only } = command.opts<Flags>();
  const wanted = only?.split(',').map((one) => one.trim());
  const picked = columns.filter(({ id }) => wanted === undefined || wanted.some((one) => id.startsWith(one)));
  if (picked.length === 0) command.error(`unknown column "${only}"; known: ${columns.map(({ id }) => id).join(', ')}`);
  const outcomes = picked.flatMap((column) => run(column, command.args.length > 0 ? command.args : SUITES));
  for (const { column, what, passed, seconds } of outcomes) {
    console.log(`${passed ? 'pass' : 'FAIL'}  ${column.id.padEnd(16)} ${what} (${seconds} s)`);
  }
  if (outcomes.some(({ passed }) => !passed)) process.exitCode = 1;
}

function run(column: Column, suites: readonly string[]): Outcome[] {
  const env = column.prepare();
  if (env === undefined) return [{ column, what: 'could not be installed', passed: false, seconds: 0 }];
  return suites.map((suite) => {
    const files = suite.endsWith('.ts') ? suite : `test/${suite}/**/*.test.ts`;
    console.log(`\n== ${column.id}: ${suite}`);
    const startedAt = performance.now();
    const mocha = path.join(projectRoot, 'node_modules', 'mocha', 'bin', 'mocha.js');
    const { status } = spawnSync(process.execPath, [mocha, files], {
      cwd: projectRoot,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    });
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return { column, what: suite, passed: status === 0, seconds };
  });
}

main();
