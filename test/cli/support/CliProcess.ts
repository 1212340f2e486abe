import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { redisUrl, sleepUntil, trackClient } from '../../support';
import { projectRoot } from '../../../tools/buildOutput';
import { laterForReal } from '../../../tools/realTimers';

/** The built command. */
export const COMMAND = path.join(projectRoot, 'dist', 'operators', 'cli', 'main.js');

/** The command has the ioredis of the test, too (`npm run test:matrix`). */
const OTHER_IOREDIS =
  process.env['IOREDISSON_TEST_IOREDIS'] === undefined
    ? undefined
    : `--require ${path.join(projectRoot, 'tools', 'otherIoredis.cjs')}`;

/** On a machine that has other things to do, a Node takes its time to start. */
export const TIMEOUT_MS = 60_000;

/** A command that has ended and left its output open is not read for longer than this, in ms. */
const LEFT_BEHIND_MS = 2_000;

/** How a command has ended. */
export interface CliEnd {
  /** -1 when a signal ended it, which our command does not let happen but for SIGKILL. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to start the command. */
export interface CliOptions {
  /** More of the environment, or less: `undefined` removes. `REDIS_URL` is the shared server's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** The built command, run as a user runs it. Ended with the test. */
export class CliProcess {
  readonly ended: Promise<CliEnd>;
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;

  private constructor(file: string, args: readonly string[], { env, input, cwd }: CliOptions) {
    const environment = { ...process.env, REDIS_URL: redisUrl(), NODE_OPTIONS: OTHER_IOREDIS, ...env };
    this.#child = spawn(file, [...args], { env: environment, ...(cwd !== undefined && { cwd }) });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#child.stdin!.on('error', () => undefined);
    if (input !== undefined) this.#child.stdin!.end(input);
    this.ended = new Promise((resolve) => {
      // `close` comes when all is read. What the command has left behind would keep our pipes open.
      this.#child.once('exit', (code) => {
        const end = (): void => {
          cancel();
          resolve({ code: code ?? -1, stdout: this.stdout, stderr: this.stderr });
        };
        const cancel = laterForReal(end, LEFT_BEHIND_MS);
        this.#child.once('close', end);
      });
    });
  }

  static start(args: readonly string[], options: CliOptions = {}): CliProcess {
    return trackClient(new CliProcess(process.execPath, [COMMAND, ...args], options));
  }

  /** Starts another program, which is to start ours. */
  static startWith(file: string, args: readonly string[], options: CliOptions = {}): CliProcess {
    return trackClient(new CliProcess(file, args, options));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Waits until it has printed something. @returns the first match */
  async prints(pattern: RegExp, timeout = TIMEOUT_MS): Promise<RegExpExecArray> {
    return sleepUntil(() => pattern.exec(this.stdout), {
      timeout,
      message: () => `${String(pattern)} in: ${this.stdout} ${this.stderr}`,
    });
  }

  /** Sends a signal, if it still runs. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  type(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Ends it at the end of the test; the guard ends what it runs. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.ended;
  }
}

/** Runs the command to its end. */
export function cli(args: readonly string[], options: CliOptions = {}): Promise<CliEnd> {
  return CliProcess.start(args, { input: '', ...options }).ended;
}

/** Whether a process runs; one that has ended and that nobody has collected does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux';
  }
}
