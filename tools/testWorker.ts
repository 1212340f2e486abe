import * as fs from 'node:fs';
import * as path from 'node:path';
import Mocha from 'mocha';
import { monotonicNow, sleep } from './realTimers';

/** What a worker is asked to run: usually one file. */
export interface Job {
  readonly files: readonly string[];
  /** What is on its way out after the last test gets this long, in ms. */
  readonly graceMs: number;
}

/** A test, a hook or a file that failed. */
export interface Failure {
  readonly title: string;
  readonly file: string;
  readonly error: string;
}

/** What a job has come to. */
export interface Outcome {
  readonly passed: number;
  readonly failures: readonly Failure[];
  readonly skipped: number;
  /** Lines of `DURATIONS_FILE`: test/support/countingReporter.cjs. */
  readonly near: readonly string[];
  /**
   * Processor time of the worker and of what it started and has ended meanwhile, in s; 0 where the system does not
   * tell.
   */
  readonly cpu: number;
  /** What the worker's heap takes, in bytes: what files leave behind adds up. */
  readonly heap: number;
}

/** The length of a tick of /proc/self/stat, in s. */
const TICK_S = 0.01;

const root = path.resolve(__dirname, '..');

/** The options that `npx mocha` has, too. */
interface Options {
  readonly require: readonly string[];
  readonly reporter: string;
}

// Tests ask `process.send` whether they are a child of their own making.
const send = process.send?.bind(process);
delete process.send;

async function run({ files, graceMs }: Job, options: Options, rootHooks: Mocha.RootHookObject): Promise<Outcome> {
  const alive = stays();
  const cpuBefore = cpuTime();
  const { require: _required, reporter, ...others } = options;
  let outcome: Omit<Outcome, 'cpu' | 'heap'> | undefined;
  const mocha = new Mocha({
    ...others,
    rootHooks,
    reporter: path.join(root, reporter),
    reporterOptions: { told: (told: Outcome) => (outcome = told) },
  });
  const [file = ''] = files;
  const failure = (title: string, error: string): Failure => ({ title, file, error });
  for (const each of files) mocha.addFile(path.resolve(root, each));
  try {
    await new Promise<void>((resolve) => void mocha.run(() => resolve()));
    // Otherwise its listener for unhandled rejections stays, and emits each of them again for those of all other files:
    // after n files, one rejection is 2^n calls.
    mocha.dispose();
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...NOTHING, failures: [failure(`${file} cannot be loaded`, text)], ...used(cpuBefore) };
  }
  const left = await leftAlive(alive, graceMs);
  const { passed, skipped, near, ...told } = outcome ?? NOTHING;
  // A root hook has no file.
  const failures = told.failures.map((one) => (files.includes(one.file) ? one : { ...one, file }));
  if (left !== '') failures.push(failure(`${file} leaves the process alive`, left));
  return { passed, failures, skipped, near, ...used(cpuBefore) };
}

function used(cpuBefore: number): Pick<Outcome, 'cpu' | 'heap'> {
  return { cpu: cpuTime() - cpuBefore, heap: process.memoryUsage().heapTotal };
}

const NOTHING: Omit<Outcome, 'cpu' | 'heap'> = { passed: 0, failures: [], skipped: 0, near: [] };

/** How many there are of each kind of what keeps the process alive. */
function stays(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Waits until nothing keeps the process alive that did not before; says what still does. */
async function leftAlive(before: ReadonlyMap<string, number>, graceMs: number): Promise<string> {
  const deadline = monotonicNow() + graceMs;
  for (;;) {
    // The sleep's own timer has fired, and is counted no more.
    await sleep(5);
    const left = [...stays()].filter(([kind, count]) => count > (before.get(kind) ?? 0));
    if (left.length === 0) return '';
    if (monotonicNow() > deadline) return left.map(([kind, count]) => `${kind}: ${count}`).join(', ');
  }
}

function cpuTime(): number {
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'utf8');
    // After the name, which may have blanks: utime, stime, cutime and cstime are the fields 14 to 17, in ticks.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * TICK_S;
  } catch {
    return 0;
  }
}

function start(): void {
  const options = JSON.parse(fs.readFileSync(path.join(root, '.mocharc.json'), 'utf8')) as Options;
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const loaded = options.require.map((file) => require(path.join(root, file)) as { mochaHooks?: Mocha.RootHookObject });
  const rootHooks = Object.assign({}, ...loaded.map(({ mochaHooks }) => mochaHooks)) as Mocha.RootHookObject;
  process.on('disconnect', () => process.exit());
  process.on('message', (job: Job) => {
    run(job, options, rootHooks).then(
      (outcome) => send?.(outcome),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  // The first word: a limit counts from now.
  send?.('ready');
}

start();
