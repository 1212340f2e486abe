import * as path from 'node:path';
import { CommandCounter } from './CommandCounter';
import { type ContestantModule } from './contestant';
import { type Task, type TaskAnswer, type TaskContext, type TaskRequest, type WorkerStart } from './task';

// A worker process: opens one contestant and runs the tasks the parent asks for, one process per contestant and index,
// compiled before it starts so that no compiler runs next to a measurement.

const benchFolder = path.resolve(__dirname, '..');
let strayErrors = 0;

function answer(message: TaskAnswer): void {
  process.send?.(message);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function open(start: WorkerStart): Promise<TaskContext> {
  const counter = new CommandCounter();
  counter.install();
  const contestant = (await import(path.join(benchFolder, start.module))) as ContestantModule;
  const options = { url: start.url, watchdogMs: start.watchdogMs };
  return { session: await contestant.open(options), options, counter, index: start.index, memory: new Map() };
}

async function runTask(context: TaskContext, request: TaskRequest): Promise<void> {
  try {
    const scenario = (await import(path.join(benchFolder, 'scenarios', request.scenario))) as {
      tasks: Record<string, Task>;
    };
    const task = scenario.tasks[request.task];
    if (task === undefined) throw new Error(`${request.scenario} has no task ${request.task}`);
    answer({ id: request.id, result: await task(context, request.parameters) });
  } catch (error) {
    answer({ id: request.id, error: describe(error) });
  }
}

async function main(): Promise<void> {
  // A contestant that rejects a promise nobody holds (some do) must show in its results, not end the run.
  process.on('unhandledRejection', (reason) => {
    strayErrors += 1;
    if (strayErrors === 1) process.stderr.write(`unhandled rejection in a worker: ${describe(reason)}\n`);
  });
  process.on('disconnect', () => process.exit(0));
  const context = await open(JSON.parse(process.argv[2] ?? '{}') as WorkerStart);
  process.on('message', (request: TaskRequest) => void runTask(context, request));
  answer({ id: 0 });
}

main().catch((error: unknown) => {
  answer({ id: 0, error: describe(error) });
  process.exitCode = 1;
  process.disconnect?.();
});
