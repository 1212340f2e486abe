import { type Contestant } from './contestant';
import { type Plan } from './plan';
import { type WorkerGroup } from './WorkerGroup';

/** What one round measured, by name. Only {@link Scenario.derive} knows what the names mean. */
export type Sample = Readonly<Record<string, number>>;

/** One number of a scenario, as the report shows it. */
export interface Metric {
  readonly id: string;
  readonly label: string;
  /** `ratio`: to the reference of the same run; `share`: of something within the scenario. */
  readonly unit: 'ratio' | 'share' | 'commands' | 'bytes' | 'count';
  readonly better: 'higher' | 'lower';
  /** The page draws it; it always draws the first one of a scenario. */
  readonly charted?: true;
}

/** A question the bench asks every contestant. */
export interface Scenario {
  /** Also the name of its file. */
  readonly id: string;
  readonly title: string;
  /** What happens in it, and what the ratio is to. */
  readonly about: string;
  /** The first one is the headline of the report. */
  readonly metrics: readonly Metric[];
  /** Worker processes per contestant. */
  readonly workers: number;
  /** Workers start afresh for every round, because a round leaves them in a state that cannot be undone. */
  readonly freshWorkers: boolean;
  /** Life of a lock without a lease, in ms. */
  watchdogMs(plan: Plan): number;
  /** Rounds of that contestant. */
  rounds(plan: Plan, contestant: Contestant): number;
  /** Whether that contestant can take part. */
  accepts(contestant: Contestant): boolean;
  /** One round of the contestant whose workers are given. */
  measure(group: WorkerGroup, plan: Plan): Promise<Sample>;
  /** What the contestants are compared with, measured next to each of their rounds. */
  readonly reference?: {
    readonly contestant: string;
    readonly workers: number;
    /** Which value of its sample should be the same in all rounds; default: none is compared. */
    readonly steady?: string;
    /** One round; `beside`: the contestant it is measured for. */
    measure(group: WorkerGroup, plan: Plan, beside: Contestant): Promise<Sample>;
  };
  /** The metrics of one round. `reference` is the sample taken next to it (empty without a reference). */
  derive(sample: Sample, reference: Sample): Sample;
}

/** Life of a lock without a lease where it does not matter: Redisson's default, in ms. */
export const defaultWatchdogMs = 30_000;

let lastKey = 0;

/** A lock name nobody has used in this run. */
export function freshKey(scenario: string): string {
  return `bench.${scenario}.${process.pid}.${(lastKey += 1)}`;
}

/** This package gets all rounds, everybody else fewer. */
export function usualRounds(plan: Plan, contestant: Contestant): number {
  return contestant.kind === 'library' ? plan.rounds : plan.rivalRounds;
}

/** The value of that name. Throws an `Error` when the sample has none. */
export function valueOf(sample: Sample, name: string): number {
  const value = sample[name];
  if (value === undefined) throw new Error(`the sample has no "${name}"`);
  return value;
}
