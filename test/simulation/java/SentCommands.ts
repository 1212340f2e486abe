import type { JavaScriptName } from './javaScripts';
import { JavaTimeoutError } from './JavaConnection';

/** Who has, or wants, which lock. */
export interface JavaHolder {
  readonly name: string;
  /** As the server knows it. */
  readonly owner: string;
}

/** A command that a thread has sent for one lock. */
export interface SentCommand {
  /** It was refused, or not answered in time. */
  failed(error: unknown): void;
  /** The thread does not wait for it any more. */
  over(): void;
}

/**
 * What becomes of the commands of a Java client whose threads do not know it: the model does. One that was not answered
 * in time may run much later, behind the next ones of its thread, since Java has several connections.
 */
export class SentCommands {
  readonly #worldNow: () => number;
  /** Those that threads wait for, by all that they say, and whether they have run. */
  readonly #underWay = new Map<string, boolean>();
  /** Those that nobody waits for any more, and that have not run. */
  readonly #givenUp = new Map<string, { readonly id: string; times: number }>();
  /** When one of them ran, in ms of the world. */
  readonly #lateAt = new Map<string, number>();
  readonly #unknown = new Set<string>();

  constructor(worldNow: () => number) {
    this.#worldNow = worldNow;
  }

  /** A thread sends something for a lock. */
  begin(holder: JavaHolder, script: JavaScriptName, keys: readonly string[], args: readonly string[]): SentCommand {
    const text = textOf(script, keys, args);
    const id = idOf(holder);
    this.#underWay.set(text, false);
    return {
      failed: (error) => {
        this.#unknown.add(id);
        const mayRun = error instanceof JavaTimeoutError && error.sent && this.#underWay.get(text) === false;
        if (!mayRun) return;
        const known = this.#givenUp.get(text);
        if (known === undefined) this.#givenUp.set(text, { id, times: 1 });
        else known.times++;
      },
      over: () => void this.#underWay.delete(text),
    };
  }

  /** The server runs a script of this client. */
  ran(script: string, keys: readonly string[], args: readonly string[]): void {
    const text = textOf(script, keys, args);
    // Where one was given up that said the same, which of both it is makes no difference.
    if (this.#underWay.get(text) === false) return void this.#underWay.set(text, true);
    const late = this.#givenUp.get(text);
    if (late === undefined) return;
    if (--late.times === 0) this.#givenUp.delete(text);
    this.#lateAt.set(late.id, this.#worldNow());
  }

  /** Whether a command that its thread had given up has run since then: it may have ended or shortened a hold. */
  hasRunLate(holder: JavaHolder, since: number): boolean {
    return (this.#lateAt.get(idOf(holder)) ?? -1) >= since;
  }

  /** Whether a thread may have a hold that it does not know of: something that it sent was refused or not answered. */
  mayHaveMore(holder: JavaHolder): boolean {
    return this.#unknown.has(idOf(holder));
  }
}

function idOf({ name, owner }: JavaHolder): string {
  return `${name} ${owner}`;
}

function textOf(script: string, keys: readonly string[], args: readonly string[]): string {
  return [script, ...keys, ...args].join(' ');
}
