import pDefer from 'p-defer';
import type { CommonSettings } from '../config/Settings';
import {
  CommandError,
  CommandTimeoutError,
  type ConnectionError,
  NoSyncedReplicasError,
  ShutdownError,
} from '../errors';
import { UNHEARD_MARK } from '../scripts/replies';
import type { Script, ScriptArg } from '../scripts/Script';
import { Alarm, arrived } from '../util/Alarm';
import { inTime, laterTurn } from '../util/timing';
import { DeadlineQueue } from './pending/DeadlineQueue';
import { connectionError, denial, PendingCommand } from './pending/PendingCommand';
import type { CommandExecutor, Fresh, RunOptions } from './pending/CommandExecutor';
import type { Link } from './link/Link';
import { classify, isGone, replyText } from './link/replyErrors';
import { KnownScripts, travelling } from './pending/scriptArguments';

/** First pause before a command is tried again that a server could not serve, in ms; it doubles. */
const FIRST_PAUSE_MS = 25;
/** Longest such pause, in ms. It is also the longest delay of a command after a failover has ended. */
const MAX_PAUSE_MS = 400;
/** A redirected command is sent on at once this many times: a view of a cluster settles in fewer. */
const FREE_REDIRECTS = 3;
/** Default of {@link ExecutorSettings.maxPending}. */
const MAX_PENDING = 100_000;

/** How long a closing client waits for late answers that a caller has to undo, in ms. */
const MAX_CLOSING_MS = 1_000;

/** Beyond the command time-out, per retry attempt, in ms. */
const WAIT_PER_RETRY_MS = 1_000;

/** So many command time-outs a call persists on servers that do not answer, besides its wait for a connection. */
const SILENT_TIMEOUTS = 2;

/**
 * Servers count as silent when the oldest command has had no answer for this long, in ms, or for the command time-out.
 */
const SILENT_MS = 1_500;
/** The shortest pause between two looks, in ms. */
const SILENCE_CHECK_MS = 100;

/** Settings of the executor. */
export interface ExecutorSettings extends Pick<
  CommonSettings,
  'timeout' | 'retryAttempts' | 'slavesSyncTimeout' | 'checkLockSyncedSlaves'
> {
  /**
   * Commands beyond this number do not wait for a connection but are refused, so that an outage cannot exhaust the
   * memory.
   * @default 100 000
   */
  readonly maxPending?: number;
}

/**
 * How long a call without a limit waits for a server, in ms: for a connection, or until the server stops refusing it.
 */
export function longestWaitMs({ timeout, retryAttempts }: Pick<CommonSettings, 'timeout' | 'retryAttempts'>): number {
  return timeout + retryAttempts * WAIT_PER_RETRY_MS;
}

/**
 * The command side of a client.
 *
 * A call is: waiting (no connection) -> written -> answered | refused for now (pausing, then sent again) | in doubt
 * (sent again where its script allows it) | settled.
 */
export class Executor implements CommandExecutor {
  onReply: (() => void) | undefined;
  onUnheard: ((what: string) => void) | undefined;
  onReplaced: ((concerns: (key: string) => boolean) => void) | undefined;
  /**
   * Called when a server does not answer, though its connection is open; and when it answers again, or a connection is
   * lost.
   */
  onSilence: ((silent: boolean) => void) | undefined;
  readonly #link: Link;
  readonly #settings: ExecutorSettings;
  readonly #written = new DeadlineQueue<PendingCommand>((pending) => this.#timedOut(pending));
  readonly #waiting = new DeadlineQueue<PendingCommand>((pending) =>
    pending.fail(connectionError(pending, this.#link)),
  );
  readonly #pausing = new Map<PendingCommand, NodeJS.Timeout>();
  /** While it closes: calls whose callers got an error and will undo what a late answer brings. */
  readonly #awaited = new Set<PendingCommand>();
  /** Settled when the last of them is. */
  readonly #allSettled = pDefer<void>();
  readonly #scripts = new KnownScripts();
  #connectionNumber = 0;
  /** Set while commands are under way, or were a moment ago. */
  readonly #silence = new Alarm(() => this.#listen(false), { judges: () => true });
  #listening = false;
  /** Whether a server is silent: see {@link onSilence}. */
  #silent = false;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(link: Link, settings: ExecutorSettings) {
    this.#link = link;
    this.#settings = settings;
    link.events = {
      ready: () => this.#flush(),
      lost: () => {
        this.#connectionNumber++;
        this.#become(false);
      },
      replaced: (concerns) => this.onReplaced?.(concerns),
      refused: (error) => this.#refused(error),
    };
  }

  get busy(): boolean {
    if (this.#unsent().some(({ givesBack }) => givesBack)) return true;
    return [...this.#written].some(({ settled }) => !settled);
  }

  drain(): void {
    for (const pending of this.#unsent()) {
      const acquirer = pending.sendRecord?.acquirer;
      if (acquirer === undefined) continue;
      try {
        pending.context.runInAsyncScope(() => acquirer.mayBegin?.());
      } catch (error) {
        this.#leave(pending);
        pending.fail(error as Error);
      }
    }
  }

  #unsent(): PendingCommand[] {
    return [...this.#waiting, ...this.#pausing.keys()];
  }

  get connectionNumber(): number {
    return this.#connectionNumber;
  }

  run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: Readonly<Record<K, string>>,
    args: Fresh<Readonly<Record<A, ScriptArg>>>,
    options?: RunOptions<R>,
  ): Promise<R> {
    const key = keys[script.realKeys[0]!] ?? options?.moreKeys?.[0];
    return new Promise<R>((resolve, reject) => {
      const pending = new PendingCommand('evalsha', args, key, script, keys, options, resolve as never, reject);
      if (pending.cleanup) this.#resume(pending);
      else this.#start(pending);
    });
  }

  call(command: string, args: readonly (string | number | Buffer)[], options?: RunOptions): Promise<unknown> {
    const key = options?.routeBy ?? String(args[0]);
    return new Promise((resolve, reject) => {
      this.#start(new PendingCommand(command, args, key, undefined, undefined, options, resolve, reject));
    });
  }

  async publish(channel: string, message: string): Promise<number> {
    const command = this.#link.publishCommand.toLowerCase();
    return Number(await this.call(command, [channel, message], { routeBy: channel, what: 'publish' }));
  }

  outage(key: string, what: string): ConnectionError | undefined {
    const link = this.#link;
    // A connection that is just being opened is no outage.
    if (link.canSend(key) || (link.refusal ?? link.lastError) === undefined) return undefined;
    return connectionError({ what, sends: 0 }, link);
  }

  slotOf(key: string): number {
    return this.#link.slotOf?.(key) ?? 0;
  }

  laterTurn(): Promise<void> {
    return this.#link.laterTurn?.() ?? laterTurn();
  }

  async close(): Promise<void> {
    this.#state = 'closing';
    // What has been answered by now is not told that the client is shut down.
    await this.laterTurn();
    for (const pending of this.#written) if (pending.takesBack) this.#awaited.add(pending);
    this.#end();
    const limitMs = Math.min(this.#settings.timeout, MAX_CLOSING_MS);
    if (this.#awaited.size > 0) await inTime(this.#allSettled.promise, limitMs);
    await this.laterTurn();
    this.#state = 'closed';
    this.#end();
    this.#silence.off();
    await this.#link.close();
  }

  #end(): void {
    for (const timer of this.#pausing.values()) clearTimeout(timer);
    const open = [...this.#unsent(), ...this.#written];
    for (const calls of [this.#pausing, this.#waiting, this.#written]) calls.clear();
    for (const pending of open) pending.fail(new ShutdownError(pending.what));
  }

  #start(pending: PendingCommand): void {
    const accepted = this.#state === 'open' || (this.#state === 'closing' && pending.cleanup);
    if (!accepted) pending.fail(new ShutdownError(pending.what));
    else if (this.#link.canSend(pending.key)) this.#write(pending);
    else this.#park(pending);
  }

  /** As {@link #start}, for a call whose context is not the current one. */
  #resume(pending: PendingCommand): void {
    pending.context.runInAsyncScope(this.#start, this, pending);
  }

  #write(pending: PendingCommand): void {
    const now = performance.now();
    const writing = pending.beginWriting(now, this.#connectionNumber);
    const answerBy = now + this.#settings.timeout + this.#link.syncTimeout;
    this.#written.add(pending, answerBy);
    // The budget of the others is not shorter than the time for their first answer.
    if (pending.query || writing > 1) this.#endInBudget(pending, answerBy);
    if (!this.#listening && this.onSilence !== undefined) {
      this.#listening = true;
      this.#silence.set(now + this.#silentMs);
    }
    if (pending.commandName === 'evalsha') {
      const server = this.#link.serverOf?.(pending.key) ?? '';
      const known = this.#scripts.learn(pending.args[0] as string, server, this.#connectionNumber);
      // A closed client cannot send the text of a cleanup later, so it is sent now.
      if (!known || (pending.cleanup && this.#state !== 'open')) pending.useText();
    }
    const args = travelling(pending, this.#link.publishCommand);
    const alone = this.#written.size === 1;
    this.#link.send(pending.commandName, args, pending.key, pending.synced ? pending : undefined, alone).then(
      (reply) => this.#answered(pending, reply),
      (error: Error) => this.#failed(pending, writing, error),
    );
  }

  #answered(pending: PendingCommand, reply: unknown): void {
    arrived.replies++;
    this.#leave(pending);
    this.onReply?.();
    if (this.#silent) this.#listen(true);
    // The mark that no waiter was notified becomes a warning of the client.
    const unheard = Array.isArray(reply) && reply[0] === UNHEARD_MARK;
    if (unheard) this.onUnheard?.(pending.what);
    const answer: unknown = unheard ? (reply[1] ?? null) : reply;
    const doubt = pending.answer(answer, this.#settings.checkLockSyncedSlaves);
    if (this.#awaited.size > 0) this.#settled(pending);
    // All replies on that connection are out of step, as behind a proxy that has lost one.
    if (pending.misread) this.#link.giveUp?.(pending.key);
    if (doubt === undefined) return;
    if (doubt === 0) pending.fail(new NoSyncedReplicasError(pending.what, this.#settings.slavesSyncTimeout));
    else this.#lost(pending, doubt);
  }

  /** A closing client need not wait for this call any longer. */
  #settled(pending: PendingCommand): void {
    if (this.#awaited.delete(pending) && this.#awaited.size === 0) this.#allSettled.resolve();
  }

  /** From any state: the answer may belong to an earlier send, while the call waits or pauses before the next one. */
  #leave(pending: PendingCommand): void {
    pending.queue?.delete(pending);
    if (this.#pausing.size === 0) return;
    clearTimeout(this.#pausing.get(pending));
    this.#pausing.delete(pending);
  }

  #failed(pending: PendingCommand, writing: number, error: Error): void {
    this.#settled(pending);
    // The call was sent again since: the later send decides.
    if (writing !== pending.writings) return;
    this.#written.delete(pending);
    if (pending.settled) return;
    this.onReply?.();
    const failure = classify(error);
    /** Whether its acquisition waits; `undefined` where it is no acquisition. */
    const waits = pending.sendRecord?.acquirer?.waits;
    switch (failure) {
      case 'noScript':
        pending.unsend();
        if (pending.useText()) return this.#restart(pending);
        // The server got the text and still does not know the script: a proxy that does not understand scripts.
        return pending.fail(denial(pending, this.#link, error));
      case 'redirected':
        pending.unsend();
        return pending.refusals < FREE_REDIRECTS ? this.#again(pending) : this.#later(pending, error);
      case 'unsent':
      case 'unavailable':
        if (replyText(error).startsWith('READONLY')) this.#link.giveUp?.(pending.key);
        pending.unsend();
        return this.#later(pending, error);
      case 'lost':
        return this.#lost(pending, error);
      case 'full':
      case 'tooFewReplicas':
        pending.unsend();
        // A single attempt fails at once when a healthy server cannot take it now. (A red lock with this member tries
        // again.) A release fails at once when the server is full.
        if (failure === 'full' ? waits === true : waits !== false) return this.#later(pending, error);
        return pending.fail(denial(pending, this.#link, error));
      case 'wrongType':
      case 'refused': {
        pending.unsend();
        const denied = denial(pending, this.#link, error);
        // Redis may refuse a script in the middle: what it has written stays, and its caller undoes that.
        if (denied instanceof CommandError && denied.mayHaveRun) pending.ran();
        return pending.fail(denied);
      }
    }
  }

  #lost(pending: PendingCommand, error: Error): void {
    if (pending.resend !== 'never' && pending.sends <= this.#settings.retryAttempts && !pending.cancelled)
      this.#resume(pending);
    else pending.fail(connectionError(pending, this.#link, error));
  }

  #again(pending: PendingCommand): void {
    pending.refusals++;
    pending.refusedAt ??= performance.now();
    this.#restart(pending);
  }

  #restart(pending: PendingCommand): void {
    // An earlier send was answered meanwhile.
    if (pending.settled) return;
    if (pending.cancelled) pending.fail(connectionError(pending, this.#link));
    else this.#resume(pending);
  }

  /** It did not run but may later: tries again for as long as a call may wait for a connection. */
  #later(pending: PendingCommand, error: Error): void {
    const now = performance.now();
    pending.refusedAt ??= now;
    pending.refused(error);
    const leftMs = Math.min(pending.refusedAt + longestWaitMs(this.#settings), this.#budgetEnd(pending)) - now;
    if (pending.cancelled || leftMs <= 0) return pending.fail(denial(pending, this.#link, error));
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(pending.refusals, 10), MAX_PAUSE_MS, leftMs);
    const timer = setTimeout(() => {
      this.#pausing.delete(pending);
      if (pause < leftMs) this.#again(pending);
      else pending.fail(denial(pending, this.#link, error));
    }, pause);
    timer.unref();
    this.#pausing.set(pending, timer);
  }

  #park(pending: PendingCommand): void {
    const { maxPending = MAX_PENDING } = this.#settings;
    const hopeless = this.#link.refusal !== undefined || this.#waiting.size + this.#pausing.size >= maxPending;
    if (hopeless) return pending.fail(connectionError(pending, this.#link));
    const now = performance.now();
    pending.startedAt ??= now;
    const connectedBy = now + longestWaitMs(this.#settings);
    this.#waiting.add(pending, connectedBy);
    this.#endInBudget(pending, connectedBy);
  }

  /**
   * When the budget of a call is used up (monotonic), whatever is repeated within it. What only asks, and a single
   * attempt to acquire, have the command time-out, unless it is known that no server can serve them just now. What
   * changes something persists: its caller would not know whether it was done.
   */
  #budgetEnd({ startedAt = 0, limitMs, query, refusedAt, sendRecord }: PendingCommand): number {
    if (limitMs !== undefined) return startedAt + limitMs;
    const { timeout } = this.#settings;
    // No replica confirms what only asks.
    const answerMs = query ? timeout : timeout + this.#link.syncTimeout;
    const waits = sendRecord?.acquirer?.waits;
    if (waits ?? !query) return startedAt + SILENT_TIMEOUTS * answerMs + longestWaitMs(this.#settings);
    return startedAt + (refusedAt === undefined ? answerMs : Math.max(answerMs, longestWaitMs(this.#settings)));
  }

  /** Ends a call with its budget. @param otherwiseBy - when something else ends it, or sends it again (monotonic) */
  #endInBudget(pending: PendingCommand, otherwiseBy: number): void {
    const end = this.#budgetEnd(pending);
    if (end < otherwiseBy) pending.endAt(end, () => this.#spent(pending));
  }

  #spent(pending: PendingCommand): void {
    const now = performance.now();
    const isWritten = pending.queue === this.#written;
    // A server that was there is gone, and another one may take over.
    if (!isWritten && this.#connectionNumber > 0 && isGone(this.#link.lastError)) pending.refusedAt ??= now;
    const end = this.#budgetEnd(pending);
    if (end > now) return pending.endAt(end, () => this.#spent(pending));
    // What is written stays until it is answered, or until the link learns that it was not.
    if (!isWritten) this.#leave(pending);
    const ms = Math.round(end - pending.startedAt!);
    pending.fail(isWritten ? new CommandTimeoutError(pending.what, ms, true) : connectionError(pending, this.#link));
  }

  get #silentMs(): number {
    return Math.min(SILENT_MS, this.#settings.timeout);
  }

  /** Looks whether the servers answer what is under way. @param answered - whether one just did */
  #listen(answered: boolean): void {
    const { oldest } = this.#written;
    const now = performance.now();
    const silentAt = (oldest?.writtenAt ?? Infinity) + this.#silentMs;
    // What has timed out is not under way, but that is no sign of life.
    if (silentAt <= now) this.#become(true);
    else if (answered) this.#become(false);
    this.#listening = oldest !== undefined;
    if (this.#listening) this.#silence.set(Math.max(silentAt, now + SILENCE_CHECK_MS));
  }

  #become(silent: boolean): void {
    if (silent === this.#silent) return;
    this.#silent = silent;
    this.onSilence?.(silent);
  }

  #flush(): void {
    for (const pending of this.#waiting) {
      if (!this.#link.canSend(pending.key)) continue;
      this.#waiting.delete(pending);
      this.#restart(pending);
    }
  }

  #refused(error: Error): void {
    for (const pending of this.#waiting) {
      if (this.#link.canSend(pending.key)) continue;
      this.#waiting.delete(pending);
      pending.fail(connectionError(pending, this.#link, error));
    }
  }

  #timedOut(pending: PendingCommand): void {
    this.#link.unanswered(pending.key, pending.writtenAt);
    this.#become(true);
    const mayAgain = pending.resend === 'always' && pending.sends <= this.#settings.retryAttempts && !pending.cancelled;
    if (mayAgain && this.#budgetEnd(pending) > performance.now()) this.#resume(pending);
    else pending.fail(new CommandTimeoutError(pending.what, this.#settings.timeout, true));
  }
}
