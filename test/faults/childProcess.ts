import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { sleepUntil } from '../support';

const REGISTER = path.join(__dirname, '..', '..', 'tools', 'register.cjs');
/** A process on a loaded machine needs a while to load TypeScript. */
const START_MS = 60_000;

/** A process of ours that runs one file of this folder and tells, line by line, what it sees. */
export class Child {
  readonly lines: string[] = [];
  readonly #process: ChildProcess;
  #errors = '';

  /** @param file - beside this one, or the path of a program that Node runs as it is @param flags - of node */
  constructor(file: string, args: readonly string[], flags: readonly string[] = []) {
    const program = path.isAbsolute(file) ? [file] : ['-r', REGISTER, path.join(__dirname, file)];
    this.#process = spawn(process.execPath, [...flags, ...program, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#process.stdout! }).on('line', (line) => this.lines.push(line));
    this.#process.stderr!.on('data', (text: Buffer) => (this.#errors += text.toString()));
  }

  /** Resolves to the n-th line it tells, from 0. */
  async line(index: number): Promise<string> {
    await sleepUntil(() => this.lines.length > index || this.#process.exitCode !== null, {
      timeout: START_MS,
      message: `line ${index} of the child: ${this.#errors}`,
    });
    // The exit may be seen before the last line is.
    await sleepUntil(() => this.lines.length > index, { timeout: 1_000, message: `it ended: ${this.#errors}` });
    return this.lines[index]!;
  }

  /** Ends it, if it has not ended. */
  stop(): void {
    this.#process.kill('SIGKILL');
  }
}
