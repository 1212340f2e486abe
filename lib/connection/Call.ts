import type { Resend, ScriptArg } from '../scripts/Script';
import { callerContext, OUTSIDE, type Context } from '../util/outside';
import type { CallToken, RunOptions } from './CommandExecutor';
import type { Queued } from './DeadlineQueue';
import type { Receipt } from './Link';

/** What a call needs of its script. */
export interface CalledScript {
  readonly name: string;
  readonly lua: string;
  readonly resend: Resend;
  readonly synced: boolean | ((value: never) => boolean);
  readonly decode: (reply: unknown) => unknown;
}

/** One command on its way, see {@link Executor} for its states. Settles once. */
export class Call implements Receipt {
  command: string;
  readonly args: ScriptArg[];
  readonly key: string | undefined;
  readonly resend: Resend;
  /**
   * Whose it is: it is sent in this context, also when it had to wait or is sent again. Nobody's where it takes back what
   * somebody left behind.
   */
  readonly context: Context;
  /** When it was last written (monotonic). */
  writtenAt = 0;
  /** Until when it waits, for a connection or for its answer (monotonic). */
  deadline = 0;
  queue: Queued['queue'];
  position = 0;
  /** How often it was written and may have run. */
  sends = 0;
  /** How often it was written at all: what comes of an earlier writing does not matter any more. */
  writings = 0;
  /** How often servers could not serve it ... */
  refusals = 0;
  /** ... and since when (monotonic). */
  refusedAt: number | undefined;
  acked: number | Error | undefined;
  settled = false;
  readonly #script: CalledScript | undefined;
  readonly #options: RunOptions | undefined;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: Error) => void;
  /** What came although the caller is about to be told an error: no replica has it. */
  #unconfirmed: { readonly value: unknown } | undefined;
  #failed = false;

  constructor(
    command: string,
    args: ScriptArg[],
    key: string | undefined,
    script: CalledScript | undefined,
    options: RunOptions | undefined,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
  ) {
    this.command = command;
    this.args = args;
    this.key = key;
    this.resend = script === undefined ? 'always' : script.resend;
    this.#script = script;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.context = options?.token?.farewell === true ? OUTSIDE : callerContext();
  }

  /** Whether its caller does not wait any more. */
  get cancelled(): boolean {
    return this.token?.cancelled === true;
  }

  /** See {@link CallToken.farewell}. */
  get farewell(): boolean {
    return this.token?.farewell === true;
  }

  /** Whether somebody wants its answer even after its caller was told an error. */
  get takesBack(): boolean {
    return this.#options?.late !== undefined;
  }

  get token(): CallToken | undefined {
    return this.#options?.token;
  }

  /** The object's name as the user gave it. */
  get name(): string | undefined {
    return this.#options?.name;
  }

  /** Where the link writes down how many replicas have it, if that matters. */
  get receipt(): Receipt | undefined {
    return this.#script === undefined || this.#script.synced === false ? undefined : this;
  }

  /** What is being done, for errors. */
  get what(): string {
    const what = this.#options?.what ?? this.#script?.name ?? this.command.toUpperCase();
    return this.name === undefined ? what : `${what} '${this.name}'`;
  }

  /** Sends the text of its script from now on, which also caches it: the server does not know it, or may not. */
  useText(): void {
    if (this.#script === undefined) return;
    this.command = 'eval';
    this.args[0] = this.#script.lua;
  }

  /** It is about to be written, at `now` (monotonic), to the connection `epoch`. @returns which writing of it that is */
  beginWriting(now: number, epoch: number): number {
    this.writtenAt = now;
    this.sends++;
    const { token } = this;
    if (token !== undefined) {
      token.sends++;
      if (this.sends > 1 && token.epoch !== epoch) token.scattered = true;
      token.epoch = epoch;
      token.sentAt ??= now;
    }
    return ++this.writings;
  }

  /** The last send certainly did not run. */
  unsend(): void {
    this.sends--;
    if (this.token === undefined) return;
    this.token.sends--;
    if (this.sends === 0) this.token.sentAt = undefined;
  }

  /**
   * The reply has come; succeeds unless a replica should have it and none does.
   * @param checked - whether that matters
   * @returns in that case what is known: 0 replicas, or why nobody knows
   */
  answer(reply: unknown, checked: boolean): 0 | Error | undefined {
    if (this.settled && !this.#failed) return undefined;
    const script = this.#script;
    const value = script === undefined ? reply : script.decode(reply);
    if (this.settled) {
      this.#options?.late?.(value);
      return undefined;
    }
    const { acked } = this;
    if (checked && (acked === 0 || acked instanceof Error) && typeof script?.synced === 'function') {
      if (script.synced(value as never)) {
        this.#unconfirmed = { value };
        return acked;
      }
    }
    this.settled = true;
    this.#resolve(value);
    return undefined;
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = this.#failed = true;
    this.#reject(error);
    if (this.#unconfirmed !== undefined) this.#options?.late?.(this.#unconfirmed.value);
  }
}
