import { realNow } from './engine/install';
import { parseArgs } from 'node:util';
import { type Result, simulate } from './simulate';

/*
 * npm run test:simulation -- [--seed N] [--seeds N] [--ops N] [--each N] [--time S] [--trace]
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    ops: { type: 'string' },
    each: { type: 'string', default: '400' },
    time: { type: 'string' },
    trace: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
});

function number(text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isFinite(value)) return value;
  console.error(`not a number: ${text}`);
  process.exit(64);
}

async function main(): Promise<number> {
  const startedAt = realNow();
  const each = number(values.each, 400);
  const limitMs = values.time === undefined ? Infinity : number(values.time, 0) * 1000;
  const opsLimit = values.ops === undefined ? Infinity : number(values.ops, 0);
  const bounded = limitMs !== Infinity || opsLimit !== Infinity;
  const seeds = number(values.seeds, values.seed === undefined ? (bounded ? Infinity : 100) : 1);
  // A new one each day and run; printed, so that whoever reads it can run it again.
  const first = number(values.seed, Math.floor(Math.random() * 1_000_000) * 1_000);
  console.log(`simulation: seeds from ${first}, ${each} operations each`);
  let operations = 0;
  let ran = 0;
  let failed = 0;
  for (let seed = first; ran < seeds && operations < opsLimit && realNow() - startedAt < limitMs; seed++, ran++) {
    const result = await simulate(seed, each, values.trace ? (line) => console.log(line) : undefined);
    operations += result.operations;
    if (values.verbose) console.log(line(result));
    if (result.violations.length === 0) continue;
    failed++;
    console.log(report(result));
    if (!values['keep-going']) break;
  }
  const seconds = (realNow() - startedAt) / 1000;
  const speed = `${Math.round(operations / seconds)}/s`;
  console.log(
    `simulation: ${ran} seeds, ${operations} operations in ${seconds.toFixed(1)} s (${speed}), ${failed} failed`,
  );
  return failed === 0 ? 0 : 1;
}

function line({ seed, operations, commands, steps, virtualMs, hash }: Result): string {
  return `seed ${seed}: ${operations} operations, ${commands} commands, ${steps} steps, ${(virtualMs / 1000).toFixed(1)} s of the world, hash ${hash}`;
}

function report(result: Result): string {
  return [
    `FAILED ${line(result)}`,
    ...result.violations.map((violation) => `  ${violation}`),
    `  ${JSON.stringify(result.profile)}`,
    `  npm run test:simulation -- --seed ${result.seed} --each ${values.each} --trace`,
  ].join('\n');
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
