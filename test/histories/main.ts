import * as fs from 'node:fs';
import { parseArgs } from 'node:util';
import { MUTATIONS } from '../simulation/mutations/list';
import { describePorcupine, type PorcupineJudge, porcupineJudge } from './porcupine';
import { describeVerdict } from './report';
import { type Judged, judgeHistory, runHistory } from './runHistory';

/*
 * npm run test:histories -- [--ops 1000000] [--seed N] [--clients N] [--time S] [--mutation TEXT] [--keep]
 *   [--judge check|porcupine|both] [--history FOLDER]
 *
 * Processes take and give back everything there is, at random, on a real server, while connections break, Redis stops
 * and processes are killed. All write down what they call and learn, and a checker judges it; or porcupine does, or
 * both.
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
    /** `check`, `porcupine` (needs Go), or `both`. */
    judge: { type: 'string', default: 'check' },
    /** Judges a history that is there already. */
    history: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const mutation = MUTATIONS.find(({ name }) => values.mutation !== undefined && name.includes(values.mutation));
  if (values.mutation !== undefined && mutation === undefined) throw new Error(`no mutation: ${values.mutation}`);
  if (!['check', 'porcupine', 'both'].includes(values.judge)) throw new Error(`no judge: ${values.judge}`);
  const judges = { check: values.judge !== 'porcupine', porcupine: await second() };
  if (values.history !== undefined) {
    const found = await judgeHistory(values.history, judges);
    console.log(tell(found) === 0 ? 'nothing wrong' : 'WRONG');
    return;
  }
  console.log(`seed ${values.seed}${mutation === undefined ? '' : `, lib broken: ${mutation.name}`}`);
  const result = await runHistory({
    seed: Number(values.seed),
    ops: Number(values.ops),
    timeMs: Number(values.time) * 1_000,
    processes: Number(values.clients),
    clients: 2,
    actors: Number(values.actors),
    calmMs: Number(values.calm),
    ...judges,
    mutation,
    progress: (line) => console.log(line),
  });
  const { folder, processes, durationMs } = result;
  const wrong = tell(result);
  const all = `${result.operations} calls of ${processes} processes in ${Math.round(durationMs / 1_000)} s`;
  if (wrong === 0 && !values.keep) fs.rmSync(folder, { recursive: true });
  else console.log(`the history is in ${folder}`);
  console.log(`seed ${values.seed}: ${wrong === 0 ? 'nothing wrong' : `${wrong} WRONG`} in ${all}`);
}

/** The judge in Go, if it is asked for. Where it cannot be had, and is the only one, there is nothing to do. */
async function second(): Promise<PorcupineJudge | undefined> {
  if (values.judge === 'check') return undefined;
  const judge = await porcupineJudge();
  if (!('reason' in judge)) return judge;
  console.log(`skipped: porcupine: ${judge.reason}`);
  if (values.judge === 'porcupine') process.exit();
  return undefined;
}

/** Prints what the judges say. @returns how much is wrong, or unknown */
function tell({ verdict, porcupine }: Judged): number {
  let wrong = 0;
  if (verdict !== undefined) {
    for (const line of describeVerdict(verdict)) console.log(line);
    wrong += verdict.findings.length;
  }
  if (porcupine !== undefined) {
    for (const line of describePorcupine(porcupine)) console.log(line);
    wrong += porcupine.findings.length + porcupine.unknown.length;
  }
  if (verdict !== undefined && porcupine !== undefined) {
    console.log(`judges: check ${verdict.findings.length} wrong, porcupine ${porcupine.findings.length} wrong`);
  }
  if (wrong > 0) process.exitCode = 1;
  return wrong;
}

void main();
