import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ExitCode } from './exitCodes';
import { Failure } from './failure';
import { groupRuns, signalGroup } from './processGroup';

/** How often to look whether members of the group are left, in ms. */
const LOOK_MS = 20;
/** How long the kernel may take to end what was killed, in ms; what hangs in a device takes for ever. */
const AFTER_KILL_MS = 2_000;

/**
 * The command and all it starts: a process group of its own, so that a signal reaches all of them, and no signal of the
 * terminal reaches them twice. It is a session of its own, too: the command has our stdin, but no terminal to control.
 *
 * States: running -> (leader gone) stragglers -> gone.
 */
export class ChildGroup {
  /** The exit code of the command, as a shell gives it. Rejects with a {@link Failure} when it could not be started. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  #leaderRuns: boolean;

  /** @param environment - all of it */
  constructor(command: string, args: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#child = spawn(command, args, { detached: true, stdio: 'inherit', env: environment });
    this.#leaderRuns = this.#child.pid !== undefined;
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', (error: NodeJS.ErrnoException) => {
        if (!this.#leaderRuns) reject(startFailure(command, error));
      });
      this.#child.once('exit', (code, signal) => {
        this.#leaderRuns = false;
        resolve(code ?? ExitCode.signalled + constants.signals[signal!]);
      });
    });
  }

  /** The id of the group; `undefined` where nothing was started. */
  get id(): number | undefined {
    return this.#child.pid;
  }

  /** Whether any of it runs. */
  get runs(): boolean {
    return this.id !== undefined && (this.#leaderRuns || groupRuns(this.id));
  }

  /** Sends a signal to all of it. */
  signal(signal: NodeJS.Signals): void {
    if (this.id !== undefined) signalGroup(this.id, signal);
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
    if (!this.runs) return;
    this.signal('SIGKILL');
    await this.#gone(AFTER_KILL_MS);
  }

  async #gone(limitMs: number): Promise<void> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const left = deadline - performance.now();
      if (!this.runs || left <= 0) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(LOOK_MS, left)));
    }
  }
}

function startFailure(command: string, error: NodeJS.ErrnoException): Failure {
  if (error.code === 'ENOENT') return new Failure(`${command}: command not found`, ExitCode.notFound, { cause: error });
  const why = error.code === 'EACCES' ? 'permission denied' : (error.code ?? error.message);
  return new Failure(`${command}: cannot be executed: ${why}`, ExitCode.notExecutable, { cause: error });
}
