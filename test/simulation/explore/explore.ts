import { enter } from '../engine/install';
import { type Step, STEPS } from '../engine/Loop';
import type { SimSocket } from '../net/SimSocket';
import { checkServers, shutDown } from '../simulate';
import { World } from '../workload/World';
import { FAULT_KINDS, type FaultKind, SEEN_MS } from './faultKinds';
import { kindsOf, SCENARIOS } from './scenarios';
import { type Scenario, Stage } from './Stage';

/** A kind of fault, at which of the steps that it can be at: from 1 on. */
export interface Fault {
  readonly kind: FaultKind;
  readonly at: number;
}

/** What came of a run. */
export interface Explored {
  readonly violations: readonly string[];
  /** How many of each step there were. */
  readonly counts: Readonly<Record<Step, number>>;
  /** How many of the faults have struck. */
  readonly struck: number;
  readonly hash: string;
}

/** All calls must have settled so long after the last fault, in ms. */
const SETTLE_MS = 120_000;
/** What no call owns has been given back so long after the last fault, or the last call, in ms. */
const TIDY_MS = 15_500;

export function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined)
    throw new Error(`no scenario: ${name}; there are ${SCENARIOS.map((one) => one.name).join(', ')}`);
  return scenario;
}

/** @param text - `kind@position`, or several with commas between */
export function faultsOf(text: string): Fault[] {
  return text.split(',').map((part) => {
    const [name, at] = part.split('@');
    const kind = FAULT_KINDS.find((one) => one.name === name);
    if (kind === undefined)
      throw new Error(`no fault: ${name}; there are ${FAULT_KINDS.map((one) => one.name).join(', ')}`);
    return { kind, at: Number(at) };
  });
}

export function textOf(faults: readonly Fault[]): string {
  return faults.map(({ kind, at }) => `${kind.name}@${at}`).join(',');
}

/** Runs a scenario with some faults. */
export async function explore(
  scenario: Scenario,
  faults: readonly Fault[],
  seed: number,
  trace?: (line: string) => void,
): Promise<Explored> {
  const world = new World(seed, Infinity, trace, {
    servers: scenario.servers ?? 1,
    replicas: scenario.replicas ?? 0,
    sentinels: 0,
    apps: 0,
    javaApps: 0,
    tasks: 0,
    kinds: kindsOf(scenario),
    namesPerKind: 3,
    synchronizers: 0,
    multis: 0,
    groups: 0,
    latencyMs: 0.5,
    latencySpikes: 0,
    faults: [],
    healMs: Math.max(SEEN_MS, ...faults.map(({ kind }) => kind.healMs ?? SEEN_MS)),
    settings: {
      lockWatchdogTimeout: scenario.watchdogMs ?? 30_000,
      maxHandOvers: scenario.maxHandOvers ?? 64,
      fairLockWaitTimeout: 300_000,
      lockWatchdogBatchSize: 100,
      localHandOver: scenario.localHandOver ?? false,
    },
  });
  const counts = Object.fromEntries(STEPS.map((step) => [step, 0])) as Record<Step, number>;
  const result = { struck: 0 };
  const unhandled = (error: unknown): void =>
    world.oracle.violate(`unhandled: ${error instanceof Error ? error.stack : String(error)}`);
  // Of leaks: advice for callers who wait for themselves is none.
  const warned = ({ name, message }: Error): void => {
    if (name === 'MaxListenersExceededWarning') world.oracle.violate(`warning: ${name}: ${message}`);
  };
  process.on('warning', warned);
  process.on('unhandledRejection', unhandled);
  process.on('uncaughtException', unhandled);
  try {
    await live(world, scenario, faults, counts, result);
  } catch (error) {
    unhandled(error);
  } finally {
    if (world.oracle.violations.length > 0)
      for (const server of world.servers) trace?.(`${server.name} has ${JSON.stringify(server.store.dump(), null, 1)}`);
    enter(undefined);
    process.off('warning', warned);
    process.off('unhandledRejection', unhandled);
    process.off('uncaughtException', unhandled);
  }
  const hash = (world.loop.hash >>> 0).toString(16).padStart(8, '0');
  return { violations: world.oracle.violations, counts, struck: result.struck, hash };
}

async function live(
  world: World,
  scenario: Scenario,
  faults: readonly Fault[],
  counts: Record<Step, number>,
  result: { struck: number },
): Promise<void> {
  const { loop, oracle } = world;
  const broken = (): boolean => oracle.violations.length > 0;
  const stage = new Stage(world, scenario);
  scenario.run(stage);
  loop.watch = (step, at) => {
    const count = ++counts[step];
    for (const { kind, at: position } of faults) {
      if (kind.at !== step || position !== count) continue;
      const socket = at as SimSocket;
      const app = world.apps.find(({ process }) => process === socket.process);
      if (app === undefined || !app.process.alive) continue;
      result.struck++;
      stage.blamed.add(kind.wide === true ? 'all' : app);
      loop.note(`FAULT ${kind.name}`, () => `FAULT ${kind.name} at step ${position} (${step})`);
      loop.as(undefined, () => world.trouble(kind.strike({ stage, socket, server: socket.server, app })));
    }
  };
  await loop.run(() => broken() || stage.over, SETTLE_MS);
  for (; !broken() && !stage.over && loop.now < world.troubleEnds + SETTLE_MS;) {
    await loop.run(() => broken() || stage.over, world.troubleEnds + SETTLE_MS);
  }
  loop.watch = undefined;
  if (broken()) return;
  for (const { app, what, since } of world.operations) {
    // It was killed in the middle of its turn.
    if (!app.process.alive) continue;
    oracle.violate(`does not settle: ${app.process.id} ${what}, since ${since.toFixed(3)}`);
  }
  if (broken()) return;
  if (!stage.over) oracle.violate('a task does not end');
  // What a process leaves that has not given back its locks is there until its lease is over.
  const leaves = stage.apps.some((app) => app.leaving || !app.process.alive);
  // A late detach() gives to its used ticket what a late acquisition took, which nobody looks for
  // (docs/reliability.md).
  const used = scenario.tickets === true && stage.late > 1;
  const leftMs = leaves || used ? Math.max(stage.leaseMs, stage.watchdogMs) : 0;
  await loop.run(broken, Math.max(loop.now, world.troubleEnds) + Math.max(TIDY_MS, leftMs + 500));
  if (broken()) return;
  checkServers(world, 'while the clients are open');
  const renewals = world.servers.reduce((sum, server) => sum + server.renewals, 0);
  await loop.run(broken, loop.now + stage.watchdogMs / 2);
  if (world.servers.reduce((sum, server) => sum + server.renewals, 0) > renewals) {
    oracle.violate('renewals, and nobody holds anything');
  }
  if (broken()) return;
  world.stopping = true;
  await shutDown(world, broken);
}
