import { Executor } from '../connection/Executor';
import type { RunOptions } from '../connection/pending/CommandExecutor';
import { ConfigError } from '../errors';

const MOCK_TIMERS =
  'The mock timers of node:test are on (mock.timers.enable). They fake setTimeout, but not performance.now(), by which ' +
  'leases and waits end, and tick() leaves no room for replies. Use the fake timers of sinon, which work in node:test, ' +
  'too: docs/testing.md, "node:test and sinon".';

/** The errors that the next commands of a client fail with. */
export class Failures {
  #next: { readonly error: Error; times: number }[] = [];
  /** Fails the commands that are under way when it aborts. */
  #underWay = new AbortController();

  /** Lets `times` commands fail with this error, after those that already fail. */
  add(error: Error, times: number): void {
    this.#next.push({ error, times });
  }

  clear(): void {
    this.#next = [];
  }

  /** Forgets all errors, and fails the commands under way. @param makeError - makes their errors */
  reset(makeError: () => Error): void {
    this.clear();
    const underWay = this.#underWay;
    this.#underWay = new AbortController();
    underWay.abort(makeError());
  }

  /** Fails the commands of an executor where a test asks for it. Those do not run. */
  attach(executor: Executor): void {
    const { prototype } = Executor;
    executor.run = (...given) =>
      this.#send(executor, given[3], () => prototype.run.apply(executor, given as never)) as never;
    executor.call = (...given) => this.#send(executor, given[2], () => prototype.call.apply(executor, given));
  }

  #send<R>(executor: Executor, options: RunOptions<R> | undefined, send: () => Promise<R>): Promise<R> {
    const error = this.#take();
    if (error === undefined) return this.#passed(send());
    const sendRecord = options?.sendRecord;
    // Where the error says that the server may have run the command, its caller must take that for possible.
    if (sendRecord !== undefined && (error as { mayHaveRun?: unknown }).mayHaveRun === true) {
      sendRecord.sends++;
      sendRecord.sentAt ??= performance.now();
      sendRecord.connectionNumber = executor.connectionNumber;
    }
    return Promise.reject(error);
  }

  /** A reply, unless a reset comes before it. */
  async #passed<T>(reply: Promise<T>): Promise<T> {
    const { signal } = this.#underWay;
    const value = await reply;
    signal.throwIfAborted();
    return value;
  }

  /** The error of the command that is about to be sent, if it shall fail. */
  #take(): Error | undefined {
    // Whether `setTimeout` is that of node:test's `mock.timers`: a bound private method, in Node 20 to 26.
    if (setTimeout.name === 'bound #createTimer') return new ConfigError(MOCK_TIMERS);
    const [first] = this.#next;
    if (first !== undefined && --first.times <= 0) this.#next.shift();
    return first?.error;
  }
}
