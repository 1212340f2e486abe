import { CommandError, ConfigError, ConnectionError } from '../../errors';
import type { Resend, Script, ScriptArg } from '../../scripts/Script';
import { Alarm } from '../../util/Alarm';
import { callerContext, type Context, OUTSIDE } from '../../util/outside';
import { driverError, remedy } from '../link/driverError';
import type { Link, ReplicaAck } from '../link/Link';
import { classify, isReply } from '../link/replyErrors';
import type { Fresh, RunOptions, SendRecord } from './CommandExecutor';
import { scriptArguments } from './scriptArguments';
import type { Queued } from './DeadlineQueue';

/** A script as a call needs it, whatever its result is. */
type SentScript = Omit<Script<string, string, unknown>, 'synced'> & Pick<Script<string, string, never>, 'synced'>;

/** The named arguments of a script, or those of a plain command. */
type SentArgs = Fresh<NamedArgs> | readonly ScriptArg[];
type NamedArgs = Readonly<Record<string, ScriptArg>>;

const NO_KEYS: Readonly<Record<string, string>> = Object.freeze({});

/** One command under way, see {@link Executor} for its states. Settles once. */
export class PendingCommand implements ReplicaAck {
  commandName: string;
  /** As they were last written. */
  args: ScriptArg[] = [];
  readonly sendRecord: SendRecord | undefined;
  /** See {@link SendRecord.cleanup}. */
  readonly cleanup: boolean;
  /** Whether the link is to ask the replicas, if there are any, and to record here how many have it. */
  readonly synced: boolean;
  readonly key: string | undefined;
  readonly resend: Resend;
  /**
   * The context of its caller. It is sent in it, also after a wait or when it is sent again. A cleanup has no caller:
   * it is sent outside any context.
   */
  readonly context: Context;
  /** Whether it only asks. */
  readonly query: boolean;
  /** How long it may take in all, in ms, where its caller says so. */
  readonly limitMs: number | undefined;
  /** When it was first written, or first had to wait (monotonic). */
  startedAt: number | undefined;
  /** When it was last written (monotonic). */
  writtenAt = 0;
  /** Until when it waits, for a connection or for its answer (monotonic). */
  deadline = 0;
  queue: Queued['queue'];
  older: Queued | undefined;
  newer: Queued | undefined;
  /** How often it was written and may have run. */
  sends = 0;
  /** How often it was written at all: results of earlier writes are ignored. */
  writings = 0;
  /** How often servers could not serve it ... */
  refusals = 0;
  /** ... and since when (monotonic) that, or that there is none just now, is known. */
  refusedAt: number | undefined;
  acked: number | Error | undefined;
  settled = false;
  /** Whether the answer was one that its script cannot give. */
  misread = false;
  readonly #script: SentScript | undefined;
  readonly #keys: Readonly<Record<string, string>>;
  readonly #args: SentArgs;
  readonly #options: RunOptions | undefined;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: Error) => void;
  /** The value that came although the caller is about to get an error: no replica has it. */
  #unconfirmed: { readonly value: unknown } | undefined;
  #failed = false;
  /** Ends it when its budget is used up, where nothing else does by then. */
  #end: Alarm | undefined;

  constructor(
    command: string,
    args: SentArgs,
    key: string | undefined,
    script: SentScript | undefined,
    keys: Readonly<Record<string, string>> = NO_KEYS,
    options: RunOptions | undefined,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
  ) {
    this.commandName = command;
    this.key = key;
    this.resend = script === undefined ? 'always' : script.resend;
    this.query = script === undefined || script.query;
    this.synced = script !== undefined && script.synced !== false;
    this.limitMs = options?.timeout;
    this.sendRecord = options?.sendRecord;
    this.cleanup = options?.sendRecord?.cleanup === true;
    this.#script = script;
    this.#keys = keys;
    this.#args = args;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.context = this.cleanup ? OUTSIDE : callerContext();
  }

  /** Whether its caller has stopped waiting. */
  get cancelled(): boolean {
    return this.sendRecord?.cancelled === true;
  }

  /** Whether its answer is wanted even after its caller got an error. */
  get takesBack(): boolean {
    return this.#options?.late !== undefined;
  }

  /** Whether its caller waits for a change that it makes, and it is no acquisition. */
  get givesBack(): boolean {
    const changes = this.#script !== undefined && this.name !== undefined;
    return changes && !this.cancelled && !this.cleanup && this.sendRecord?.acquirer === undefined;
  }

  /** The object's name as the user gave it. */
  get name(): string | undefined {
    return this.#options?.name;
  }

  /** The operation, for errors. */
  get what(): string {
    const what = this.#options?.what ?? this.#script?.name ?? this.commandName.toUpperCase();
    return this.name === undefined ? what : `${what} '${this.name}'`;
  }

  /**
   * Sends the text of its script from now on, which also caches it: the server does not know the script, or may not.
   * @returns whether this changed anything
   */
  useText(): boolean {
    if (this.#script === undefined || this.commandName === 'eval') return false;
    this.commandName = 'eval';
    this.args[0] = this.#script.lua;
    return true;
  }

  /**
   * It is about to be written, at `now` (monotonic), to the connection `connectionNumber`. Its arguments become what
   * is true now.
   * @returns the number of this write
   */
  beginWriting(now: number, connectionNumber: number): number {
    this.writtenAt = now;
    this.startedAt ??= now;
    // The result of an earlier write says nothing about this one.
    this.acked = undefined;
    this.misread = false;
    this.sends++;
    const { sendRecord } = this;
    if (sendRecord !== undefined) {
      sendRecord.sends++;
      if (this.sends > 1 && sendRecord.connectionNumber !== connectionNumber) sendRecord.onManyConnections = true;
      sendRecord.connectionNumber = connectionNumber;
      sendRecord.sentAt ??= now;
    }
    const script = this.#script;
    if (script === undefined) this.args = [...(this.#args as readonly ScriptArg[])];
    else {
      this.args = scriptArguments(script, this.#keys, this.#args as Fresh<NamedArgs>, this.#options);
      // Its own text; a caller may send EVAL with another one, without a script.
      if (this.commandName === 'eval') this.args[0] = script.lua;
    }
    return ++this.writings;
  }

  /** The last send was refused, but a part of it ran. */
  ran(): void {
    if (this.sendRecord !== undefined) this.sendRecord.sends++;
  }

  /** The last send certainly did not run. */
  unsend(): void {
    this.sends--;
    if (this.sendRecord === undefined) return;
    this.sendRecord.sends--;
    if (this.sends === 0) this.sendRecord.sentAt = undefined;
  }

  /** The server cannot serve it now: records the reason. It pauses, and no longer than it may. */
  refused(error: Error): void {
    this.#end?.off();
    if (this.sendRecord !== undefined && isReply(error)) {
      this.sendRecord.refusal = new CommandError(this.what, driverError(error));
    }
  }

  /**
   * Handles the reply; succeeds unless a replica should have the write and none does.
   * @param checked - whether a replica should have it
   * @returns otherwise the reason: 0 replicas, or why the number is unknown; or that the answer cannot be read
   */
  answer(reply: unknown, checked: boolean): 0 | Error | undefined {
    if (this.settled && !this.#failed) return undefined;
    const script = this.#script;
    let value = reply;
    try {
      if (script !== undefined) value = script.decode(reply);
    } catch (error) {
      this.misread = true;
      return this.settled ? undefined : (error as Error);
    }
    if (this.settled) {
      this.#options?.late?.(value);
      return undefined;
    }
    const { acked } = this;
    if (checked && (acked === 0 || acked instanceof Error)) {
      if (this.sendRecord !== undefined) this.sendRecord.unconfirmed = true;
      if (typeof script?.synced === 'function' && script.synced(value as never)) {
        this.#unconfirmed = { value };
        return acked;
      }
    }
    this.settled = true;
    this.#end?.off();
    this.#resolve(value);
    return undefined;
  }

  /** Has it end then (monotonic), unless it is settled before. @param end - called then; it fails it */
  endAt(at: number, end: () => void): void {
    this.#end?.off();
    this.#end = new Alarm(end, { judges: () => true });
    this.#end.set(at);
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = this.#failed = true;
    this.#end?.off();
    this.#reject(error);
    if (this.#unconfirmed !== undefined) this.#options?.late?.(this.#unconfirmed.value);
  }
}

/** What errors need of a call. */
type Told = Pick<PendingCommand, 'what' | 'sends'>;

/**
 * The error of a call for which no server could be reached, or whose connection broke.
 * @param cause - what went wrong, where the caller knows it better than the link's last error
 */
export function connectionError(call: Told, link: Link, cause?: Error): ConnectionError {
  const raw = cause ?? link.refusal ?? link.lastError;
  const reason = raw && driverError(raw);
  return new ConnectionError(message(call, link, reason), call.sends > 0, reason && { cause: reason });
}

/** The error of a call that did not run this time, and may not be tried again. @param error - why not */
export function denial(pending: PendingCommand, link: Link, error: Error): Error {
  const failure = classify(error);
  if (pending.sends > 0 || failure === 'unsent' || failure === 'redirected')
    return connectionError(pending, link, error);
  if (failure === 'wrongType' && pending.name !== undefined)
    return CommandError.wrongType(pending.name, driverError(error));
  return new CommandError(pending.what, driverError(error));
}

function message(call: Told, link: Link, reason: Error | undefined): string {
  const where = `Redis at ${link.address}`;
  if (call.sends > 0) {
    return `The connection to ${where} was lost before the reply came (${call.what}); the command may or may not have run.`;
  }
  if (link.refusal instanceof ConfigError) return `${where} cannot serve us (${call.what}): ${link.refusal.message}`;
  if (link.refusal !== undefined) {
    const refusal = driverError(link.refusal);
    return `${where} refuses the connection (${call.what}): ${refusal.message}${remedy(refusal)}`;
  }
  // The network drops everything, or a frozen process accepts the connection: neither gives any answer.
  const why = `: ${reason === undefined ? 'it has neither refused nor answered' : reason.message}`;
  if (reason?.name === 'LoginError') return `Could not log in to ${where} (${call.what})${why}`;
  // It answers, so it runs: it loads its data, has no room for another client, or runs a long script.
  if (reason !== undefined && isReply(reason)) return `${where} cannot serve us now (${call.what})${why}`;
  const hint = reason === undefined ? '' : remedy(reason);
  return `${where} cannot be reached (${call.what})${why}${hint === '' ? '. Is it running, and is the address right?' : hint}`;
}
