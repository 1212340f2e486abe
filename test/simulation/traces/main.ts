import { parseArgs } from 'node:util';
import { trace } from './trace';
import { isWorld } from './worldKinds';

/*
 * Writes the traces of some seeds, one JSON line for each: test/spec has TLC check them. Bundled and started by that.
 */
const { values } = parseArgs({
  options: {
    first: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    world: { type: 'string', default: 'plain' },
    /** Every step of each world, to stderr. */
    trace: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const first = Number(values.first);
  const { world } = values;
  if (!isWorld(world)) throw new Error(`no such worlds: ${world}`);
  const note = values.trace ? (line: string): void => console.error(line) : undefined;
  for (let seed = first; seed < first + Number(values.count); seed++) {
    process.stdout.write(`${JSON.stringify(await trace(seed, world, note))}\n`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
