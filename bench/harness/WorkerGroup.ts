import { monotonicMs } from './clock';
import { type Contestant, type SessionOptions } from './contestant';
import { type TaskParameters } from './task';
import { ServerCpu } from './ServerCpu';
import { WorkerProcess } from './WorkerProcess';

/** Time between the order and the common start, enough for the order to reach every worker, in ms. */
const startDelayMs = 60;

/** Several worker processes of one contestant. */
export class WorkerGroup {
  readonly contestant: Contestant;
  readonly #size: number;
  readonly #options: SessionOptions;
  readonly #server: ServerCpu;
  #workers: readonly WorkerProcess[] = [];

  /** Starts nothing yet; see {@link restart}. */
  constructor(contestant: Contestant, size: number, options: SessionOptions) {
    this.contestant = contestant;
    this.#size = size;
    this.#options = options;
    this.#server = new ServerCpu(options.url);
  }

  /** Ends what runs, starts fresh workers, and resolves when all are connected; on a failure none is left behind. */
  async restart(): Promise<void> {
    this.kill();
    const { module } = this.contestant;
    this.#workers = Array.from(
      { length: this.#size },
      (_, index) => new WorkerProcess({ ...this.#options, module, index }),
    );
    try {
      await Promise.all(this.#workers.map((worker) => worker.ready()));
    } catch (error) {
      this.kill();
      throw error;
    }
  }

  /** Runs a task in the worker of that index. */
  call(index: number, scenario: string, task: string, parameters: TaskParameters = {}): Promise<unknown> {
    const worker = this.#workers[index];
    if (worker === undefined) throw new RangeError(`there is no worker ${index}`);
    return worker.call(scenario, task, parameters);
  }

  /** Runs a task in the first `count` workers (default: all) and resolves to their results, by index. */
  callAll(
    scenario: string,
    task: string,
    parameters: TaskParameters = {},
    count: number = this.#size,
  ): Promise<unknown[]> {
    return Promise.all(this.#workers.slice(0, count).map((worker) => worker.call(scenario, task, parameters)));
  }

  /** Runs a task in all workers with the parameter `startAt`: one moment shortly ahead, the same for all of them. */
  startTogether(scenario: string, task: string, parameters: TaskParameters): Promise<unknown[]> {
    return this.callAll(scenario, task, { ...parameters, startAt: monotonicMs() + startDelayMs });
  }

  /** Resolves to the processor time that the server has used so far, in microseconds. */
  serverCpuUs(): Promise<number> {
    return this.#server.read();
  }

  /** Ends all processes at once, for good. */
  end(): void {
    this.kill();
    this.#server.close();
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const worker of this.#workers) worker.kill();
    this.#workers = [];
  }
}
