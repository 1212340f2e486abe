import { type Contestant, type ContestantKind } from './contestant';
import { contestantById } from './contestants';
import { type Plan, warmUpOf } from './plan';
import { type Metric, type Sample, type Scenario } from './scenario';
import { type Summary, summarizeRounds } from './statistics';
import { WorkerGroup } from './WorkerGroup';

/** A round that takes longer hangs, in ms. */
const roundLimitMs = 90_000;

/** How one contestant did in one scenario. */
export interface Row {
  readonly contestant: string;
  readonly kind: ContestantKind;
  /** Each metric over all rounds. */
  readonly metrics: Readonly<Record<string, Summary>>;
  /** What was measured: the contestant's samples and the reference's next to each. */
  readonly rounds: readonly { readonly sample: Sample; readonly reference: Sample }[];
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
 * Runs one scenario for every contestant that can take part, one contestant after the other, each round next to a round
 * of the reference: a slow minute of the machine hits both sides of a ratio.
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
    await referenceGroup?.restart();
    for (const contestant of contestants.filter((each) => scenario.accepts(each))) {
      progress(`${scenario.id}: ${contestant.id}`);
      const group = new WorkerGroup(contestant, scenario.workers, options);
      rows.push(await rowOf(scenario, plan, group, referenceGroup));
    }
  } finally {
    referenceGroup?.kill();
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
  const rounds: Row['rounds'][number][] = [];
  try {
    await group.restart();
    if (!scenario.freshWorkers) await roundOf(scenario, warmUpOf(plan), group, referenceGroup, true);
    const count = scenario.rounds(plan, group.contestant);
    for (let round = 0; round < count; round += 1) {
      if (scenario.freshWorkers && round > 0) await group.restart();
      if (scenario.freshWorkers) await referenceGroup?.restart();
      // A B, B A, A B ...: whoever comes first is not always the same.
      rounds.push(await roundOf(scenario, plan, group, referenceGroup, round % 2 === 0));
    }
    const derived = rounds.map(({ sample, reference }) => scenario.derive(sample, reference));
    return { contestant: id, kind, metrics: summarizeRounds(derived), rounds };
  } catch (error) {
    return { contestant: id, kind, metrics: {}, rounds, error: error instanceof Error ? error.message : String(error) };
  } finally {
    group.kill();
  }
}

async function roundOf(
  scenario: Scenario,
  plan: Plan,
  group: WorkerGroup,
  referenceGroup: WorkerGroup | undefined,
  referenceFirst: boolean,
): Promise<{ sample: Sample; reference: Sample }> {
  const { reference: definition } = scenario;
  const measureReference = async (): Promise<Sample> =>
    definition !== undefined && referenceGroup !== undefined ? within(definition.measure(referenceGroup, plan)) : {};
  if (referenceFirst) {
    const reference = await measureReference();
    return { reference, sample: await within(scenario.measure(group, plan)) };
  }
  const sample = await within(scenario.measure(group, plan));
  return { sample, reference: await measureReference() };
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
