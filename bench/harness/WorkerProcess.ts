import { type ChildProcess, fork } from 'node:child_process';
import { workerEntry } from './compileWorkers';
import { type TaskAnswer, type TaskParameters, type TaskRequest, type WorkerStart } from './task';

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The parent's end of one worker process. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #ready: Promise<unknown>;
  #lastId = 0;
  #ended = false;

  /** Starts the process; see {@link ready}. */
  constructor(start: WorkerStart) {
    this.#child = fork(workerEntry, [JSON.stringify(start)], {
      execArgv: ['--expose-gc', '--no-warnings'],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ready = this.#answerTo(0);
    this.#child.on('message', (message: TaskAnswer) => this.#settle(message));
    this.#child.on('error', (error) => this.#rejectAll(error));
    this.#child.on('exit', (code, signal) => {
      this.#ended = true;
      this.#rejectAll(new Error(`a worker of ${start.module} ended (${signal ?? code})`));
    });
  }

  /** Resolves when the contestant is connected; rejects with what it failed with. */
  async ready(): Promise<void> {
    await this.#ready;
  }

  /** Runs a task in the worker and resolves to its result. Rejects with the task's error, or when the process ends. */
  call(scenario: string, task: string, parameters: TaskParameters): Promise<unknown> {
    const request: TaskRequest = { id: (this.#lastId += 1), scenario, task, parameters };
    const result = this.#answerTo(request.id);
    if (this.#ended) this.#settle({ id: request.id, error: 'the worker has ended' });
    else this.#child.send(request);
    return result;
  }

  /** Ends the process at once: what it holds in Redis is of no interest any more. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #answerTo(id: number): Promise<unknown> {
    const promise = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    // A killed worker's last call may have nobody left who waits for it.
    promise.catch(() => undefined);
    return promise;
  }

  #settle(message: TaskAnswer): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error === undefined) pending?.resolve(message.result);
    else pending?.reject(new Error(message.error));
  }

  #rejectAll(error: Error): void {
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}
