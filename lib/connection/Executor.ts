import { CommandTimeoutError, type ConnectionError, NoSyncedReplicasError, ShutdownError } from '../errors';
import { UNHEARD_MARK } from '../scripts/replies';
import type { Script, ScriptArg } from '../scripts/Script';
import { Call } from './Call';
import type { CommandExecutor, RunOptions } from './CommandExecutor';
import { connectionError, denial } from './connectionError';
import { DeadlineQueue } from './DeadlineQueue';
import { Debts } from './Debts';
import type { Link } from './Link';
import { classify } from './replyErrors';
import { FarewellTexts, scriptArguments, travelling } from './scriptArguments';

/** First pause before a command that a server could not serve is tried again, in ms; it doubles. */
const FIRST_PAUSE_MS = 25;
/** Longest such pause, in ms: so much later than possible a command runs after a failover. */
const MAX_PAUSE_MS = 400;
/** A command that is sent from one node to the next goes at once so many times: a view of a cluster settles in fewer. */
const FREE_REDIRECTS = 3;
/** How long a command waits for a server that can serve it beyond the command time-out, per retry attempt, in ms. */
const PATIENCE_MS = 1_000;
/** Default of {@link ExecutorSettings.maxPending}. */
const MAX_PENDING = 100_000;

/** So long at most a client that closes waits for answers that somebody must react to, in ms. */
const MAX_CLOSING_MS = 1_000;

/** Settings of the executor. */
export interface ExecutorSettings {
  /** Longest time for a reply, in ms. */
  readonly timeout: number;
  /** How often a command that may be repeated is sent again. */
  readonly retryAttempts: number;
  /** How long replicas may take to confirm a command, in ms. */
  readonly slavesSyncTimeout: number;
  /** Whether an acquisition that none confirms has failed. */
  readonly checkLockSyncedSlaves: boolean;
  /**
   * More commands than this do not wait for a connection: they are refused, so that an outage cannot eat the memory.
   * @default 100 000
   */
  readonly maxPending?: number;
}

/**
 * The command side of a client.
 *
 * A call is: waiting (nobody to send it to) -> written -> answered | refused for now (pausing, then sent again) | in
 * doubt (sent again where its script allows it) | settled.
 */
export class Executor implements CommandExecutor {
  onReply: (() => void) | undefined;
  onUnheard: ((what: string) => void) | undefined;
  readonly #link: Link;
  readonly #settings: ExecutorSettings;
  readonly #written = new DeadlineQueue<Call>((call) => this.#timedOut(call));
  readonly #waiting = new DeadlineQueue<Call>((call) => call.fail(connectionError(call, this.#link)));
  readonly #pausing = new Map<Call, NodeJS.Timeout>();
  readonly #debts = new Debts<Call>();
  readonly #texts = new FarewellTexts();
  #epoch = 0;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(link: Link, settings: ExecutorSettings) {
    this.#link = link;
    this.#settings = settings;
    link.events = {
      ready: () => this.#flush(),
      lost: () => {
        this.#epoch++;
      },
      refused: (error) => this.#refused(error),
    };
  }

  get busy(): boolean {
    if (this.#written.size > 0) return true;
    for (const call of this.#waiting) if (!call.cancelled) return true;
    for (const call of this.#pausing.keys()) if (!call.cancelled) return true;
    return false;
  }

  get epoch(): number {
    return this.#epoch;
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Readonly<Record<A, ScriptArg>>,
    options?: RunOptions<R>,
  ): Promise<R> {
    const flat = scriptArguments(script, keys, args, options);
    const count = flat[1];
    const key = count === 0 ? undefined : (flat[2] as string);
    return new Promise<R>((resolve, reject) => {
      const call = new Call('evalsha', flat, key, script, options, resolve as never, reject);
      if (!call.farewell) return this.#start(call);
      const slot = key === undefined ? 0 : this.#link.slotOf(key);
      if (this.#texts.needed(script.sha, slot, this.#epoch, this.#state !== 'open')) call.useText();
      this.#resume(call);
    });
  }

  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown> {
    const key = options?.routeBy ?? String(args[0]);
    return new Promise((resolve, reject) => {
      this.#start(new Call(command, [...args], key, undefined, options, resolve, reject));
    });
  }

  outage(key: string, what: string): ConnectionError | undefined {
    const link = this.#link;
    // A connection that is just being opened is no outage.
    if (link.canSend(key) || (link.refusal ?? link.lastError) === undefined) return undefined;
    return connectionError({ what, sends: 0 }, link);
  }

  slotOf(key: string): number {
    return this.#link.slotOf(key);
  }

  async close(): Promise<void> {
    this.#state = 'closing';
    for (const call of this.#written) if (call.takesBack) this.#debts.owe(call);
    this.#end();
    await this.#debts.paid(Math.min(this.#settings.timeout, MAX_CLOSING_MS));
    await new Promise(setImmediate);
    this.#state = 'closed';
    this.#end();
    await this.#link.close();
  }

  #end(): void {
    for (const timer of this.#pausing.values()) clearTimeout(timer);
    const open = [...this.#pausing.keys(), ...this.#waiting, ...this.#written];
    for (const calls of [this.#pausing, this.#waiting, this.#written]) calls.clear();
    for (const call of open) call.fail(new ShutdownError(call.what));
  }

  #start(call: Call): void {
    const accepted = this.#state === 'open' || (this.#state === 'closing' && call.farewell);
    if (!accepted) call.fail(new ShutdownError(call.what));
    else if (this.#link.canSend(call.key)) this.#write(call);
    else this.#park(call);
  }

  /** As {@link #start}, for a call whose context is not that of the code that runs. */
  #resume(call: Call): void {
    call.context.runInAsyncScope(this.#start, this, call);
  }

  #write(call: Call): void {
    const now = performance.now();
    const writing = call.beginWriting(now, this.#epoch);
    this.#written.add(call, now + this.#settings.timeout + this.#link.syncTimeout);
    const args = travelling(call, this.#link.publishCommand);
    const alone = this.#written.size === 1;
    this.#link.send(call.command, args, call.key, call.receipt, alone).then(
      (reply) => this.#answered(call, reply),
      (error: Error) => this.#failed(call, writing, error),
    );
  }

  #answered(call: Call, reply: unknown): void {
    this.#leave(call);
    this.onReply?.();
    const doubt = call.answer(this.#heard(call, reply), this.#settings.checkLockSyncedSlaves);
    this.#debts.pay(call);
    if (doubt === undefined) return;
    if (doubt === 0) call.fail(new NoSyncedReplicasError(call.what, this.#settings.slavesSyncTimeout));
    else this.#lost(call, doubt);
  }

  /** The answer without the mark that nobody was told, of which the client is told instead. */
  #heard(call: Call, reply: unknown): unknown {
    if (!Array.isArray(reply) || reply[0] !== UNHEARD_MARK) return reply;
    this.onUnheard?.(call.what);
    return reply[1] ?? null;
  }

  /** Wherever it is: the answer may be that to an earlier writing, and find it waiting or pausing to be sent again. */
  #leave(call: Call): void {
    call.queue?.delete(call);
    if (this.#pausing.size === 0) return;
    clearTimeout(this.#pausing.get(call));
    this.#pausing.delete(call);
  }

  #failed(call: Call, writing: number, error: Error): void {
    this.#debts.pay(call);
    // An earlier writing of a call that was written again: the later one decides.
    if (call.settled || writing !== call.writings) return;
    this.#written.delete(call);
    this.onReply?.();
    switch (classify(error)) {
      case 'noScript':
        call.useText();
        call.unsend();
        return this.#restart(call);
      case 'redirected':
        call.unsend();
        return call.refusals < FREE_REDIRECTS ? this.#again(call) : this.#later(call, error);
      case 'unsent':
      case 'unavailable':
        call.unsend();
        return this.#later(call, error);
      case 'lost':
        return this.#lost(call, error);
      case 'wrongType':
      case 'refused':
        call.unsend();
        return call.fail(denial(call, this.#link, error));
    }
  }

  #lost(call: Call, error: Error): void {
    if (call.resend !== 'never' && call.sends <= this.#settings.retryAttempts && !call.cancelled) this.#resume(call);
    else call.fail(connectionError(call, this.#link, error));
  }

  #again(call: Call): void {
    call.refusals++;
    call.refusedAt ??= performance.now();
    this.#restart(call);
  }

  #restart(call: Call): void {
    // The answer to an earlier writing has come meanwhile.
    if (call.settled) return;
    if (call.cancelled) call.fail(connectionError(call, this.#link));
    else this.#resume(call);
  }

  /** It did not run and may later: tries as long as a call waits for a connection. */
  #later(call: Call, error: Error): void {
    const now = performance.now();
    call.refusedAt ??= now;
    if (call.cancelled || now - call.refusedAt >= this.#patience) return call.fail(denial(call, this.#link, error));
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(call.refusals, 10), MAX_PAUSE_MS);
    const timer = setTimeout(() => {
      this.#pausing.delete(call);
      this.#again(call);
    }, pause);
    timer.unref();
    this.#pausing.set(call, timer);
  }

  #park(call: Call): void {
    const { maxPending = MAX_PENDING } = this.#settings;
    const hopeless = this.#link.refusal !== undefined || this.#waiting.size + this.#pausing.size >= maxPending;
    if (hopeless) return call.fail(connectionError(call, this.#link));
    this.#waiting.add(call, performance.now() + this.#patience);
  }

  #flush(): void {
    for (const call of this.#waiting) {
      if (!this.#link.canSend(call.key)) continue;
      this.#waiting.delete(call);
      this.#restart(call);
    }
  }

  #refused(error: Error): void {
    for (const call of this.#waiting) {
      if (this.#link.canSend(call.key)) continue;
      this.#waiting.delete(call);
      call.fail(connectionError(call, this.#link, error));
    }
  }

  /** How long a call waits for a server that can serve it, in ms. */
  get #patience(): number {
    return this.#settings.timeout + this.#settings.retryAttempts * PATIENCE_MS;
  }

  #timedOut(call: Call): void {
    this.#link.unanswered(call.key, call.writtenAt);
    if (call.resend === 'always' && call.sends <= this.#settings.retryAttempts && !call.cancelled) this.#resume(call);
    else call.fail(new CommandTimeoutError(call.what, this.#settings.timeout, true));
  }
}
