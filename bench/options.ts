import { Command, InvalidArgumentError, Option } from 'commander';
import { type Contestant } from './harness/contestant';
import { contestantById, contestants } from './harness/contestants';
import { fullPlan, type Plan, quickPlan, tinyPlan } from './harness/plan';
import { type Scenario } from './harness/scenario';
import { scenarios } from './scenarios/all';

/** What the command line asked for. */
export interface BenchOptions {
  readonly plan: Plan;
  readonly scenarios: readonly Scenario[];
  /** Measure how costs grow with the work instead. */
  readonly growth: boolean;
  readonly contestants: readonly Contestant[];
  /** Exit with 1 when a target is missed. */
  readonly assert: boolean;
  /** A server to use instead of one of our own. */
  readonly url: string | undefined;
  /** A compiled ioredisson to measure instead of that of the checkout. */
  readonly build: string | undefined;
  /** A second one, beside the first. */
  readonly beside: string | undefined;
}

/** Whom `--quick` measures unless told otherwise: this package, and the least that waits. */
const quickContestants = ['ioredisson', 'raw-pubsub'];

interface Flags {
  readonly quick?: true;
  readonly tiny?: true;
  readonly only?: string;
  readonly contestants?: string;
  readonly assert?: true;
  readonly url?: string;
  readonly build?: string;
  readonly beside?: string;
  readonly distance?: number;
}

/** Reads the command line; ends the process with a message when it makes no sense. */
export function readOptions(argv: readonly string[]): BenchOptions {
  const command = new Command('npm run bench --')
    .description('Measures ioredisson against a raw ioredis floor and against other locks, as ratios within one run.')
    .option('--quick', 'shorter rounds, and only ioredisson unless told otherwise; about a minute and a half')
    .addOption(new Option('--tiny', 'only shows that everything runs').hideHelp())
    .option(
      '--only <scenarios>',
      `comma-separated, beginnings will do: ${scenarios.map(({ id }) => id).join(', ')}; or: growth`,
    )
    .option('--contestants <names>', `comma-separated, or "all": ${contestants.map(({ id }) => id).join(', ')}`)
    .option('--assert', 'exit with 1 when a target is missed')
    .option('--url <redis url>', 'use this server (its keys bench.* are written) instead of one of our own');
  command.option('--distance <ms>', 'Redis seems further away: a round trip takes so many ms longer', readDistance);
  command.option('--build <folder>', 'measure this compiled ioredisson instead of dist/ (which is built when needed)');
  command.option('--beside <folder>', 'measure this compiled ioredisson, too, beside the other: a commit before, say');
  command.parse([...argv], { from: 'user' });
  const flags = command.opts<Flags>();
  const growth = flags.only === 'growth';
  if (growth && flags.url !== undefined) command.error('growth is measured on a server of its own: leave out --url');
  try {
    return {
      growth,
      plan: { ...(flags.tiny ? tinyPlan : flags.quick ? quickPlan : fullPlan), distanceMs: flags.distance ?? 0 },
      scenarios: growth ? [] : pickScenarios(flags.only),
      contestants: growth ? [contestantById('ioredisson')] : pickContestants(flags),
      assert: flags.assert ?? false,
      url: flags.url,
      build: flags.build,
      beside: flags.beside,
    };
  } catch (error) {
    return command.error(error instanceof Error ? error.message : String(error));
  }
}

function readDistance(text: string): number {
  const ms = Number(text);
  if (!(ms >= 0 && ms <= 1000)) throw new InvalidArgumentError('It is a number of ms from 0 to 1000, such as 1.4.');
  return ms;
}

function pickScenarios(only: string | undefined): readonly Scenario[] {
  if (only === undefined) return scenarios;
  const wanted = only.split(',').map((name) => name.trim().toLowerCase());
  const exact = scenarios.filter(({ id }) => wanted.includes(id.toLowerCase()));
  const open = wanted.filter((name) => !exact.some(({ id }) => id.toLowerCase() === name));
  for (const name of open) {
    if (scenarios.some(({ id }) => id.toLowerCase().startsWith(name))) continue;
    throw new Error(`unknown scenario "${name}"; known: ${scenarios.map(({ id }) => id).join(', ')}`);
  }
  return scenarios.filter(
    (scenario) => exact.includes(scenario) || open.some((name) => scenario.id.toLowerCase().startsWith(name)),
  );
}

function pickContestants(flags: Flags): readonly Contestant[] {
  const there = contestants.filter(({ id }) => id !== 'ioredisson-beside' || flags.beside !== undefined);
  if (flags.contestants === 'all') return there;
  const names = flags.contestants?.split(',').map((name) => name.trim());
  if (names !== undefined) return names.map(contestantById);
  return flags.quick || flags.tiny ? quickContestants.map(contestantById) : there;
}
