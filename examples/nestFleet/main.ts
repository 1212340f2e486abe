/** `npm run example:nest`: three processes of a NestJS service; a handler under a lock, a job that runs once in the fleet. */
import { type ChildProcess, fork } from 'node:child_process';
import * as path from 'node:path';
import { RedisServer } from '../../tools/redisServer';

const PROCESSES = 3;
const TICKS = 3;

/** A process of the fleet, and what it has told. */
class Member {
  readonly ran: number[] = [];
  port = 0;
  readonly #child: ChildProcess;
  #told: () => void = () => undefined;
  #done = 0;

  constructor(url: string) {
    this.#child = fork(path.join(__dirname, 'service.ts'), {
      execArgv: ['--require', path.join(__dirname, '..', '..', 'tools', 'register.cjs')],
      env: {
        ...process.env,
        REDIS_URL: url,
        // NestJS has legacy decorators.
        TS_NODE_COMPILER_OPTIONS: JSON.stringify({ experimentalDecorators: true, emitDecoratorMetadata: true }),
      },
    });
    this.#child.on('message', (message: { port?: number; ran?: number; done?: number }) => {
      if (message.port !== undefined) this.port = message.port;
      if (message.ran !== undefined) this.ran.push(message.ran);
      if (message.done !== undefined) this.#done = message.done;
      this.#told();
    });
    this.#child.once('exit', (code) => {
      if (code !== 0) throw new Error(`a process of the fleet has ended with ${code}`);
    });
  }

  ready(): Promise<void> {
    return this.#until(() => this.port !== 0);
  }

  /** Resolves when it has run the job, or has seen that another one does. */
  tick(tick: number): Promise<void> {
    this.#child.send({ tick });
    return this.#until(() => this.#done === tick);
  }

  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.#told = resolve));
  }
}

async function main(): Promise<void> {
  const server = await RedisServer.start();
  const fleet = Array.from({ length: PROCESSES }, () => new Member(server.url));
  try {
    await Promise.all(fleet.map((member) => member.ready()));
    for (let tick = 1; tick <= TICKS; tick++) {
      await Promise.all(fleet.map((member) => member.tick(tick)));
      const ran = fleet.flatMap((member, i) => (member.ran.includes(tick) ? [i + 1] : []));
      console.log(`tick ${tick}: the report was made by process ${ran.join(' and ')} of ${PROCESSES}`);
      if (ran.length !== 1) process.exitCode = 1;
    }
    const statuses = await Promise.all(fleet.map(({ port }) => pay(port, 'A-1')));
    console.log(`the same order paid ${PROCESSES} times at once: ${statuses.sort().join(', ')}`);
    if (statuses.filter((status) => status === 201).length !== 1) process.exitCode = 1;
  } finally {
    await Promise.all(fleet.map((member) => member.end()));
    await server.stop();
  }
}

async function pay(port: number, order: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}/orders/${order}/pay`, { method: 'POST' })).status;
}

void main();
