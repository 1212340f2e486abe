import type { RedissonClient } from '../../../../lib';

type Task = (signal: AbortSignal) => Promise<void>;

/**
 * One named logical thread with a queue, as the Java driver's Worker: a thread scope that takes its tasks one after the
 * other, so that everything they lock has one owner.
 */
export class NodeWorker {
  readonly #tasks: Task[] = [];
  #wake: () => void = () => undefined;
  #current: AbortController | undefined;
  #ended = false;

  constructor(client: Pick<RedissonClient, 'runInThread'>) {
    void client.runInThread(() => this.#loop());
  }

  /** Runs it when its turn comes; `signal` aborts with {@link interrupt}. */
  run<T>(task: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push(async (signal) => {
        try {
          resolve(await task(signal));
        } catch (error) {
          reject(error);
        }
      });
      this.#wake();
    });
  }

  /** Aborts the waiting of the task under way. */
  interrupt(): void {
    this.#current?.abort(new DOMException('interrupted', 'InterruptedError'));
  }

  /** Takes no more tasks. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async #loop(): Promise<void> {
    while (!this.#ended) {
      const task = this.#tasks.shift();
      if (task === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#current = new AbortController();
      await task(this.#current.signal);
      this.#current = undefined;
    }
  }
}
