import { type ChildProcess, fork } from 'node:child_process';
import * as path from 'node:path';
import { threadFile } from '../../../tools/threadFile';
import { trackClient } from '../../support';
import { transpiled } from '../../support/transpiled';

/** What a process of a scene is asked to do. */
export type Act =
  /** Takes locks and keeps them; without a lease the watchdog renews them. */
  | { readonly kind: 'hold'; readonly names: readonly string[]; readonly leaseMs?: number; readonly thread?: boolean }
  | { readonly kind: 'wait'; readonly name: string; readonly callers: number }
  /** Sets a semaphore, and takes permits of it, which have no owner. */
  | { readonly kind: 'takePermits'; readonly name: string; readonly permits: number; readonly take: number }
  /** Callers who take one of the permits for a moment, over and over. */
  | { readonly kind: 'throttle'; readonly name: string; readonly permits: number; readonly callers: number }
  | { readonly kind: 'waitForPermits'; readonly name: string; readonly permits: number }
  | { readonly kind: 'waitForLatch'; readonly name: string }
  /** Gives all back that it holds. */
  | { readonly kind: 'giveBack'; readonly names: readonly string[] }
  /** Takes `outer`, and inside it, after `go`, `inner`. */
  | { readonly kind: 'nest'; readonly outer: string; readonly inner: string }
  | { readonly kind: 'go' }
  /** Takes each lock for a moment, over and over. */
  | { readonly kind: 'work'; readonly names: readonly string[] }
  | { readonly kind: 'metrics' };

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of a scene, with a client of its own. It ends with the test. */
export class SceneProcess {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, (answer: Answer) => void>();
  #next = 1;
  /** Whether it can be asked: it neither is frozen nor has ended. */
  runs = true;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => {
      this.#open.get(answer.id)?.(answer);
      this.#open.delete(answer.id);
    });
    child.once('exit', (code, signal) => {
      const error = `the process ${this.pid} has ended before it answered: ${signal ?? code}`;
      for (const [id, answer] of this.#open) answer({ id, error });
    });
  }

  /** Starts one whose client is connected. @param watchdogMs - its `lockWatchdogTimeout` */
  static async start(url: string, watchdogMs = 30_000): Promise<SceneProcess> {
    const child = fork(transpiled(path.join(__dirname, 'actor.ts')), [url, String(watchdogMs), threadFile()], {
      execArgv: [],
    });
    const actor = trackClient(new SceneProcess(child));
    await actor.#answerTo(0);
    return actor;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async do(act: Act): Promise<unknown> {
    const id = this.#next++;
    const answered = this.#answerTo(id);
    this.#child.send({ id, ...act });
    return answered;
  }

  /** What Prometheus would read: the value of a series, or `undefined` where there is none. */
  async metric(name: string, lock: string): Promise<number | undefined> {
    const text = (await this.do({ kind: 'metrics' })) as string;
    const value = new RegExp(`^ioredisson_${name}\\{[^}]*name="${lock}"[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }

  /** Its event loop stands still for so long, in ms, and costs no CPU. */
  block(ms: number): void {
    this.runs = false;
    this.#child.send({ id: this.#next++, kind: 'block', ms });
  }

  /** SIGSTOP: it answers nothing, and its connections stay open. */
  freeze(): void {
    this.runs = false;
    this.#child.kill('SIGSTOP');
  }

  /** SIGKILL: it says no good-bye. */
  kill(): void {
    this.runs = false;
    this.#child.kill('SIGKILL');
  }

  /** For `trackClient`. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.kill();
    await ended;
  }

  #answerTo(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#open.set(id, ({ value, error }) => {
        if (error === undefined) resolve(value);
        else reject(new Error(error));
      });
    });
  }
}
