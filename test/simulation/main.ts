import { realNow } from './engine/install';
import { fork } from 'node:child_process';
import * as fs from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Result, simulate } from './simulate';
import type { LockEvent } from './workload/Events';
import type { GivenProfile } from './workload/clusterWorlds';
import { type Profile, profileOf } from './workload/World';

/*
 * npm run test:simulation -- [--seed N] [--seeds N] [--ops N] [--each N] [--time S] [--jobs N] [--profile JSON]
 * [--worlds W] [--trace] [--events FILE]
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    ops: { type: 'string' },
    each: { type: 'string', default: '400' },
    time: { type: 'string' },
    jobs: { type: 'string' },
    /** What all worlds have in common, instead of what their seeds say: some fields of `Profile`. */
    profile: { type: 'string' },
    /** Seeds with other worlds are passed over. */
    worlds: { type: 'string' },
    trace: { type: 'boolean', default: false },
    /** Where to write what happens to plain locks, one JSON line per event: for docs/spec. With `--jobs 1`. */
    events: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

function number(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  console.error(`not a number: ${text}`);
  process.exit(64);
}

const each = number(values.each, 400);
const profile = values.profile === undefined ? undefined : (JSON.parse(values.profile) as GivenProfile);
const WORLDS: Readonly<Record<string, (world: Profile) => boolean>> = {
  java: ({ javaApps }) => javaApps > 0,
  cluster: ({ cluster }) => cluster !== undefined,
  replicas: ({ replicas, cluster }) => replicas > 0 && cluster === undefined,
  tokens: ({ tokens }) => tokens !== undefined,
  single: ({ javaApps, replicas }) => javaApps === 0 && replicas === 0,
};
const wanted = values.worlds === undefined ? undefined : WORLDS[values.worlds];
if (values.worlds !== undefined && wanted === undefined) {
  console.error(`--worlds is one of ${Object.keys(WORLDS).join(', ')}, not ${values.worlds}`);
  process.exit(64);
}

/** Set in the environment of a process that runs seeds for another one. */
const JOB = 'SIMULATION_JOB';
/** How many seeds a job has in advance, so that it never waits for the next. */
const AHEAD = 2;

/** Which seeds there are to run, and what came of them. */
class Run {
  readonly #startedAt = realNow();
  readonly #opsLimit = number(values.ops, Infinity);
  readonly #limitMs = number(values.time, Infinity) * 1000;
  readonly #first: number;
  readonly #seeds: number;
  readonly #results = new Map<number, Result>();
  #next: number;
  /** Those that are under way or wait to be told, in order. */
  readonly #taken: number[] = [];
  #handed = 0;
  #ran = 0;
  #operations = 0;
  #failed = 0;

  constructor() {
    // A new one each day and run; printed, so that whoever reads it can run it again.
    this.#first = number(values.seed, Math.floor(Math.random() * 1_000_000) * 1_000);
    this.#seeds = number(values.seeds, this.long ? Infinity : values.seed === undefined ? 100 : 1);
    this.#next = this.#first;
    console.log(`simulation: seeds from ${this.#first}, ${each} operations each`);
  }

  /** Whether it is bounded by time or operations, and so worth more than one process. */
  get long(): boolean {
    return this.#opsLimit !== Infinity || this.#limitMs !== Infinity;
  }

  /** The next seed; `undefined`: no more. */
  take(): number | undefined {
    if (this.#failed > 0 && !values['keep-going']) return undefined;
    if (this.#next - this.#first >= this.#seeds || this.#handed >= this.#opsLimit) return undefined;
    if (realNow() - this.#startedAt >= this.#limitMs) return undefined;
    if (wanted !== undefined) {
      while (!wanted(profileOf(this.#next, profile))) {
        if (++this.#next - this.#first >= this.#seeds) return undefined;
      }
    }
    this.#handed += each;
    this.#taken.push(this.#next);
    return this.#next++;
  }

  /** A seed has run. They are told in their order, whoever ran them. */
  add(result: Result): void {
    if (result.violations.length > 0) this.#failed++;
    this.#results.set(result.seed, result);
    for (;;) {
      const [seed] = this.#taken;
      const one = seed === undefined ? undefined : this.#results.get(seed);
      if (one === undefined) return;
      this.#taken.shift();
      this.#results.delete(one.seed);
      this.#ran++;
      this.#operations += one.operations;
      if (values.verbose) console.log(line(one));
      if (one.violations.length > 0) console.log(report(one));
    }
  }

  /** @returns whether nothing failed */
  end(): boolean {
    const seconds = (realNow() - this.#startedAt) / 1000;
    const speed = `${Math.round(this.#operations / seconds)}/s`;
    console.log(
      `simulation: ${this.#ran} seeds, ${this.#operations} operations in ${seconds.toFixed(1)} s (${speed}), ${this.#failed} failed`,
    );
    return this.#failed === 0;
  }
}

async function main(): Promise<number> {
  const run = new Run();
  const jobs =
    values.trace || values.events !== undefined ? 1 : number(values.jobs, run.long ? availableParallelism() : 1);
  if (jobs > 1) {
    await Promise.all(Array.from({ length: jobs }, () => job(run)));
  } else {
    const trace = values.trace ? (text: string): void => console.log(text) : undefined;
    const { events } = values;
    const told = events === undefined ? undefined : (all: readonly LockEvent[]): void => write(events, all);
    for (let seed = run.take(); seed !== undefined; seed = run.take())
      run.add(await simulate(seed, each, trace, profile, told));
  }
  return run.end() ? 0 : 1;
}

/** Runs seeds in a process of its own, until there are no more. */
function job(run: Run): Promise<void> {
  const args = ['--each', String(each), ...(values.profile === undefined ? [] : ['--profile', values.profile])];
  const child = fork(process.argv[1]!, args, { env: { ...process.env, [JOB]: '1' } });
  let busy = 0;
  const feed = (): void => {
    for (; busy < AHEAD; busy++) {
      const seed = run.take();
      if (seed === undefined) break;
      child.send(seed);
    }
    if (busy === 0) child.disconnect();
  };
  return new Promise((resolve, reject) => {
    child.on('message', (result: Result) => {
      busy--;
      run.add(result);
      feed();
    });
    child.on('error', reject);
    child.on('exit', (code) => (busy === 0 ? resolve() : reject(new Error(`a job ended early: ${code}`))));
    feed();
  });
}

/** The other side of {@link job}. */
function work(): void {
  let last = Promise.resolve();
  process.on('message', (seed: number) => {
    last = last.then(async () => void process.send!(await simulate(seed, each, undefined, profile)));
  });
}

function write(file: string, events: readonly LockEvent[]): void {
  fs.appendFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
}

function line({ seed, operations, commands, steps, virtualMs, hash }: Result): string {
  return `seed ${seed}: ${operations} operations, ${commands} commands, ${steps} steps, ${(virtualMs / 1000).toFixed(1)} s of the world, hash ${hash}`;
}

function report(result: Result): string {
  const given = values.profile === undefined ? '' : ` --profile '${values.profile}'`;
  return [
    `FAILED ${line(result)}`,
    ...result.violations.map((violation) => `  ${violation}`),
    `  ${JSON.stringify(result.profile)}`,
    `  npm run test:simulation -- --seed ${result.seed} --each ${values.each}${given} --trace`,
  ].join('\n');
}

if (process.env[JOB] !== undefined) work();
else {
  main().then(
    (code) => (process.exitCode = code),
    (error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    },
  );
}
