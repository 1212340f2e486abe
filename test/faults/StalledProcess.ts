import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { transpiled } from '../support/transpiled';

/**
 * Another process in the queue of a fair lock, that dies or freezes where it stands.
 *
 * States: competing -> frozen | dead; frozen -> dead.
 */
export class StalledProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts one that competes. @param name - of a fair lock */
  static async start(url: string, name: string): Promise<StalledProcess> {
    const child = fork(transpiled(path.join(__dirname, 'stalledProcessMain.ts')), [url, name], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return new StalledProcess(child);
  }

  /** SIGSTOP: its sockets stay open, and it reacts to nothing. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** SIGKILL: it leaves no queue. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
