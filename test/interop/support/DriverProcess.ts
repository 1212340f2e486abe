import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as readline from 'node:readline';
import type { DriverReply, DriverRequest, Transport } from './Transport';

interface Waiting {
  readonly resolve: (reply: DriverReply) => void;
  readonly reject: (reason: Error) => void;
}

/** How much of what the child writes to stderr an error repeats. */
const TAIL = 4000;

/**
 * A driver in a process of its own, which answers line-delimited JSON. It ends when this process does, however that
 * ends, because its stdin does.
 */
export class DriverProcess implements Transport {
  readonly side: 'java' | 'node';
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<unknown>;
  #lastId = 0;
  #stderr = '';

  private constructor(side: 'java' | 'node', command: string, args: readonly string[]) {
    this.side = side;
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close').catch(() => undefined);
    this.#child.on('error', (error) => this.#fail(error.message));
    this.#child.on('close', (code, signal) => this.#fail(`it ended with ${signal ?? code}`));
    // A write that meets a killed child: its requests are rejected by `close`.
    this.#child.stdin.on('error', () => undefined);
    this.#child.stderr.on('data', (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-TAIL)));
    readline.createInterface({ input: this.#child.stdout }).on('line', (line) => this.#accept(line));
  }

  /** Starts it and resolves when it answers. */
  static async start(side: 'java' | 'node', command: string, args: readonly string[]): Promise<DriverProcess> {
    const driver = new DriverProcess(side, command, args);
    await driver.request({ op: 'ping' });
    return driver;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** The end of what it wrote to stderr: warnings of libraries, stack traces. */
  get stderr(): string {
    return this.#stderr;
  }

  request(request: DriverRequest): Promise<DriverReply> {
    const id = ++this.#lastId;
    const reply = new Promise<DriverReply>((resolve, reject) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        reject(new Error(`the ${this.side} driver is gone`));
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ ...request, id })}\n`);
    });
    // A call that still waits when its driver is closed at the end of a test is nobody's failure.
    reply.catch(() => undefined);
    return reply;
  }

  /** SIGKILL: no shutdown hook runs, no connection is closed properly, nothing is released. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** SIGSTOP: as a long pause of its garbage collector, or a laptop that sleeps. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ends it by the end of its stdin. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), 3000);
    await this.#ended;
    clearTimeout(kill);
  }

  #accept(line: string): void {
    const reply = JSON.parse(line) as DriverReply;
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    waiting?.resolve(reply);
  }

  #fail(reason: string): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new Error(`the ${this.side} driver is gone: ${reason}\n${this.#stderr}`));
    }
    this.#waiting.clear();
  }
}
