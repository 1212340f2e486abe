import * as os from 'node:os';
import { contestants } from '../harness/contestants';
import { type Plan } from '../harness/plan';
import { type ScenarioReport } from '../harness/runScenario';
import { type Verdict } from '../targets';

/** Everything one run found out; what the JSON file holds. */
export interface RunReport {
  readonly startedAt: string;
  readonly plan: string;
  /** What a round trip to Redis took longer than on this machine, in ms. */
  readonly distanceMs: number;
  /** The machine in general words: ratios do not depend on it much, the number of processors is worth knowing. */
  readonly machine: {
    readonly node: string;
    readonly redis: string;
    readonly processors: number;
    readonly platform: string;
  };
  readonly contestants: Readonly<Record<string, string>>;
  readonly scenarios: readonly ScenarioReport[];
  readonly targets: readonly Verdict[];
}

/** Puts a report together. `redis`: version of the server. */
export function runReport(
  startedAt: Date,
  { name, distanceMs }: Plan,
  redis: string,
  scenarios: readonly ScenarioReport[],
  targets: readonly Verdict[],
): RunReport {
  return {
    startedAt: startedAt.toISOString(),
    plan: name,
    distanceMs,
    machine: {
      node: process.version,
      redis,
      processors: os.availableParallelism(),
      platform: `${process.platform} ${process.arch}`,
    },
    contestants: Object.fromEntries(contestants.map(({ id, about }) => [id, about])),
    scenarios,
    targets,
  };
}
