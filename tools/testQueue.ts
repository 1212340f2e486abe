import { type ChildProcess, fork } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { parseArgs } from 'node:util';
// Translates lib once; else each worker would, after `npm ci`.
import '../lib';
import { projectRoot } from './buildOutput';
import type { Failure, Job, Outcome } from './testWorker';

/**
 * Runs test files in a queue, those that take longest first, some at a time, each by a worker that has run others
 * before.
 *
 * ```
 * queued ──► running ──► passed
 *               │
 *               ▼                    when all others have ended, alone, three times
 *            failed ──► run again ──► three times passed: disturbed
 *                            └──────► else: failed
 * ```
 *
 * Disturbed is a finding and no failure, up to {@link MOST_DISTURBED} in a run; with more failures than that, none is
 * run again.
 */

/** Tests mostly wait. With more at a time, they would make each other late on two cores. */
const AT_ONCE = 5;
const REPEATS = 3;
const MOST_DISTURBED = 3;
/** A file is killed after so long, in ms. */
const LIMIT_MS = 600_000;
/** What keeps a process alive after its last test gets this long to end, in ms. */
const GRACE_MS = 10_000;
/** A worker with a larger heap, in bytes, is replaced: collecting its garbage would take all of a core. */
const MOST_HEAP = 700e6;
/** How long a file takes that nobody has measured, in s. */
const UNKNOWN_S = 7;

const DURATIONS = path.join(__dirname, 'testDurations.json');
const DISTURBED = 'test/DISTURBED.md';
const WORKER = path.join(__dirname, 'testWorker.ts');
const REGISTER = path.join(__dirname, 'register.cjs');

const NOTHING = { passed: 0, failures: [], skipped: 0, near: [], cpu: 0, heap: 0 } satisfies Outcome;

/** A job that has ended. */
interface Ended extends Outcome {
  readonly job: Job;
  readonly seconds: number;
}

/** A process that runs one job after the other, and is replaced when one has ended it. */
class Worker {
  readonly #log: string;
  readonly #limitMs: number;
  #child: ChildProcess | undefined;
  #shown = 0;

  constructor(log: string, limitMs: number) {
    this.#log = log;
    this.#limitMs = limitMs;
  }

  async run(job: Job): Promise<Ended> {
    const child = (this.#child ??= await this.#start());
    const begunAt = performance.now();
    const limitMs = this.#limitMs * job.files.length;
    const outcome = await new Promise<Outcome>((resolve) => {
      const ended = (error: string): void => {
        this.#child = undefined;
        const [file = ''] = job.files;
        resolve({ ...NOTHING, failures: [{ title: `the process of ${file}`, file, error }] });
      };
      const limit = setTimeout(() => {
        child.kill('SIGKILL');
        ended(`killed after ${limitMs / 1000} s\n${this.#lastLines()}`);
      }, limitMs);
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        clearTimeout(limit);
        ended(`ended with ${signal ?? code}\n${this.#lastLines()}`);
      };
      child.once('exit', end);
      child.once('message', (told: Outcome) => {
        clearTimeout(limit);
        resolve(told);
      });
      // It has ended at its start, or after the file before: nothing passes unnoticed.
      if (child.exitCode !== null || child.signalCode !== null) end(child.exitCode, child.signalCode);
      else child.send(job);
    });
    child.removeAllListeners();
    child.on('error', () => undefined);
    return { ...outcome, job, seconds: (performance.now() - begunAt) / 1000 };
  }

  /** What has been written since it was asked last. */
  output(): string {
    const text = fs.readFileSync(this.#log);
    const fresh = text.subarray(this.#shown).toString();
    this.#shown = text.length;
    return fresh;
  }

  end(): void {
    this.#child?.removeAllListeners();
    if (this.#child?.connected) this.#child.disconnect();
    this.#child = undefined;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  #lastLines(): string {
    const text = fs.readFileSync(this.#log).subarray(this.#shown).toString();
    return text.trim().split('\n').slice(-20).join('\n');
  }

  /** Resolves when it is ready, or has ended. */
  async #start(): Promise<ChildProcess> {
    // A file and no pipe: what has been said is all there when the outcome is told.
    const log = fs.openSync(this.#log, 'a');
    // The counts are told here, when it is known what was disturbed.
    const env = { ...process.env, COUNTS_FILE: '', FAILURES_FILE: '', DURATIONS_FILE: '' };
    const child = fork(WORKER, {
      ...{ cwd: projectRoot, execArgv: ['--require', REGISTER], env },
      stdio: ['ignore', log, log, 'ipc'],
    });
    fs.closeSync(log);
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('exit', () => resolve());
      child.once('error', reject);
    });
    return child;
  }
}

/** The test files among these files and folders. */
function testFiles(places: readonly string[]): string[] {
  return places.flatMap((place) => {
    const whole = path.resolve(projectRoot, place);
    if (fs.statSync(whole).isFile()) return [path.relative(projectRoot, whole)];
    const files = fs
      .readdirSync(whole, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'));
    return files.map((file) => path.relative(projectRoot, path.join(whole, file))).sort();
  });
}

function readDurations(): Record<string, number> {
  return fs.existsSync(DURATIONS) ? (JSON.parse(fs.readFileSync(DURATIONS, 'utf8')) as Record<string, number>) : {};
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'at-once': { type: 'string', default: String(AT_ONCE) },
      limit: { type: 'string', default: String(LIMIT_MS) },
      grace: { type: 'string', default: String(GRACE_MS) },
      'write-durations': { type: 'boolean', default: false },
      /** For files that share something dear, such as a JVM: one after the other, in one worker. */
      together: { type: 'string', multiple: true, default: [] },
    },
  });
  const begunAt = performance.now();
  const known = readDurations();
  const expected = ({ files }: Job): number => files.reduce((sum, file) => sum + (known[file] ?? UNKNOWN_S), 0);
  const graceMs = Number(values.grace);
  const jobs: Job[] = [
    ...testFiles(positionals).map((file) => ({ files: [file], graceMs })),
    ...values.together.map((place) => ({ files: testFiles([place]), graceMs })),
  ].sort((a, b) => expected(b) - expected(a));
  if (jobs.length === 0) throw new Error('no test files');

  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-tests-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const workers: Worker[] = [];
  const newWorker = (): Worker => {
    const worker = new Worker(path.join(folder, String(workers.length)), Number(values.limit));
    workers.push(worker);
    return worker;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      for (const worker of workers) worker.kill(signal);
      process.exit(1);
    });
  }

  const ended: Ended[] = [];
  const queue = jobs.values();
  const lane = async (): Promise<void> => {
    const worker = newWorker();
    for (const job of queue) {
      const one = await worker.run(job);
      process.stdout.write(worker.output());
      ended.push(one);
      if (one.heap > MOST_HEAP) worker.end();
      const took = `${one.seconds.toFixed(1)} - ${job.files.join(' ')} (${one.cpu.toFixed(1)} s of CPU)\n`;
      append('DURATIONS_FILE', [took, ...one.near]);
    }
    worker.end();
  };
  await Promise.all(Array.from({ length: Math.min(Number(values['at-once']), jobs.length) }, lane));

  const failures = ended.flatMap((one) => one.failures);
  const failed: Failure[] = [];
  const disturbed: Failure[] = [];
  if (failures.length > MOST_DISTURBED) failed.push(...failures);
  else {
    for (const file of new Set(failures.map((failure) => failure.file))) {
      const ofFile = failures.filter((failure) => failure.file === file);
      const again = await failsAgain({ files: [file], graceMs }, newWorker);
      if (again === undefined) disturbed.push(...ofFile);
      else failed.push(...ofFile, ...again.filter(({ title }) => !ofFile.some((first) => first.title === title)));
    }
  }
  return summarize(ended, failed, disturbed, (performance.now() - begunAt) / 1000, values['write-durations']);
}

/** Runs a job three times, with nothing else beside it; resolves to what failed, if anything did. */
async function failsAgain(job: Job, newWorker: () => Worker): Promise<readonly Failure[] | undefined> {
  for (let repeat = 1; repeat <= REPEATS; repeat++) {
    process.stdout.write(`\n== ${job.files.join(', ')} again, alone (${repeat} of ${REPEATS})\n`);
    const worker = newWorker();
    const { failures } = await worker.run(job);
    process.stdout.write(worker.output());
    worker.end();
    if (failures.length > 0) return failures;
  }
  return undefined;
}

/** Says what it has come to; returns the exit code. */
function summarize(
  ended: readonly Ended[],
  failed: readonly Failure[],
  disturbed: readonly Failure[],
  seconds: number,
  writeDurations: boolean,
): number {
  const say = (text: string): void => void process.stdout.write(text);
  const sum = (of: (one: Ended) => number): number => ended.reduce((total, one) => total + of(one), 0);
  const texts = failed.map(({ title, file, error }) => `${title}\n  in ${file}\n  ${error}\n\n`);
  if (failed.length > 0) say(`\n== What failed\n\n${texts.join('')}`);
  if (failed.length > MOST_DISTURBED) say(`More than ${MOST_DISTURBED} failed: none was run again.\n\n`);
  const lines = disturbed.map(disturbedLine);
  if (disturbed.length > 0) {
    const which = disturbed.map(({ title, file, error }) => `${title}\n  in ${file}\n  ${error}\n\n`);
    say(`\n== Disturbed: failed beside others, and passed ${REPEATS} times alone\n\n${which.join('')}`);
    say(`Add to ${DISTURBED}:\n\n${lines.join('')}\n`);
  }
  const passed = sum((one) => one.passed) + disturbed.length;
  const skipped = sum((one) => one.skipped);
  append('DISTURBED_FILE', lines);
  append('FAILURES_FILE', texts);
  append('COUNTS_FILE', [`${passed} ${failed.length} ${skipped}\n`]);
  if (writeDurations) {
    const rows = ended.filter(({ job }) => job.files.length === 1);
    const known = rows.map(({ job, seconds: took }) => [job.files[0], Math.round(took)] as const).sort();
    fs.writeFileSync(DURATIONS, `${JSON.stringify({ ...readDurations(), ...Object.fromEntries(known) }, null, 2)}\n`);
  }
  const cpu = sum((one) => one.cpu);
  say(
    `\n${ended.length} files in ${seconds.toFixed(0)} s, ${cpu.toFixed(0)} s of CPU; ${disturbed.length} disturbed\n`,
  );
  say(`${passed} passed, ${failed.length} failed, ${skipped} skipped\n`);
  return failed.length === 0 ? 0 : 1;
}

/** A row of the table in DISTURBED.md. */
function disturbedLine({ title, file, error }: Failure): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').slice(0, 200);
  const [first = ''] = error.split('\n');
  return `| ${file}: ${cell(title)} | ${new Date().toISOString().slice(0, 10)} | ${cell(first)} | not known yet |\n`;
}

function append(variable: string, lines: readonly string[]): void {
  const file = process.env[variable];
  if (file !== undefined && file !== '') fs.appendFileSync(file, lines.join(''));
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
