import { realNow } from '../engine/install';
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Random } from '../engine/Random';
import { explore, type Fault, faultsOf, scenarioOf, textOf } from './explore';
import { FAULT_KINDS } from './faultKinds';
import { SCENARIOS } from './scenarios';

/*
 * npm run test:simulation -- --explore [--scenario NAME] [--kind TEXT] [--every N] [--pairs N] [--seed N] [--jobs N]
 * npm run test:simulation -- --explore --scenario NAME --fault KIND@POSITION[,KIND@POSITION] --seed N --trace
 */

const { values } = parseArgs({
  options: {
    explore: { type: 'boolean' },
    /** Only scenarios whose names begin so; the one with this name, where a fault is given. */
    scenario: { type: 'string', default: '' },
    /** Only faults whose names contain this. */
    kind: { type: 'string', default: '' },
    /** One run: these faults. */
    fault: { type: 'string' },
    /** Only one position of so many, in turn. */
    every: { type: 'string', default: '1' },
    /** So many pairs of faults for each scenario, in place of single faults. */
    pairs: { type: 'string', default: '0' },
    /** Decides latencies and who is first. */
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string' },
    trace: { type: 'boolean', default: false },
    /** How many failures of each kind of fault in each scenario are printed. */
    show: { type: 'string', default: '2' },
    verbose: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed);
const every = Number(values.every);
const pairs = Number(values.pairs);
const show = Number(values.show);
/** Set in the environment of a process that runs scenarios for another one. */
const JOB = 'EXPLORATION_JOB';

interface Failure {
  readonly kinds: string;
  readonly faults: string;
  readonly violations: readonly string[];
}

/** What came of a scenario. */
interface Outcome {
  readonly name: string;
  readonly runs: number;
  readonly hash: number;
  readonly failures: readonly Failure[];
}

/** Runs a scenario with each fault at each position, or with pairs of them. */
async function runScenario(name: string): Promise<Outcome> {
  const scenario = scenarioOf(name);
  const failures: Failure[] = [];
  let runs = 0;
  let hash = 0;
  const run = async (faults: readonly Fault[]) => {
    const result = await explore(scenario, faults, seed);
    runs++;
    hash = (Math.imul(hash, 31) + Number.parseInt(result.hash, 16)) | 0;
    if (result.violations.length > 0) {
      const kinds = faults.map(({ kind }) => kind.name).join(' and ');
      failures.push({ kinds, faults: textOf(faults), violations: result.violations });
    }
    return result;
  };
  const { counts } = await run([]);
  const kinds = FAULT_KINDS.filter((one) => one.name.includes(values.kind) && one.where?.(scenario) !== false);
  const random = new Random(seed);
  for (let i = 0; i < pairs; i++) {
    const some = [random.of(kinds), random.of(kinds)].filter(({ at }) => counts[at] > 0);
    // The second one comes soon, or whenever: what mends the first is under way then.
    const faults = some.map((kind) => ({ kind, at: 1 + random.below(counts[kind.at]) }));
    if (faults.length === 2) await run(faults);
  }
  if (pairs > 0) return { name, runs, hash, failures };
  let turn = seed;
  for (const kind of kinds) {
    for (let at = 1; at <= counts[kind.at]; at++) if (turn++ % every === 0) await run([{ kind, at }]);
  }
  return { name, runs, hash, failures };
}

function print({ name, runs, failures, hash }: Outcome): void {
  if (values.verbose)
    console.log(`${name}: ${runs} runs, hash ${(hash >>> 0).toString(16)}, ${failures.length} failed`);
  const shown = new Map<string, number>();
  for (const { kinds, faults, violations } of failures) {
    const count = (shown.get(kinds) ?? 0) + 1;
    shown.set(kinds, count);
    if (count > show) continue;
    console.log(`FAILED ${name}, ${kinds === '' ? 'no fault' : faults}`);
    for (const violation of violations) console.log(`  ${violation}`);
    const fault = faults === '' ? '' : ` --fault ${faults}`;
    console.log(`  npm run test:simulation -- --explore --scenario ${name}${fault} --seed ${seed} --trace`);
  }
  for (const [kinds, count] of shown) if (count > show) console.log(`  ... ${count} of ${name} with ${kinds}`);
}

async function runOne(): Promise<number> {
  const trace = values.trace ? (text: string): void => console.log(text) : undefined;
  const faults = values.fault === undefined ? [] : faultsOf(values.fault);
  const { violations, counts, struck, hash } = await explore(scenarioOf(values.scenario), faults, seed, trace);
  console.log(`${values.scenario}: ${JSON.stringify(counts)}, ${struck} of ${faults.length} faults, hash ${hash}`);
  for (const violation of violations) console.log(`  ${violation}`);
  return violations.length > 0 ? 1 : 0;
}

async function main(): Promise<number> {
  if (values.trace || values.fault !== undefined) return runOne();
  const startedAt = realNow();
  const names = SCENARIOS.filter(({ name, pending }) =>
    values.scenario === '' ? pending === undefined : name.startsWith(values.scenario),
  ).map(({ name }) => name);
  const outcomes = new Map<string, Outcome>();
  const left = [...names];
  const told = [...names];
  const add = (outcome: Outcome): void => {
    outcomes.set(outcome.name, outcome);
    // In their order, whoever ran them.
    for (let one = outcomes.get(told[0] ?? ''); one !== undefined; one = outcomes.get(told[0] ?? '')) {
      told.shift();
      print(one);
    }
  };
  const jobs = Math.min(Number(values.jobs ?? availableParallelism()), names.length);
  if (jobs > 1) await Promise.all(Array.from({ length: jobs }, () => job(left, add)));
  else for (const name of left) add(await runScenario(name));
  const all = [...outcomes.values()];
  const runs = all.reduce((sum, one) => sum + one.runs, 0);
  const failed = all.reduce((sum, { failures }) => sum + failures.length, 0);
  const seconds = ((realNow() - startedAt) / 1000).toFixed(1);
  const what = pairs > 0 ? 'pairs of faults' : 'every fault at every position';
  const part = every > 1 ? `, one of ${every}` : '';
  console.log(`exploration: ${all.length} scenarios, ${what}${part}: ${runs} runs in ${seconds} s, ${failed} failed`);
  return failed > 0 || all.length === 0 ? 1 : 0;
}

/** Runs scenarios in a process of its own, until there are no more. */
function job(left: string[], add: (outcome: Outcome) => void): Promise<void> {
  const child = fork(process.argv[1]!, process.argv.slice(2), { env: { ...process.env, [JOB]: '1' } });
  let busy = false;
  const feed = (): void => {
    const name = left.shift();
    busy = name !== undefined;
    if (name === undefined) child.disconnect();
    else child.send(name);
  };
  return new Promise((resolve, reject) => {
    child.on('message', (outcome: Outcome) => {
      add(outcome);
      feed();
    });
    child.on('error', reject);
    child.on('exit', (code) => (busy ? reject(new Error(`a job ended early: ${code}`)) : resolve()));
    feed();
  });
}

if (process.env[JOB] !== undefined) {
  process.on('message', (name: string) => void runScenario(name).then((outcome) => process.send!(outcome)));
} else {
  main().then(
    (code) => (process.exitCode = code),
    (error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    },
  );
}
