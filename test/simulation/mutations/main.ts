import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { bundle } from '../bundle';
import {
  type ExploredMutation,
  type ListedMutation,
  MUTATIONS,
  type SimulatedMutation,
  type TestedMutation,
} from './list';
import { runTest } from './testRun';
import { unknownNames } from './typeErrors';

/*
 * npm run test:mutations -- [--seeds N] [--first N] [--only TEXT] [--jobs N] [--table]
 *
 * Breaks a copy of lib in each of the ways of `list.ts`, and runs the simulation until a seed notices. The seed that
 * does must pass with the lib as it is. Where the list names an exploration, that must fail with the mutation, and pass
 * without. Where the list names a test of mocha, that must fail with the mutation, and pass
 * without. Exit code 1, and the names, when a mutation survives, or names what lib does not have.
 */

const { values } = parseArgs({
  options: {
    /** How many seeds each may take. By default each has its own bound. */
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    /** Prints what README.md has. */
    table: { type: 'boolean', default: false },
  },
});

/** A mutant may loop without end: that is noticed, too. */
const LIMIT_MS = 900_000;

interface Outcome {
  readonly name: string;
  /** What noticed it: a seed, and of how many, or a test; `undefined`: it survived. */
  readonly caughtBy: string | undefined;
  /** What it may take at most. */
  readonly bound: string;
  /** What was noticed. */
  readonly how: string;
}

/** @param intact - the simulation with the lib as it is */
function tryOne(mutation: ListedMutation, intact: string): Promise<Outcome> {
  if (mutation.exploring !== undefined) return exploreOne(mutation);
  return mutation.by === undefined ? simulateOne(mutation, intact) : testOne(mutation);
}

async function testOne({ name, edits, by }: TestedMutation): Promise<Outcome> {
  const bound = '-';
  const broken = await runTest(by, edits, LIMIT_MS);
  if (broken.failures === 0) return { name, caughtBy: undefined, bound, how: `${broken.passes} tests pass` };
  const { passes, failures } = await runTest(by, [], LIMIT_MS);
  if (passes === 0 || failures > 0) return { name, caughtBy: undefined, bound, how: 'fails without it, too' };
  return { name, caughtBy: 'test', bound, how: `\`${path.basename(by.file)}\` fails` };
}

const EXPLORATION = path.join(__dirname, '..', 'explore', 'main.ts');

async function exploreOne(mutation: ExploredMutation): Promise<Outcome> {
  const { name, exploring } = mutation;
  const bound = '-';
  const args = ['--scenario', exploring.scenario, '--kind', exploring.kind, '--jobs', '1'];
  const file = await bundle(mutation, EXPLORATION);
  const intact = await bundle(undefined, EXPLORATION);
  try {
    const { output } = await run(file, args);
    const [, where] = /^FAILED (.*)$/m.exec(output) ?? [];
    const [, what = ''] = /^ {2}[\d.]+ (.*)$/m.exec(output) ?? [];
    if (where === undefined) return { name, caughtBy: undefined, bound, how: '' };
    const { status } = await run(intact, args);
    if (status !== 0) return { name, caughtBy: undefined, bound, how: 'fails without it, too' };
    return { name, caughtBy: 'explored', bound, how: `${plain(what)} (${where})` };
  } finally {
    for (const one of [file, intact]) fs.rmSync(one, { force: true });
  }
}

async function simulateOne(mutation: SimulatedMutation, intact: string): Promise<Outcome> {
  const { name, profile, within } = mutation;
  const bound = String(values.seeds ?? within);
  const file = await bundle(mutation);
  const worlds = profile === undefined ? [] : ['--profile', JSON.stringify(profile)];
  const args = ['--seed', values.first, '--seeds', bound, ...worlds];
  try {
    const { output, status, endless } = await run(file, args);
    const [, seed] = /^FAILED seed (\d+)/m.exec(output) ?? [];
    const [, what] = /^ {2}[\d.]+ (.*)$/m.exec(output) ?? [];
    if (seed !== undefined) {
      const { status: without } = await run(intact, ['--seed', seed, ...worlds]);
      if (without !== 0) return { name, caughtBy: undefined, bound, how: `seed ${seed} fails without it, too` };
      return { name, caughtBy: `${Number(seed) - Number(values.first) + 1}`, bound, how: plain(what ?? '') };
    }
    const caughtBy = endless || status !== 0 ? bound : undefined;
    return { name, caughtBy, bound, how: endless ? 'it never ends' : status === 0 ? '' : 'the process ends' };
  } finally {
    fs.rmSync(file, { force: true });
  }
}

function run(file: string, args: readonly string[]): Promise<{ output: string; status: number; endless: boolean }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    let endless = false;
    const limit = setTimeout(() => {
      endless = true;
      child.kill('SIGKILL');
    }, LIMIT_MS);
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.on('close', (status) => {
      clearTimeout(limit);
      resolve({ output, status: status ?? 1, endless });
    });
  });
}

/** Without what differs from run to run, and short. */
function plain(text: string): string {
  return text
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, '<client>')
    .replaceAll(/:\d{6,}/g, '')
    .slice(0, 100);
}

async function main(): Promise<void> {
  const chosen = MUTATIONS.filter(({ name }) => name.includes(values.only));
  const unknown = unknownNames(chosen);
  if (unknown.length > 0) throw new Error(`not a fault, but an error:\n${unknown.join('\n')}`);
  const outcomes: Outcome[] = [];
  const left = [...chosen];
  const work = async (): Promise<void> => {
    for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
      const outcome = await tryOne(mutation, intact);
      outcomes.push(outcome);
      const { name, caughtBy, bound, how } = outcome;
      const by = caughtBy === 'test' || caughtBy === 'explored' ? caughtBy : `seed ${caughtBy} of ${bound}`;
      const what = caughtBy === undefined ? `SURVIVED ${bound}` : by;
      console.log(`${name.padEnd(62)} ${what.padEnd(14)} ${how}`);
    }
  };
  const intact = await bundle();
  try {
    await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs)) }, work));
  } finally {
    fs.rmSync(intact, { force: true });
  }
  const survivors = outcomes.filter(({ caughtBy }) => caughtBy === undefined);
  if (values.table) printTable(chosen, outcomes);
  console.log(`mutations: ${outcomes.length - survivors.length} of ${outcomes.length} noticed`);
  for (const { name } of survivors) console.log(`survived: ${name}`);
  if (outcomes.length === 0 || survivors.length > 0) process.exitCode = 1;
}

function printTable(chosen: readonly ListedMutation[], outcomes: readonly Outcome[]): void {
  console.log('\n| mutation | seed | of | what was noticed first |\n|---|---|---|---|');
  for (const { name } of chosen) {
    const { caughtBy, bound, how } = outcomes.find((one) => one.name === name)!;
    console.log(`| ${name} | ${caughtBy ?? 'none'} | ${bound} | ${how.replaceAll('|', '\\|')} |`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
