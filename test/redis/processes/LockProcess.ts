import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { transpiled } from '../../support/transpiled';

/** What a process with locks is asked to do. Thread 1 locks and unlocks. */
export type Task =
  | { readonly kind: 'lock'; readonly name: string; readonly leaseMs?: number }
  | { readonly kind: 'unlock'; readonly name: string }
  | {
      readonly kind: 'contend';
      readonly name: string;
      /** Of the group of that name. @default the plain lock */
      readonly values?: readonly string[] | undefined;
      readonly waiters: number;
      readonly insideMs: number;
      readonly until: number;
    }
  | {
      readonly kind: 'loop';
      readonly name: string;
      readonly values?: readonly string[] | undefined;
      readonly waiters: number;
      readonly ms: number;
    }
  | { readonly kind: 'wait'; readonly name: string; readonly waiters: number }
  /** So many threads queue up for a fair lock; whoever gets in stays for so long. */
  | {
      readonly kind: 'queue';
      readonly name: string;
      readonly reentrant: boolean;
      readonly firstThread: number;
      readonly waiters: number;
      readonly insideMs: number;
    };

/** What came of it. Times in nanoseconds of the machine's monotonic clock. */
export interface Report {
  readonly id: number;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** A report with times in ms. */
export interface Done<T> {
  readonly value: T;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A child process with a client of its own, which can be killed. */
export class LockProcess {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, (report: Report) => void>();
  #next = 1;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (report: Report) => {
      this.#open.get(report.id)?.(report);
      this.#open.delete(report.id);
    });
  }

  /** Starts one, with a connected client. */
  static async start(url: string, watchdogMs = 30_000, localHandOver = false): Promise<LockProcess> {
    const child = fork(
      transpiled(path.join(__dirname, 'worker.ts')),
      [url, String(watchdogMs), String(localHandOver)],
      {
        execArgv: [],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
    await once(child, 'message');
    return new LockProcess(child);
  }

  /** Has it do something. */
  async do<T = void>(task: Task): Promise<Done<T>> {
    const id = this.#next++;
    const report = await new Promise<Report>((resolve, reject) => {
      this.#open.set(id, resolve);
      this.#child.once('exit', () => reject(new Error('the process has ended')));
      this.#child.send({ id, ...task });
    });
    if (report.error !== undefined) throw new Error(report.error);
    const ms = (time: string): number => Number(BigInt(time)) / 1e6;
    return { value: report.value as T, startedAt: ms(report.startedAt), endedAt: ms(report.endedAt) };
  }

  /** SIGKILL: nothing of it gets to say good-bye. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  /** SIGSTOP: it answers nothing, and its connections stay open. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** For `trackClient`. */
  close(): Promise<void> {
    return this.kill();
  }
}
