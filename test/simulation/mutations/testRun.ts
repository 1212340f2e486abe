import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Edit } from '../bundle';
import type { NoticingTest } from './list';

const root = path.resolve(__dirname, '..', '..', '..');
const at = (...parts: string[]): string => path.join(root, ...parts);

/** What mocha says of the tests that it ran. */
export interface TestRun {
  readonly passes: number;
  readonly failures: number;
  /** The message of the first that failed. */
  readonly message: string;
}

/** Runs a test with lib as it is, or with some edits of it. @throws Error when mocha does not get to its end */
export async function runTest({ file, grep }: NoticingTest, edits: readonly Edit[], limitMs: number): Promise<TestRun> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mutation-'));
  const output = path.join(folder, 'report.json');
  const requires = [
    at('tools', 'register.cjs'),
    path.join(__dirname, 'mutateLib.ts'),
    at('test', 'support', 'hooks.ts'),
  ];
  const args = [require.resolve('mocha/bin/mocha.js'), '--no-config', '--extension', 'ts', '--timeout', '10000'];
  args.push(...requires.flatMap((one) => ['--require', one]));
  args.push('--reporter', 'json', '--reporter-option', `output=${output}`, '--fgrep', grep, at(file));
  try {
    const said = await end(args, { ...process.env, LIB_EDITS: JSON.stringify(edits) }, limitMs);
    if (!fs.existsSync(output)) throw new Error(`mocha has not run ${file}: ${said.slice(0, 500)}`);
    if (said.includes('not loaded: ')) throw new Error(`${file} does not test what is broken: ${said}`);
    const report = JSON.parse(fs.readFileSync(output, 'utf8')) as {
      stats: { passes: number; failures: number };
      failures: { err: { message?: string } }[];
    };
    return { ...report.stats, message: report.failures[0]?.err.message ?? '' };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns what it wrote to stderr */
function end(args: readonly string[], env: NodeJS.ProcessEnv, limitMs: number): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (data: Buffer) => (said += data.toString()));
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.on('close', () => {
      clearTimeout(limit);
      resolve(said);
    });
  });
}
