import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { parseArgs } from 'node:util';
import { bundle } from '../bundle';
import { MUTATIONS } from './list';

/*
 * npm run test:mutations -- [--seeds N] [--first N] [--only TEXT]
 *
 * Breaks a copy of lib in each of the ways of `list.ts`, and runs the simulation until a seed notices.
 */

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '150' },
    first: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});

interface Outcome {
  readonly name: string;
  readonly caught: boolean;
  /** How many seeds ran. */
  readonly seeds: number;
  readonly how: string;
}

async function tryOne(mutation: (typeof MUTATIONS)[number]): Promise<Outcome> {
  const file = await bundle(mutation);
  const args = ['--seed', values.first, '--seeds', values.seeds];
  // A mutant may loop without end: that is noticed, too.
  const { stdout, status, error } = spawnSync(process.execPath, [file, ...args], {
    encoding: 'utf8',
    timeout: 300_000,
  });
  fs.rmSync(file, { force: true });
  const [, seed] = /^FAILED seed (\d+)/m.exec(stdout) ?? [];
  const [, how = ''] = /^ {2}([\d.]+ .*)$/m.exec(stdout) ?? [];
  const caught = seed !== undefined || (status !== 0 && error === undefined);
  const seeds = seed === undefined ? Number(values.seeds) : Number(seed) - Number(values.first) + 1;
  return { name: mutation.name, caught, seeds, how: how.slice(0, 110) };
}

async function main(): Promise<void> {
  const outcomes: Outcome[] = [];
  for (const mutation of MUTATIONS.filter(({ name }) => name.includes(values.only))) {
    const outcome = await tryOne(mutation);
    outcomes.push(outcome);
    const what = outcome.caught ? `seed ${outcome.seeds}` : `SURVIVED ${outcome.seeds}`;
    console.log(`${outcome.name.padEnd(58)} ${what.padEnd(13)} ${outcome.how}`);
  }
  const survivors = outcomes.filter(({ caught }) => !caught);
  console.log(`mutations: ${outcomes.length - survivors.length} of ${outcomes.length} noticed`);
  if (survivors.length > 0) process.exitCode = 1;
}

void main();
