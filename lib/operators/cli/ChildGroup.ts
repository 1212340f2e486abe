import { type ChildProcess, spawn } from 'node:child_process';
import { ExitCode, Failure, signalExitCode } from './exit';
import { MARK, ownGroup, send, sharedGroup } from './processes';

/** How often to look whether members of the group are left, in ms. */
const LOOK_MS = 20;
/** How long the kernel may take to end what was killed, in ms; what hangs in a device takes for ever. */
const AFTER_KILL_MS = 2_000;

/** How a command is started. */
export interface ChildOptions {
  /** All of it. */
  readonly environment: NodeJS.ProcessEnv;
  /**
   * Whether it shares our process group, and so our terminal: it can ask for a password, Ctrl-C and Ctrl-Z reach it as
   * they reach us. Otherwise it gets a group and a session of its own.
   */
  readonly shared: boolean;
  /** In the environment of what it starts: tells that from everybody else in our group. */
  readonly mark: string;
}

/**
 * The command and all it starts.
 *
 * States: running -> (leader gone) others still run -> gone.
 */
export class ChildGroup {
  /** The exit code of the command, as a shell gives it. Rejects with a {@link Failure} when it could not be started. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  /** Whom signals go to: processes, or, negative, a group; empty where nothing of it runs. */
  readonly #targets: () => readonly number[];
  #leaderRuns: boolean;

  constructor(command: string, args: readonly string[], { environment, shared, mark }: ChildOptions) {
    const env = { ...environment, [MARK]: mark };
    this.#child = spawn(command, args, { detached: !shared, stdio: 'inherit', env });
    const { pid } = this.#child;
    this.#leaderRuns = pid !== undefined;
    this.#targets = () => (pid === undefined ? [] : shared ? sharedGroup(pid, mark) : ownGroup(pid));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', (error: NodeJS.ErrnoException) => {
        if (!this.#leaderRuns) reject(startFailure(command, error));
      });
      this.#child.once('exit', (code, signal) => {
        this.#leaderRuns = false;
        resolve(code ?? signalExitCode(signal!));
      });
    });
  }

  /** The process id of the command; `undefined` where nothing was started. */
  get id(): number | undefined {
    return this.#child.pid;
  }

  /** Whether any of it runs. */
  get runs(): boolean {
    return this.#leaderRuns || this.#targets().length > 0;
  }

  /** Sends a signal to all of it. */
  signal(signal: NodeJS.Signals): void {
    for (const target of this.#targets()) send(target, signal);
  }

  /**
   * Ends all of it: TERM, the grace, KILL.
   * @param graceMs - in ms; 0: KILL at once
   * @returns resolves when nothing of it runs any more
   */
  async terminate(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      this.signal('SIGTERM');
      // What is stopped hears nothing.
      this.signal('SIGCONT');
      await this.#gone(graceMs);
    }
    // Again and again: what is killed may have started something in that moment.
    await this.#gone(AFTER_KILL_MS, () => this.signal('SIGKILL'));
  }

  async #gone(limitMs: number, meanwhile?: () => void): Promise<void> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const left = deadline - performance.now();
      if (!this.runs || left <= 0) return;
      meanwhile?.();
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, left)));
    }
  }
}

function startFailure(command: string, error: NodeJS.ErrnoException): Failure {
  if (error.code === 'ENOENT') return new Failure(`${command}: command not found`, ExitCode.notFound, { cause: error });
  const why = error.code === 'EACCES' ? 'permission denied' : (error.code ?? error.message);
  return new Failure(`${command}: cannot be executed: ${why}`, ExitCode.notExecutable, { cause: error });
}
