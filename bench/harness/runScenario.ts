import { type Contestant, type ContestantKind } from './contestant';
import { contestantById } from './contestants';
import { disturbanceOf, machineTime } from './disturbance';
import { type Plan, warmUpOf } from './plan';
import { type Metric, type Sample, type Scenario } from './scenario';
import { type Summary, summarizeRounds } from './statistics';
import { WorkerGroup } from './WorkerGroup';

/** A round that takes longer hangs, in ms. */
const roundLimitMs = 90_000;

/** A round of a contestant, and the mean of the reference's samples around it. */
export interface Round {
  readonly sample: Sample;
  readonly reference: Sample;
  /** Why it says little about the contestant. It counts only where all rounds are so. */
  readonly disturbed?: string;
}

/** How one contestant did in one scenario. */
export interface Row {
  readonly contestant: string;
  readonly kind: ContestantKind;
  /** Each metric over all rounds. */
  readonly metrics: Readonly<Record<string, Summary>>;
  /** What was measured: the contestant's samples, each with the mean of the reference's samples around it. */
  readonly rounds: readonly Round[];
  /** Why there are no metrics, where there are none. */
  readonly error?: string;
}

/** A scenario with the results of all its contestants. */
export interface ScenarioReport {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly metrics: readonly Metric[];
  readonly rows: readonly Row[];
}

/**
 * Runs one scenario for every contestant that can take part, one contestant after the other. Rounds alternate with those
 * of the reference (A B A B A) and each is compared with the mean of the two next to it, so that a slow minute of the
 * machine hits both sides of a ratio.
 */
export async function runScenario(
  scenario: Scenario,
  contestants: readonly Contestant[],
  plan: Plan,
  url: string,
  progress: (line: string) => void,
): Promise<ScenarioReport> {
  const rows: Row[] = [];
  const options = { url, watchdogMs: scenario.watchdogMs(plan) };
  const { reference } = scenario;
  const referenceGroup = reference && new WorkerGroup(contestantById(reference.contestant), reference.workers, options);
  try {
    for (const contestant of contestants.filter((each) => scenario.accepts(each))) {
      // As fresh as the contestant's: code that has run for those before it would be compiled further.
      await referenceGroup?.restart();
      progress(`${scenario.id}: ${contestant.id}`);
      const group = new WorkerGroup(contestant, scenario.workers, options);
      rows.push(await rowOf(scenario, plan, group, referenceGroup));
    }
  } finally {
    referenceGroup?.end();
  }
  const { id, title, about, metrics } = scenario;
  return { id, title, about, metrics, rows };
}

async function rowOf(
  scenario: Scenario,
  plan: Plan,
  group: WorkerGroup,
  referenceGroup: WorkerGroup | undefined,
): Promise<Row> {
  const { id, kind } = group.contestant;
  const rounds: Round[] = [];
  const measure = (how: Plan): Promise<Sample> => within(scenario.measure(group, how));
  const measureReference = async (how: Plan): Promise<Sample> => {
    if (scenario.reference === undefined || referenceGroup === undefined) return {};
    if (scenario.freshWorkers) await referenceGroup.restart();
    return within(scenario.reference.measure(referenceGroup, how, group.contestant));
  };
  try {
    await group.restart();
    if (!scenario.freshWorkers) {
      await measureReference(warmUpOf(plan));
      await measure(warmUpOf(plan));
    }
    let before = await measureReference(plan);
    const count = scenario.rounds(plan, group.contestant);
    for (let round = 0; round < count; round += 1) {
      if (scenario.freshWorkers && round > 0) await group.restart();
      const timeBefore = machineTime();
      const sample = await measure(plan);
      const timeAfter = machineTime();
      const after = await measureReference(plan);
      const steady = scenario.reference?.steady;
      const disturbed = disturbanceOf({ timeBefore, timeAfter, before, after, steady });
      rounds.push({ sample, reference: meanOf(before, after), ...(disturbed !== undefined && { disturbed }) });
      before = after;
    }
    const quiet = rounds.filter(({ disturbed }) => disturbed === undefined);
    const derived = (quiet.length > 0 ? quiet : rounds).map(({ sample, reference }) =>
      scenario.derive(sample, reference),
    );
    return { contestant: id, kind, metrics: summarizeRounds(derived), rounds };
  } catch (error) {
    return { contestant: id, kind, metrics: {}, rounds, error: error instanceof Error ? error.message : String(error) };
  } finally {
    group.end();
  }
}

function meanOf(before: Sample, after: Sample): Sample {
  return Object.fromEntries(
    Object.entries(before).map(([name, value]) => [name, (value + (after[name] ?? value)) / 2]),
  );
}

async function within<T>(measurement: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`a round took longer than ${roundLimitMs} ms`)), roundLimitMs);
  });
  try {
    return await Promise.race([measurement, limit]);
  } finally {
    clearTimeout(timer);
  }
}
