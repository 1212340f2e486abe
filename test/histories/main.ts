import * as fs from 'node:fs';
import { parseArgs } from 'node:util';
import { MUTATIONS } from '../simulation/mutations/list';
import { describeVerdict } from './report';
import { runHistory } from './runHistory';

/*
 * npm run test:histories -- [--ops 1000000] [--seed N] [--clients N] [--time S] [--mutation TEXT] [--keep]
 *
 * Processes take and give back everything there is, at random, on a real server, while connections break, Redis stops and
 * processes are killed. All write down what they call and learn, and a checker judges it.
 */
const { values } = parseArgs({
  options: {
    ops: { type: 'string', default: '50000' },
    seed: { type: 'string', default: String((Date.now() % 0x7fffffff) + 1) },
    /** Processes, each of which has two clients. */
    clients: { type: 'string', default: '4' },
    /** Of each client, side by side. */
    actors: { type: 'string', default: '12' },
    /** In seconds, at most. */
    time: { type: 'string', default: '3600' },
    /** The longest pause between two bursts of trouble, in ms. */
    calm: { type: 'string', default: '8000' },
    mutation: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const mutation = MUTATIONS.find(({ name }) => values.mutation !== undefined && name.includes(values.mutation));
  if (values.mutation !== undefined && mutation === undefined) throw new Error(`no mutation: ${values.mutation}`);
  console.log(`seed ${values.seed}${mutation === undefined ? '' : `, lib broken: ${mutation.name}`}`);
  const { verdict, folder, processes, durationMs } = await runHistory({
    seed: Number(values.seed),
    ops: Number(values.ops),
    timeMs: Number(values.time) * 1_000,
    processes: Number(values.clients),
    clients: 2,
    actors: Number(values.actors),
    calmMs: Number(values.calm),
    mutation,
    progress: (line) => console.log(line),
  });
  for (const line of describeVerdict(verdict)) console.log(line);
  const { operations, findings } = verdict;
  const all = `${operations} calls of ${processes} processes in ${Math.round(durationMs / 1_000)} s`;
  if (findings.length === 0 && !values.keep) fs.rmSync(folder, { recursive: true });
  else console.log(`the history is in ${folder}`);
  console.log(`seed ${values.seed}: ${findings.length === 0 ? 'nothing wrong' : `${findings.length} WRONG`} in ${all}`);
  if (findings.length > 0) process.exitCode = 1;
}

void main();
