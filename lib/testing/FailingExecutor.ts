import type { CommandExecutor, RunOptions } from '../connection/pending/CommandExecutor';
import { ConfigError } from '../errors';
import type { Script, ScriptArg } from '../scripts/Script';

const MOCK_TIMERS =
  'The mock timers of node:test are on (mock.timers.enable). They fake setTimeout, but not performance.now(), by which ' +
  'leases and waits end, and tick() leaves no room for replies. Use the fake timers of sinon, which work in node:test, ' +
  'too: docs/testing.md, "node:test and sinon".';

/** Whether `setTimeout` is that of node:test's `mock.timers`: a bound private method, in Node 20 to 26. */
function hasMockTimersOfNode(): boolean {
  return setTimeout.name === 'bound #createTimer';
}

/** The errors that the next commands of a client fail with. */
export class Failures {
  #next: { readonly error: Error; times: number }[] = [];
  /** Fails the commands that are under way when it aborts. */
  #underWay = new AbortController();

  /** The next `times` commands after those that fail already fail with this error. */
  add(error: Error, times: number): void {
    this.#next.push({ error, times });
  }

  clear(): void {
    this.#next = [];
  }

  /** Forgets all errors, and fails what is under way. @param makeError - makes what those reject with */
  reset(makeError: () => Error): void {
    this.clear();
    const underWay = this.#underWay;
    this.#underWay = new AbortController();
    underWay.abort(makeError());
  }

  /** A reply, unless a reset comes before it. */
  async passed<T>(reply: Promise<T>): Promise<T> {
    const { signal } = this.#underWay;
    const value = await reply;
    signal.throwIfAborted();
    return value;
  }

  /** The error of the command that is about to be sent, if it shall fail. */
  take(): Error | undefined {
    if (hasMockTimersOfNode()) return new ConfigError(MOCK_TIMERS);
    const [first] = this.#next;
    if (first !== undefined && --first.times <= 0) this.#next.shift();
    return first?.error;
  }
}

/** An executor whose commands fail where a test wants them to. Those do not run. */
export class FailingExecutor implements CommandExecutor {
  readonly #executor: CommandExecutor;
  readonly #failures: Failures;

  constructor(executor: CommandExecutor, failures: Failures) {
    this.#executor = executor;
    this.#failures = failures;
  }

  publish(channel: string, message: string): Promise<number> {
    return this.#executor.publish(channel, message);
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Readonly<Record<A, ScriptArg>>,
    options?: RunOptions<R>,
  ): Promise<R> {
    const error = this.#failures.take();
    return error === undefined
      ? this.#failures.passed(this.#executor.run(script, keys, args, options))
      : this.#fail(error, options);
  }

  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown> {
    const error = this.#failures.take();
    return error === undefined
      ? this.#failures.passed(this.#executor.call(command, args, options))
      : this.#fail(error, options);
  }

  outage(): undefined {
    return undefined;
  }

  slotOf(key: string): number {
    return this.#executor.slotOf(key);
  }

  get connectionNumber(): number {
    return this.#executor.connectionNumber;
  }

  get busy(): boolean {
    return this.#executor.busy;
  }

  get onReply(): CommandExecutor['onReply'] {
    return this.#executor.onReply;
  }

  set onReply(listener: CommandExecutor['onReply']) {
    this.#executor.onReply = listener;
  }

  get onUnheard(): CommandExecutor['onUnheard'] {
    return this.#executor.onUnheard;
  }

  set onUnheard(listener: CommandExecutor['onUnheard']) {
    this.#executor.onUnheard = listener;
  }

  laterTurn(): Promise<void> {
    return this.#executor.laterTurn();
  }

  close(): Promise<void> {
    return this.#executor.close();
  }

  /** Where the error says that the server may have run the command, its caller must take that for possible. */
  #fail<R>(error: Error, options: RunOptions<R> | undefined): Promise<never> {
    const sendRecord = options?.sendRecord;
    if (sendRecord !== undefined && (error as { mayHaveRun?: unknown }).mayHaveRun === true) {
      sendRecord.sends++;
      sendRecord.sentAt ??= performance.now();
      sendRecord.connectionNumber = this.connectionNumber;
    }
    return Promise.reject(error);
  }
}
