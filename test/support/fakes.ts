import { laterTurn } from '../../lib/util/timing';
import pDefer, { type DeferredPromise } from 'p-defer';
import type { CommandExecutor, Fresh, RunOptions } from '../../lib/connection/pending/CommandExecutor';
import type { Subscriber, SubscriberEvents } from '../../lib/connection/pubsub/Subscriber';
import { ConnectionError, ShutdownError } from '../../lib/errors';
import type { Script, ScriptArg } from '../../lib/scripts/Script';
import { type FakeRedis } from './fakeRedis';

/** One command a {@link FakeExecutor} was given. */
export interface SentCommand {
  /** The script's name, e.g. `lock.acquire`, or the command. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: Readonly<Record<string, string>>;
}

interface Writing {
  readonly command: SentCommand;
  readonly execute: () => unknown;
}

interface Call {
  readonly name: string;
  readonly options: RunOptions | undefined;
  /** What it is now: asked at each writing. */
  readonly compose: () => Writing;
  /** As it was last written. */
  written?: Writing;
  readonly reply: DeferredPromise<unknown>;
  answer?: () => void;
}

interface Trap {
  readonly name: string;
  readonly error: Error;
  readonly runs: boolean;
  readonly breaks: boolean;
  times: number;
}

/**
 * A command connection to a {@link FakeRedis}: commands run and are answered in order, a microtask later, unless the
 * test says otherwise.
 *
 * ```
 * call ──► down? (not written) ──► frozen? (written, not executed) ──► executed
 *      ──► muted? (answered later) ──► answered
 * ```
 */
export class FakeExecutor implements CommandExecutor {
  onReply: (() => void) | undefined;
  onUnheard: ((what: string) => void) | undefined;
  connectionNumber = 0;
  readonly redis: FakeRedis;
  /** Every command that was written, in order. */
  readonly sent: SentCommand[] = [];
  readonly #unwritten: Call[] = [];
  readonly #unexecuted: Call[] = [];
  readonly #unanswered: Call[] = [];
  readonly #traps: Trap[] = [];
  /** Commands whose next reply is lost; whether they run before. */
  readonly #resent = new Map<string, boolean>();
  /** The names of commands that are refused for now, and those that were. */
  #refusing: readonly string[] = [];
  readonly #refused: Call[] = [];
  #mode: 'up' | 'muted' | 'frozen' | 'down' = 'up';
  #closed = false;

  constructor(redis: FakeRedis) {
    this.redis = redis;
  }

  get busy(): boolean {
    return this.#unwritten.length + this.#unexecuted.length + this.#unanswered.length > 0;
  }

  /** Nobody listens. */
  publish(): Promise<number> {
    return Promise.resolve(0);
  }

  laterTurn(): Promise<void> {
    return laterTurn();
  }

  /** The names of {@link sent}. */
  get names(): string[] {
    return this.sent.map(({ name }) => name);
  }

  /** How many commands of that name were written. */
  count(name: string): number {
    return this.names.filter((one) => one === name).length;
  }

  /** From now on commands are executed, but not answered. */
  mute(): void {
    this.#mode = 'muted';
  }

  /** From now on commands are written, but not executed: a server that hangs. */
  freeze(): void {
    this.#mode = 'frozen';
  }

  /** The connection is lost: commands are not even written. */
  down(): void {
    this.#mode = 'down';
    this.connectionNumber += 1;
  }

  /** Everything works again, and what waited is done, in order. */
  resume(): void {
    this.#mode = 'up';
    for (const pending of this.#unwritten.splice(0)) {
      if (pending.options?.sendRecord?.cancelled !== true) this.#write(pending);
      else pending.reply.reject(new ConnectionError('not sent: cancelled', false));
    }
    for (const pending of this.#unexecuted.splice(0)) this.#execute(pending);
    for (const pending of this.#unanswered.splice(0)) pending.answer?.();
  }

  /**
   * The next commands of that name are rejected, executed before (`runs`) or not, with the connection (`breaks`) or
   * not.
   */
  fail(name: string, error: Error, how: Partial<Omit<Trap, 'name' | 'error'>> = {}): void {
    this.#traps.push({ name, error, runs: false, breaks: false, times: 1, ...how });
  }

  /** The next command of that name is sent twice: its first reply is lost, executed before (`runs`) or not. */
  resend(name: string, { runs }: { readonly runs: boolean }): void {
    this.#resent.set(name, runs);
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Fresh<Readonly<Record<A, ScriptArg>>>,
    options?: RunOptions,
  ): Promise<R> {
    const names = [...script.keys.map((key) => keys[key]), ...(options?.moreKeys ?? [])];
    const compose = (): Writing => {
      const given = typeof args === 'function' ? args() : args;
      const named = Object.fromEntries(script.args.map((arg) => [arg, String(given[arg])]));
      const moreArgs = typeof options?.moreArgs === 'function' ? options.moreArgs() : options?.moreArgs;
      const more = (moreArgs ?? []).map(String);
      const command = { name: script.name, keys: names, args: named };
      return { command, execute: () => this.redis.run(script.name, names, named, more) };
    };
    return this.#start(script.name, options, compose).then((reply) => script.decode(reply));
  }

  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown> {
    const texts = args.map(String);
    const sent = { name: command, keys: texts, args: {} };
    return this.#start(command, options, () => ({ command: sent, execute: () => this.redis.call(command, texts) }));
  }

  outage(_key: string, what: string): ConnectionError | undefined {
    return this.#mode === 'down' ? new ConnectionError(`down: ${what}`, false) : undefined;
  }

  slotOf(): number {
    return 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#unwritten.splice(0), ...this.#unexecuted.splice(0), ...this.#unanswered.splice(0)];
    for (const pending of open) pending.reply.reject(new ShutdownError(pending.name));
  }

  /** From now on the server refuses commands of these names, so that they wait to be written again: {@link serve}. */
  refuse(...names: readonly string[]): void {
    this.#refusing = names;
  }

  /**
   * It serves them again.
   * @param order - those that it has refused, in the order in which they are written again; the others go on waiting.
   * @default as they came
   */
  serve(order?: readonly number[]): void {
    this.#refusing = [];
    const calls = this.#refused.splice(0);
    const served = order?.map((i) => calls[i]!) ?? calls;
    this.#refused.push(...calls.filter((one) => !served.includes(one)));
    for (const pending of served) this.#write(pending);
  }

  #start(name: string, options: RunOptions | undefined, compose: () => Writing): Promise<unknown> {
    const pending: Call = { name, options, compose, reply: pDefer() };
    if (this.#closed) pending.reply.reject(new ShutdownError(name));
    else this.#write(pending);
    return pending.reply.promise;
  }

  #write(pending: Call): void {
    if (this.#mode === 'down') {
      this.#unwritten.push(pending);
      return;
    }
    pending.written = pending.compose();
    if (this.#refusing.includes(pending.name)) {
      this.#refused.push(pending);
      return;
    }
    const sendRecord = pending.options?.sendRecord;
    if (sendRecord !== undefined) {
      sendRecord.sends += 1;
      sendRecord.connectionNumber = this.connectionNumber;
      sendRecord.sentAt ??= performance.now();
    }
    this.sent.push(pending.written.command);
    const runs = this.#resent.get(pending.name);
    if (this.#resent.delete(pending.name)) {
      if (runs === true) pending.written.execute();
      return this.#write(pending);
    }
    if (this.#mode === 'frozen') this.#unexecuted.push(pending);
    else this.#execute(pending);
  }

  #execute(pending: Call): void {
    pending.answer = this.#outcome(pending);
    if (this.#mode === 'muted') this.#unanswered.push(pending);
    else queueMicrotask(pending.answer);
  }

  #outcome(pending: Call): () => void {
    const trap = this.#traps.find(({ name, times }) => name === pending.name && times > 0);
    if (trap !== undefined) trap.times -= 1;
    const reply = trap === undefined || trap.runs ? pending.written!.execute() : undefined;
    return () => {
      if (trap?.breaks === true) this.connectionNumber += 1;
      this.onReply?.();
      if (trap === undefined) pending.reply.resolve(reply);
      else pending.reply.reject(trap.error);
    };
  }
}

/**
 * A listening connection to a {@link FakeRedis}. Channels are live a microtask after they are asked for, unless held
 * back.
 */
export class FakeSubscriber implements Subscriber {
  countsReceivers = true;
  events: SubscriberEvents | undefined;
  /** `SUB channel` and `UNSUB channel`, in order. */
  readonly log: string[] = [];
  /** How often it was asked whether the servers are still there. */
  probes = 0;
  /** Whether the test acknowledges subscriptions itself, by {@link acknowledge} or {@link refuse}. */
  manual = false;
  readonly #redis: FakeRedis;
  readonly #live = new Set<string>();
  readonly #asked = new Map<string, DeferredPromise<void>>();

  constructor(redis: FakeRedis) {
    this.#redis = redis;
    redis.subscribers.add(this);
  }

  /** The channels it listens to. */
  get channels(): string[] {
    return [...this.#live];
  }

  subscribe(channel: string): Promise<void> {
    this.log.push(`SUB ${channel}`);
    const asked = pDefer<void>();
    this.#asked.set(channel, asked);
    if (!this.manual) queueMicrotask(() => this.acknowledge(channel));
    return asked.promise;
  }

  unsubscribe(channel: string): void {
    this.log.push(`UNSUB ${channel}`);
    this.#live.delete(channel);
    this.#asked.delete(channel);
  }

  probe(): void {
    this.probes += 1;
  }

  close(): void {
    for (const asked of this.#asked.values()) asked.reject(new ShutdownError());
    this.#asked.clear();
    this.#live.clear();
    this.#redis.subscribers.delete(this);
  }

  /** The server has subscribed the channel, if it is still asked for. */
  acknowledge(channel: string): void {
    const asked = this.#asked.get(channel);
    if (asked === undefined) return;
    this.#asked.delete(channel);
    this.#live.add(channel);
    asked.resolve();
  }

  /** The server refuses the channel. */
  refuse(channel: string, error: Error): void {
    this.#asked.get(channel)?.reject(error);
    this.#asked.delete(channel);
  }

  /** Used by {@link FakeRedis.publish}: the message comes a microtask later. Returns whether it will. */
  receive(channel: string, message: string): boolean {
    if (!this.#live.has(channel)) return false;
    queueMicrotask(() => this.events?.message(channel, message));
    return true;
  }
}
