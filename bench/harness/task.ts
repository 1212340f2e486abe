import { type CommandCounter } from './CommandCounter';
import { type LockSession, type SessionOptions } from './contestant';

/** What a task finds in the worker process it runs in. */
export interface TaskContext {
  /** The contestant of this worker, connected. */
  readonly session: LockSession;
  readonly options: SessionOptions;
  /** Counts every command this process sends. */
  readonly counter: CommandCounter;
  /** Number of this worker in its group, from 0. */
  readonly index: number;
  /** What earlier tasks of this worker left for later ones. */
  readonly memory: Map<string, unknown>;
}

/** A piece of a scenario that runs inside a worker process. Parameters and result must survive structured cloning. */
export type Task = (context: TaskContext, parameters: TaskParameters) => Promise<unknown>;

/** Numbers and names a scenario gives to its tasks. */
export type TaskParameters = Readonly<Record<string, number | string>>;

/** The number of that name. Throws an `Error` when the scenario did not give it. */
export function numberOf(parameters: TaskParameters, name: string): number {
  const value = parameters[name];
  if (typeof value !== 'number') throw new Error(`the task needs the number "${name}"`);
  return value;
}

/** The text of that name. Throws an `Error` when the scenario did not give it. */
export function textOf(parameters: TaskParameters, name: string): string {
  const value = parameters[name];
  if (typeof value !== 'string') throw new Error(`the task needs the text "${name}"`);
  return value;
}

/** What the parent sends to a worker. */
export interface TaskRequest {
  readonly id: number;
  readonly scenario: string;
  readonly task: string;
  readonly parameters: TaskParameters;
}

/** What a worker sends back: first `{ id: 0 }` when its contestant is connected, then one answer per request. */
export interface TaskAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** What a worker process is started with, as JSON in its first argument. */
export interface WorkerStart extends SessionOptions {
  readonly module: string;
  readonly index: number;
}
