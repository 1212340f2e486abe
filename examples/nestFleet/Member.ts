import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import type { News } from './service';

/** A process of the fleet. */
export class Member {
  readonly number: number;
  readonly #child: ChildProcess;
  #port = 0;

  private constructor(number: number, child: ChildProcess) {
    this.number = number;
    this.#child = child;
  }

  /**
   * Starts one; resolves when it takes requests.
   * @param onNews - called with each report of the process
   */
  static async start(
    number: number,
    env: Readonly<Record<string, string>>,
    onNews: (member: Member, news: News) => void,
  ): Promise<Member> {
    const child = fork(path.join(__dirname, 'service.ts'), {
      // Ctrl-C reaches every process of a terminal's group. These are ended in order instead.
      detached: true,
      execArgv: ['--require', path.join(__dirname, '..', '..', 'tools', 'register.cjs')],
      env: {
        ...process.env,
        ...env,
        FLEET_NUMBER: String(number),
        // NestJS has legacy decorators.
        TS_NODE_COMPILER_OPTIONS: JSON.stringify({ experimentalDecorators: true, emitDecoratorMetadata: true }),
      },
    });
    const member = new Member(number, child);
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`process ${number} has ended with ${code} at its start`)));
      child.on('message', (news: News) => {
        if (news.event === 'ready') {
          member.#port = news.port;
          resolve();
        }
        onNews(member, news);
      });
    });
    return member;
  }

  /** Sends it a request. Rejects if it cannot be reached. */
  request(target: string, method = 'GET'): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}${target}`, { method });
  }

  /** SIGTERM, as a deploy sends it; resolves when the process has ended. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exit;
  }
}
