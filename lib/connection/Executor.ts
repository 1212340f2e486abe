import { CommandError, CommandTimeoutError, ConnectionError, ShutdownError } from '../errors';
import { PUBLISH_COMMAND, RESEND_FLAG, type Script, type ScriptArg } from '../scripts/Script';
import { clampTimer } from '../util/duration';
import { Call } from './Call';
import type { CommandExecutor, RunOptions } from './CommandExecutor';
import type { Link } from './Link';
import { classify } from './replyErrors';

/** Pause between two tries of a command that a server could not serve, per attempt, in ms. */
const RETRY_PAUSE_MS = 200;
/** How long a command waits for a connection beyond the command time-out, per retry attempt, in ms. */
const CONNECT_PATIENCE_MS = 1_000;
/** After so many command time-outs without a single byte the connection is given up. */
const SILENT_TIMEOUTS = 2;
/** Pause before a connection that refused a command is tried again, in ms: its close event is still to come. */
const UNSENT_PAUSE_MS = 10;
/** More commands than this do not wait for a connection: they are refused, so that an outage cannot eat the memory. */
const MAX_PENDING = 100_000;

/** Settings of the executor. */
export interface ExecutorSettings {
  /** Longest time for a reply, in ms. */
  readonly timeout: number;
  /** How often a command that may be repeated is sent again. */
  readonly retryAttempts: number;
}

/**
 * The command side of a client.
 *
 * A call is: waiting (no connection) -> written -> answered | in doubt -> waiting again (where its script allows it) |
 * settled. Replies come in the order of writing and all have the same time-out, so one timer watches the oldest call.
 */
export class Executor implements CommandExecutor {
  onReply: (() => void) | undefined;
  readonly #link: Link;
  readonly #settings: ExecutorSettings;
  readonly #written = new Set<Call>();
  readonly #waiting = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #epoch = 0;
  /** Since when commands are written and nothing at all comes back (monotonic). */
  #silentSince: number | undefined;
  #closed = false;

  constructor(link: Link, settings: ExecutorSettings) {
    this.#link = link;
    this.#settings = settings;
    link.events = {
      ready: () => this.#flush(),
      lost: () => {
        this.#epoch++;
      },
    };
  }

  get epoch(): number {
    return this.#epoch;
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Readonly<Record<A, ScriptArg>>,
    options?: RunOptions,
  ): Promise<R> {
    const flat: ScriptArg[] = [script.sha, 0];
    for (const key of script.keys) flat.push(keys[key]);
    if (options?.moreKeys !== undefined) for (const key of options.moreKeys) flat.push(key);
    flat[1] = flat.length - 2;
    for (const arg of script.args) flat.push(args[arg]);
    if (options?.moreArgs !== undefined) for (const arg of options.moreArgs) flat.push(arg);
    return new Promise<R>((resolve, reject) => {
      this.#start(new Call('evalsha', flat, flat[2] as string | undefined, script, options, resolve as never, reject));
    });
  }

  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#start(new Call(command, [...args], String(args[0]), undefined, options, resolve, reject));
    });
  }

  slotOf(key: string): number {
    return this.#link.slotOf(key);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const call of [...this.#waiting, ...this.#written]) call.fail(new ShutdownError(call.what));
    this.#waiting.clear();
    this.#written.clear();
    await this.#link.close();
  }

  #start(call: Call): void {
    if (this.#closed) call.fail(new ShutdownError(call.what));
    else if (this.#link.ready) this.#write(call);
    else this.#park(call);
  }

  #write(call: Call): void {
    const now = performance.now();
    call.writtenAt = now;
    call.sends++;
    const token = call.token;
    if (token !== undefined) {
      token.sends++;
      token.epoch = this.#epoch;
    }
    this.#written.add(call);
    this.#watch(now + this.#settings.timeout);
    this.#link.send(call.command, this.#fill(call), call.key).then(
      (reply) => {
        this.#written.delete(call);
        this.#silentSince = undefined;
        this.onReply?.();
        call.succeed(reply);
      },
      (error: Error) => {
        this.#written.delete(call);
        this.#silentSince = undefined;
        this.onReply?.();
        this.#failed(call, error);
      },
    );
  }

  /** The arguments as they travel now: a copy, with the placeholders replaced. */
  #fill(call: Call): (string | number | Buffer)[] {
    const filled = call.args.slice();
    for (let i = 0; i < filled.length; i++) {
      const arg = filled[i];
      if (arg === PUBLISH_COMMAND) filled[i] = this.#link.publishCommand;
      else if (arg === RESEND_FLAG) filled[i] = call.sends > 1 ? '1' : '0';
    }
    return filled as (string | number | Buffer)[];
  }

  #failed(call: Call, error: Error): void {
    if (call.settled) return;
    if (this.#closed) return call.fail(new ShutdownError(call.what));
    const failure = classify(error);
    if (failure === 'noScript') {
      call.useText();
      return this.#again(call);
    }
    if (failure === 'unsent') {
      call.unsend();
      this.#park(call);
      setTimeout(() => this.#flush(), UNSENT_PAUSE_MS).unref();
      return;
    }
    if (failure === 'lost') {
      const again = call.resend !== 'never' && call.sends <= this.#settings.retryAttempts && !call.cancelled;
      return again ? this.#start(call) : call.fail(this.#connectionError(call, error));
    }
    if (failure === 'unavailable' && !call.cancelled && call.refusals < this.#settings.retryAttempts) {
      call.refusals++;
      setTimeout(() => this.#again(call), RETRY_PAUSE_MS * call.refusals);
      return;
    }
    call.fail(
      failure === 'wrongType' && call.name !== undefined
        ? CommandError.wrongType(call.name, error)
        : new CommandError(call.what, error),
    );
  }

  #again(call: Call): void {
    if (call.settled) return;
    if (call.cancelled) call.fail(this.#connectionError(call, undefined));
    else this.#start(call);
  }

  #park(call: Call): void {
    if (this.#waiting.size >= MAX_PENDING) return call.fail(this.#connectionError(call, undefined));
    const patience = this.#settings.timeout + this.#settings.retryAttempts * CONNECT_PATIENCE_MS;
    call.waitUntil ??= performance.now() + patience;
    this.#waiting.add(call);
    this.#watch(call.waitUntil);
  }

  #flush(): void {
    for (const call of this.#waiting) {
      if (!this.#link.ready) return;
      this.#waiting.delete(call);
      call.waitUntil = undefined;
      if (call.cancelled) call.fail(this.#connectionError(call, undefined));
      else this.#write(call);
    }
  }

  #connectionError(call: Call, cause: Error | undefined): ConnectionError {
    const reason = cause ?? this.#link.lastError;
    const where = `Redis at ${this.#link.address}`;
    const message =
      call.sends > 0
        ? `The connection to ${where} was lost before the answer came (${call.what}); it may have been done or not.`
        : `${where} cannot be reached (${call.what})${reason === undefined ? '' : `: ${reason.message}`}. Is it running, and is the address right?`;
    return new ConnectionError(message, call.sends > 0, reason === undefined ? undefined : { cause: reason });
  }

  /** Makes sure that the timer fires at `at` or before. */
  #watch(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#tick(), clampTimer(Math.max(1, Math.ceil(at - performance.now()))));
    // Sockets keep the process alive while somebody waits for them; this timer alone shall not.
    this.#timer.unref();
  }

  #tick(): void {
    this.#timerAt = Infinity;
    const now = performance.now();
    for (const call of this.#waiting) {
      if (call.waitUntil! > now) break;
      this.#waiting.delete(call);
      call.fail(this.#connectionError(call, undefined));
    }
    for (const call of this.#written) {
      if (call.writtenAt + this.#settings.timeout > now) break;
      this.#written.delete(call);
      this.#timedOut(call, now);
    }
    const [waiting] = this.#waiting;
    const [written] = this.#written;
    if (waiting !== undefined) this.#watch(waiting.waitUntil!);
    if (written !== undefined) this.#watch(written.writtenAt + this.#settings.timeout);
  }

  #timedOut(call: Call, now: number): void {
    const timeout = this.#settings.timeout;
    this.#silentSince ??= call.writtenAt;
    if (now - this.#silentSince >= SILENT_TIMEOUTS * timeout) {
      // The connection looks open but is dead (a cable, a firewall): only a new one can help.
      this.#silentSince = undefined;
      this.#link.reconnect();
    }
    if (call.resend === 'always' && call.sends <= this.#settings.retryAttempts && !call.cancelled) this.#again(call);
    else call.fail(new CommandTimeoutError(call.what, timeout, true));
  }
}
