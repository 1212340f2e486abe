import type { Resend, ScriptArg } from '../scripts/Script';
import type { CallToken, RunOptions } from './CommandExecutor';

/** What a call needs of its script. */
export interface CalledScript {
  readonly name: string;
  readonly lua: string;
  readonly resend: Resend;
  readonly synced: boolean;
  readonly decode: (reply: unknown) => unknown;
}

/** One command on its way, see {@link Executor} for its states. Settles once. */
export class Call {
  command: string;
  readonly args: ScriptArg[];
  readonly key: string | undefined;
  readonly resend: Resend;
  /** When it was last written (monotonic). */
  writtenAt = 0;
  /** Until when it waits for a connection (monotonic). */
  waitUntil: number | undefined;
  /** How often it was written and may have run. */
  sends = 0;
  /** How often a server could not serve it. */
  refusals = 0;
  settled = false;
  readonly #script: CalledScript | undefined;
  readonly #options: RunOptions | undefined;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: Error) => void;

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
  }

  /** Whether its caller does not wait any more. */
  get cancelled(): boolean {
    return this.token?.cancelled === true;
  }

  get token(): CallToken | undefined {
    return this.#options?.token;
  }

  /** The object's name as the user gave it. */
  get name(): string | undefined {
    return this.#options?.name;
  }

  /** Whether its result must have reached a replica. */
  get synced(): boolean {
    return this.#script?.synced === true;
  }

  /** What is being done, for errors. */
  get what(): string {
    const what = this.#options?.what ?? this.#script?.name ?? this.command.toUpperCase();
    return this.name === undefined ? what : `${what} '${this.name}'`;
  }

  /** The server does not know the script: send its text, which also caches it. The refused send did not run. */
  useText(): void {
    if (this.#script === undefined) return;
    this.command = 'eval';
    this.args[0] = this.#script.lua;
    this.unsend();
  }

  /** The last send certainly did not run. */
  unsend(): void {
    this.sends--;
    if (this.token !== undefined) this.token.sends--;
  }

  succeed(reply: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.#resolve(this.#script === undefined ? reply : this.#script.decode(reply));
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.#reject(error);
  }
}
