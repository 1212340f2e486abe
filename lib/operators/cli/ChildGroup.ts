import { type ChildProcess, spawn } from 'node:child_process';
import { ExitCode, Failure, signalExitCode } from './exit';
import { isRunning, MARK, send, sharedGroup } from './processes';

/** Time between two checks for remaining members of the group, in ms. */
const LOOK_MS = 20;
/** How long to wait for the kernel to end killed processes, in ms. One that hangs in a device never ends. */
const AFTER_KILL_MS = 2_000;

/** How a command is started. */
export interface ChildOptions {
  /** The complete environment. */
  readonly environment: NodeJS.ProcessEnv;
  /**
   * Whether it shares our process group and so our terminal: it can ask for a password, and Ctrl-C and Ctrl-Z reach it
   * and us alike. Otherwise it gets its own group and session.
   */
  readonly shared: boolean;
  /** In the environment of the command and its descendants: separates them from other processes in our group. */
  readonly mark: string;
}

/**
 * The command and its descendants.
 *
 * States: running -> leader exited, others still run -> gone.
 */
export class ChildGroup {
  /**
   * The exit code of the command, as a shell reports it. Rejects with a {@link Failure} if the command cannot start.
   */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  /** Targets of signals: processes, or, negative, a group. */
  readonly #targets: () => readonly number[];
  #leaderRuns: boolean;

  constructor(command: string, args: readonly string[], { environment, shared, mark }: ChildOptions) {
    const env = { ...environment, [MARK]: mark };
    this.#child = spawn(command, args, { detached: !shared, stdio: 'inherit', env });
    const { pid } = this.#child;
    this.#leaderRuns = pid !== undefined;
    this.#targets = () => (pid === undefined ? [] : shared ? sharedGroup(pid, mark) : [-pid]);
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

  /** The process id of the command; `undefined` if it did not start. */
  get id(): number | undefined {
    return this.#child.pid;
  }

  /** Whether any of its processes still runs. */
  get runs(): boolean {
    return this.#leaderRuns || this.#targets().some(isRunning);
  }

  /** Sends a signal to all of its processes. */
  signal(signal: NodeJS.Signals): void {
    for (const target of this.#targets()) send(target, signal);
  }

  /**
   * Ends all of its processes: TERM, the grace, KILL.
   * @param graceMs - time between TERM and KILL, in ms; 0: KILL at once
   * @returns resolves when all have ended, `AFTER_KILL_MS` at most after the first KILL
   */
  async terminate(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      this.signal('SIGTERM');
      // A stopped process handles TERM only after CONT.
      this.signal('SIGCONT');
      await this.#gone(graceMs);
    }
    // Repeat KILL: a process may have started another one just before it died.
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
